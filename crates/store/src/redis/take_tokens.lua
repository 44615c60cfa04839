-- Takes one token from every bucket, or none. KEYS: buckets; ARGV: tokens and window (in microseconds) of each.
-- Returns the microseconds to wait, or 0 if the tokens were taken. Uses the time of the server, so all clients agree.
-- A bucket is stored as the units taken from it and the time of the last update. One token is `window` units, and each
-- microsecond restores `tokens` units.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local wait = 0
local buckets = {}
for i, key in ipairs(KEYS) do
  local tokens, window = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local gone, at = 0, now
  local kept = redis.call('GET', key)
  if kept then
    local kept_gone, kept_at = string.match(kept, '^(%d+) (%d+)$')
    gone, at = tonumber(kept_gone), tonumber(kept_at)
  end
  if now > at then
    gone = math.max(0, gone - (now - at) * tokens)
    at = now
  end
  local free = window * (tokens - 1)
  if gone > free then
    wait = math.max(wait, math.ceil((gone - free) / tokens))
  end
  buckets[i] = { key = key, gone = gone + window, at = at, tokens = tokens }
end
if wait > 0 then
  return wait
end
for _, bucket in ipairs(buckets) do
  -- A full bucket need not be stored.
  local rest = bucket.gone / bucket.tokens + bucket.at - now
  local kept = string.format('%.0f %.0f', bucket.gone, bucket.at)
  redis.call('SET', bucket.key, kept, 'PX', string.format('%.0f', math.ceil(rest / 1000) + 1))
end
return 0
