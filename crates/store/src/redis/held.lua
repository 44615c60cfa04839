-- What the holder of a client's connection does. KEYS: the connections of the client. ARGV: the connection, the claim, what is
-- done ('renew', 'keep', 'release' or 'end'), how long the connections are kept from now on at least, and for 'keep' what is kept
-- of the session at the server. Returns 0 if the claim does not count any more.
if redis.call('HGET', KEYS[1], 'holder ' .. ARGV[1]) ~= ARGV[2] then
  return 0
end
if ARGV[3] == 'keep' then
  redis.call('HSET', KEYS[1], 'session ' .. ARGV[1], ARGV[5])
elseif ARGV[3] == 'release' then
  redis.call('HDEL', KEYS[1], 'holder ' .. ARGV[1])
elseif ARGV[3] == 'end' then
  redis.call('HDEL', KEYS[1], 'holder ' .. ARGV[1], 'session ' .. ARGV[1])
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
return 1
