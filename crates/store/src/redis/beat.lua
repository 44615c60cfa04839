-- A sign of life. KEYS: the processes by the time of their last sign, and what they say of themselves. ARGV: the process, what it
-- says, how long one that is silent stays in the list. Returns the time.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
local silent = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - tonumber(ARGV[3])))
for _, home in ipairs(silent) do
  redis.call('ZREM', KEYS[1], home)
  redis.call('HDEL', KEYS[2], home)
end
return now
