-- Remembers links. KEYS: the links of an owner. ARGV: the maximum number, how long they are kept, the server, the URIs. Beyond the
-- maximum, all others are forgotten: a client only has to call the tool again.
if redis.call('HLEN', KEYS[1]) + #ARGV - 3 > tonumber(ARGV[1]) then
  redis.call('DEL', KEYS[1])
end
for i = 4, #ARGV do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[3])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
