#!/bin/sh
# Installs the proxy from a release archive:
#
#     curl -fsSL @downloads@/v@version@/install.sh | sh
#     curl -fsSL @downloads@/v@version@/install.sh | sh -s -- --prefix /opt/proxy
#
# It needs no root, and writes below the prefix only. A shell reads everything up to the last brace before it begins, so a
# download that was cut off does nothing.
{
set -eu

VERSION=@version@
DOWNLOADS=@downloads@

usage() {
    cat <<'USAGE'
Installs starlark-mcp-proxy: the program `proxy`, its manual pages and shell completions.

Usage: install.sh [--prefix FOLDER] [--version VERSION] [--from URL]

  --prefix FOLDER    where to install [default: ~/.local]
  --version VERSION  another version than that of this script
  --from URL         folder with the archive and SHA256SUMS, such as a mirror's
USAGE
}

fail() {
    printf 'error: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

target() {
    system=$(uname -s)
    machine=$(uname -m)
    case "$system" in
    Linux) ;;
    *) fail "there is no binary for $system" "build it from source; docs/getting-started/installation.md says how" ;;
    esac
    case "$machine" in
    x86_64 | amd64) echo x86_64-linux-static ;;
    aarch64 | arm64) echo aarch64-linux-static ;;
    *) fail "there is no binary for $machine" "build it from source; docs/getting-started/installation.md says how" ;;
    esac
}

# download URL FILE
download() {
    if has curl; then
        curl -fsSL --retry 2 -o "$2" "$1"
    elif has wget; then
        wget -q -O "$2" "$1"
    else
        fail "there is neither curl nor wget" "install one of them, or download $1 yourself"
    fi || fail "cannot download $1" "check the address and your connection; --from URL takes another one"
}

digest() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    elif has openssl; then
        openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
    else
        fail "there is no sha256sum, shasum or openssl to check the archive with" "install one of them"
    fi
}

# Puts a file in its place at once, so that a proxy that runs keeps its own.
# place MODE FILE TARGET
place() {
    mkdir -p "$(dirname "$3")" 2>/dev/null && cp "$2" "$3.new.$$" 2>/dev/null ||
        fail "cannot write $3" "choose a folder that you may write with --prefix"
    chmod "$1" "$3.new.$$"
    mv -f "$3.new.$$" "$3"
}

main() {
    prefix=${HOME:-}/.local
    from=
    while [ $# -gt 0 ]; do
        case "$1" in
        --prefix | --version | --from) [ $# -ge 2 ] || fail "$1 needs a value" ;;
        esac
        case "$1" in
        --prefix) prefix=$2; shift 2 ;;
        --version) VERSION=${2#v}; shift 2 ;;
        --from) from=${2%/}; shift 2 ;;
        -h | --help) usage; exit 0 ;;
        *) fail "unknown option $1" "--help lists the options" ;;
        esac
    done
    case "$prefix" in
    /.local) fail "HOME is not set" "choose a folder with --prefix" ;;
    /*) ;;
    *) prefix=$PWD/$prefix ;;
    esac
    name=starlark-mcp-proxy-$VERSION-$(target)
    [ -n "$from" ] || from=$DOWNLOADS/v$VERSION

    folder=$(mktemp -d "${TMPDIR:-/tmp}/starlark-mcp-proxy.XXXXXX") || fail "cannot make a temporary folder"
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    download "$from/SHA256SUMS" "$folder/SHA256SUMS"
    expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$folder/SHA256SUMS")
    [ -n "$expected" ] || fail "$from/SHA256SUMS does not list $name.tar.gz" "check the version and the address"
    download "$from/$name.tar.gz" "$folder/archive"
    actual=$(digest "$folder/archive")
    [ "$actual" = "$expected" ] ||
        fail "the archive is damaged: its SHA-256 is $actual, not $expected" "download it again; nothing was installed"
    tar -xzf "$folder/archive" -C "$folder" || fail "cannot unpack the archive" "nothing was installed"
    unpacked=$folder/$name
    "$unpacked/proxy" --version >"$folder/version" ||
        fail "the program does not run in $folder" \
            "nothing was installed; if ${TMPDIR:-/tmp} is mounted with noexec, set TMPDIR to another folder"

    place 755 "$unpacked/proxy" "$prefix/bin/proxy"
    for page in "$unpacked"/man/*.1; do
        place 644 "$page" "$prefix/share/man/man1/${page##*/}"
    done
    place 644 "$unpacked/completions/proxy.bash" "$prefix/share/bash-completion/completions/proxy"
    place 644 "$unpacked/completions/_proxy" "$prefix/share/zsh/site-functions/_proxy"
    place 644 "$unpacked/completions/proxy.fish" "$prefix/share/fish/vendor_completions.d/proxy.fish"
    for file in LICENSE THIRD-PARTY-NOTICES.txt; do
        place 644 "$unpacked/$file" "$prefix/share/doc/starlark-mcp-proxy/$file"
    done
    echo "$(cat "$folder/version") is in $prefix/bin"
    case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) echo "add it to your PATH: export PATH=\"$prefix/bin:\$PATH\"" ;;
    esac
}

main "$@"
exit
}
