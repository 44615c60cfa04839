-- Makes a process the holder of a client's connection. KEYS: the connections of the client. ARGV: the connection, the new claim,
-- the process, the claim of a process that does not live any more ('' if none is known), how long the connections are kept from
-- now on at least. Returns the claim of another process, and what is kept of the session at the server.
local holder = redis.call('HGET', KEYS[1], 'holder ' .. ARGV[1])
local is_own = holder and string.sub(holder, 1, #ARGV[3]) == ARGV[3]
if holder and not is_own and holder ~= ARGV[4] then
  return { holder, false }
end
redis.call('HSET', KEYS[1], 'holder ' .. ARGV[1], ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[5]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
end
return { false, redis.call('HGET', KEYS[1], 'session ' .. ARGV[1]) }
