-- Keeps a large result. KEYS: the results of an owner by id, and their expiry times. ARGV: the id, the content, how long it is
-- kept in milliseconds, the maximum size of all results of the owner in bytes, their maximum number. The oldest make room.
local results, ends = KEYS[1], KEYS[2]
local most, count = tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function whole(number)
  return string.format('%.0f', number)
end

local function drop(id)
  redis.call('HDEL', results, id)
  redis.call('ZREM', ends, id)
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', whole(now))) do
  drop(id)
end
local used = 0
local ids = redis.call('ZRANGE', ends, 0, -1)
for _, id in ipairs(ids) do
  used = used + redis.call('HSTRLEN', results, id)
end
local kept = #ids
for _, id in ipairs(ids) do
  if used + #ARGV[2] <= most and kept < count then
    break
  end
  used = used - redis.call('HSTRLEN', results, id)
  kept = kept - 1
  drop(id)
end
redis.call('HSET', results, ARGV[1], ARGV[2])
redis.call('ZADD', ends, whole(now + tonumber(ARGV[3])), ARGV[1])
local last = redis.call('ZRANGE', ends, -1, -1, 'WITHSCORES')[2]
for _, key in ipairs(KEYS) do
  redis.call('PEXPIREAT', key, whole(tonumber(last) + 1))
end
