_proxy() {
    local found line
    COMPREPLY=()
    # The command line up to the cursor, because bash splits words at colons. A failure asks for files.
    if found=$(command proxy completions bash -- "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null); then
        while IFS= read -r line; do
            [[ -n $line ]] && COMPREPLY+=("$line")
        done <<<"$found"
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
    else
        compopt -o default 2>/dev/null
    fi
}
complete -F _proxy proxy
