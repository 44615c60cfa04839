return finish('ok', redis.call('HGET', values, ARGV[3]))
