-- ARGV: field, increment, time to live of a new value in milliseconds (0: none), maximum bytes per owner, tags to add.
-- Returns the sum, and in front of it the tags that the value had.
local field, by, ttl, most = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local before = cost_of(field)
local longest = #field + #ARGV[7] + 22 + cost_of_entry
if tonumber(redis.call('GET', used) or '0') + longest - before > most then
  return finish('full', false)
end
local stored = redis.call('HGET', values, field)
local tags, number = '', stored
if stored and string.byte(stored) == 1 then
  tags, number = string.match(stored, '^.([^\n]*)\n(.*)$')
  -- `HINCRBY` takes numbers only.
  redis.call('HSET', values, field, number)
end
local sum = redis.pcall('HINCRBY', values, field, by)
if type(sum) == 'table' and tags ~= '' then
  redis.call('HSET', values, field, stored)
end
if type(sum) == 'table' then
  local overflows = string.find(sum.err, 'overflow', 1, true)
  return finish(overflows and 'out of range' or 'not a whole number', false)
end
-- As text, because a Lua number has 53 bits only.
local text = redis.call('HGET', values, field)
local all = tags
for tag in string.gmatch(ARGV[7], '[^,]+') do
  if not string.find(',' .. all .. ',', ',' .. tag .. ',', 1, true) then
    all = all == '' and tag or all .. ',' .. tag
  end
end
if all ~= '' then
  redis.call('HSET', values, field, '\1' .. all .. '\n' .. text)
end
redis.call('INCRBY', used, whole(cost_of(field) - before))
if before == 0 and ttl > 0 then
  redis.call('ZADD', ends, whole(now + ttl), field)
end
return finish('ok', tags == '' and text or '\1' .. tags .. '\n' .. text)
