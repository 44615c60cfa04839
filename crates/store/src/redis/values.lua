-- The common beginning of the scripts about values. KEYS: a hash with the values of one owner, a sorted set with their
-- expiry times, and their total size in bytes. ARGV: expiry of the owner after its last use in milliseconds (0: never),
-- overhead per entry in bytes; then the arguments of the script itself.
local values, ends, used = KEYS[1], KEYS[2], KEYS[3]
local lease, cost_of_entry = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function whole(number)
  return string.format('%.0f', number)
end

-- The size of an entry; 0 if it does not exist.
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

-- Lets the keys of an owner expire after its last use.
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
