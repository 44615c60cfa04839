-- Adds marks to those of an owner. KEYS: the marks. ARGV: how long a mark lasts in milliseconds, the maximum number of marks;
-- then the name and the text of each mark. A mark that the owner has keeps its text. A mark is stored as the time at which it
-- ends, and its text. Returns 0 if there would be too many.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local ttl = tonumber(ARGV[1])
for i = 3, #ARGV, 2 do
  local name, text, ends = ARGV[i], ARGV[i + 1], now + ttl
  local known = redis.call('HGET', KEYS[1], name)
  if known then
    local known_end, known_text = string.match(known, '^(%d+) (.*)$')
    if tonumber(known_end) > now then
      text, ends = known_text, math.max(ends, tonumber(known_end))
    end
  elseif redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[2]) then
    return 0
  end
  redis.call('HSET', KEYS[1], name, string.format('%.0f %s', ends, text))
end
if redis.call('PTTL', KEYS[1]) < ttl then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return 1
