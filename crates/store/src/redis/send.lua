-- Puts a note into the inbox of a process. KEYS: its sign of life, its inbox. ARGV: the note, the maximum number of notes, how
-- long they are kept. Returns 0 if the process is gone, 1 if the note was sent, 2 if the inbox is full.
if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end
local time = redis.call('TIME')
local oldest = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) - tonumber(ARGV[3])
redis.call('XTRIM', KEYS[2], 'MINID', string.format('%.0f', oldest))
if redis.call('XLEN', KEYS[2]) >= tonumber(ARGV[2]) then
  return 2
end
redis.call('XADD', KEYS[2], '*', 'n', ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
