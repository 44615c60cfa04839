-- One token from every bucket, or none at all. KEYS: buckets; ARGV: tokens and window (in microseconds) of each.
-- Returns how many microseconds to wait, 0 when the tokens are taken. The time is the server's, so that all agree.
-- A bucket is kept as what is gone from it and when that was; one token is `window` units, a microsecond brings
-- `tokens` of them back.
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
  -- Full again it is as good as one that was never used.
  local rest = bucket.gone / bucket.tokens + bucket.at - now
  local kept = string.format('%.0f %.0f', bucket.gone, bucket.at)
  redis.call('SET', bucket.key, kept, 'PX', string.format('%.0f', math.ceil(rest / 1000) + 1))
end
return 0
