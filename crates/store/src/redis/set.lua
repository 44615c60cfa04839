-- ARGV: field, value, time to live in milliseconds (0: none), maximum bytes per owner.
local field, value, ttl, most = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local change = #field + #value + cost_of_entry - cost_of(field)
if tonumber(redis.call('GET', used) or '0') + change > most then
  return finish('full', false)
end
redis.call('HSET', values, field, value)
redis.call('INCRBY', used, whole(change))
if ttl > 0 then
  redis.call('ZADD', ends, whole(now + ttl), field)
else
  redis.call('ZREM', ends, field)
end
return finish('ok', false)
