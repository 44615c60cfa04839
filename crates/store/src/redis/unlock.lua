-- KEYS: the lock. ARGV: its holder. Another may have it by now.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
