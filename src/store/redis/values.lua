-- The begin of every script about values. KEYS: a hash with the values of one owner, a sorted set with the ends of those
-- that have one, and how many bytes they take. ARGV: how long in milliseconds the owner outlives its last use (0: it is
-- for good), how much an entry costs beside its bytes; then what the script itself takes.
local values, ends, used = KEYS[1], KEYS[2], KEYS[3]
local lease, cost_of_entry = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function whole(number)
  return string.format('%.0f', number)
end

-- What an entry takes; 0 if it is not there.
local function cost_of(field)
  if redis.call('HEXISTS', values, field) == 0 then
    return 0
  end
  return #field + redis.call('HSTRLEN', values, field) + cost_of_entry
end

local function drop(field)
  local cost = cost_of(field)
  redis.call('HDEL', values, field)
  redis.call('ZREM', ends, field)
  redis.call('DECRBY', used, whole(cost))
  return cost > 0
end

for _, field in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', whole(now))) do
  drop(field)
end

-- What nobody can see any more goes by itself.
local function finish(status, value)
  local expires
  if redis.call('HLEN', values) == 0 then
    redis.call('DEL', values, ends, used)
  elseif lease > 0 then
    expires = now + lease
  elseif redis.call('HLEN', values) == redis.call('ZCARD', ends) then
    expires = tonumber(redis.call('ZRANGE', ends, -1, -1, 'WITHSCORES')[2]) + 1
  end
  for _, key in ipairs(KEYS) do
    if expires then
      redis.call('PEXPIREAT', key, whole(expires))
    else
      redis.call('PERSIST', key)
    end
  end
  return { status, value }
end
