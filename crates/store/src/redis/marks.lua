-- The marks of an owner. KEYS: the marks. Returns the name and the text of each.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local all = redis.call('HGETALL', KEYS[1])
local marks = {}
for i = 1, #all, 2 do
  local ends, text = string.match(all[i + 1], '^(%d+) (.*)$')
  if tonumber(ends) > now then
    marks[#marks + 1] = all[i]
    marks[#marks + 1] = text
  else
    redis.call('HDEL', KEYS[1], all[i])
  end
end
return marks
