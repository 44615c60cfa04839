-- Returns a kept result and how long it is still kept, in milliseconds. KEYS: the results of an owner by id, and their expiry
-- times. ARGV: the id.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local ends = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not ends or tonumber(ends) <= now then
  return { false, 0 }
end
return { redis.call('HGET', KEYS[1], ARGV[1]), tonumber(ends) - now }
