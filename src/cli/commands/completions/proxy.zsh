#compdef proxy

_proxy() {
    local -a values shown
    local found line
    # A failure asks for files.
    if ! found=$(command proxy completions zsh -- "${(@Q)words[1,CURRENT]}" 2>/dev/null); then
        _files
        return
    fi
    for line in "${(@f)found}"; do
        [[ -z $line ]] && continue
        values+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    (( $#values )) || return 1
    # A value follows `name=` without a space.
    if [[ $values[1] == *= ]]; then
        compadd -l -S '' -d shown -a values
    else
        compadd -l -d shown -a values
    fi
}

if [[ "${funcstack[1]-}" == _proxy ]]; then
    _proxy "$@"
elif (( $+functions[compdef] )); then
    compdef _proxy proxy
fi
