return finish(drop(ARGV[3]) and 'ok' or 'absent', false)
