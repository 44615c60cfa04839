-- Ends all sessions of a person. KEYS: the epoch. ARGV: how long it is kept.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('SET', KEYS[1], string.format('%.0f', now), 'PX', ARGV[1])
return now
