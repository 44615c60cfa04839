-- Sets a field of a session. KEYS: the session. ARGV: field, value, how long the session is kept from now on at least.
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
