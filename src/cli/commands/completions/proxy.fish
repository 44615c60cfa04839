function __proxy_complete
    set -l current (commandline -ct)
    # A failure asks for files.
    command proxy completions fish -- (commandline -opc) "$current" 2>/dev/null
    or __fish_complete_path "$current"
end
complete -c proxy -f -a '(__proxy_complete)'
