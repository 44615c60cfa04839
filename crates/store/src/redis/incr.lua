-- ARGV: field, increment, time to live of a new value in milliseconds (0: none), maximum bytes per owner.
local field, by, ttl, most = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local before = cost_of(field)
local longest = #field + 20 + cost_of_entry
if tonumber(redis.call('GET', used) or '0') + longest - before > most then
  return finish('full', false)
end
local sum = redis.pcall('HINCRBY', values, field, by)
if type(sum) == 'table' then
  local overflows = string.find(sum.err, 'overflow', 1, true)
  return finish(overflows and 'out of range' or 'not a whole number', false)
end
redis.call('INCRBY', used, whole(cost_of(field) - before))
if before == 0 and ttl > 0 then
  redis.call('ZADD', ends, whole(now + ttl), field)
end
-- As text, because a Lua number has 53 bits only.
return finish('ok', redis.call('HGET', values, field))
