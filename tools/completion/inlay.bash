# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# bash completion for inlay. The command itself computes the completions (see tools/options/completion.h), so this script
# works with every version of it.
_inlay() {
    local words=("$1") word answer prefix current=${COMP_WORDS[COMP_CWORD]}
    # bash also splits words at = and :; inlay does not.
    for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
        if [[ $word == [=:]* || ${words[-1]} == *[=:] ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    word=${words[-1]}
    [[ $current != [=:] ]] || current=
    COMPREPLY=()
    while IFS=$'\t' read -r answer _; do
        if [[ $answer == *'*'* ]]; then
            prefix=${answer%%'*'*}
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(
                compgen -P "$prefix" -d -- "${word#"$prefix"}"
                compgen -P "$prefix" -f -X "!*${answer#*'*'}" -- "${word#"$prefix"}"
            )
            compopt -o filenames
            [[ $word != *[\\\'\"]* ]] || compopt -o default # compgen does not support quotes
        else
            COMPREPLY+=("$answer")
        fi
    done < <("$1" --complete "${words[@]:1}" 2>/dev/null)
    # bash only replaces the part after the last = or :.
    COMPREPLY=("${COMPREPLY[@]#"${word%"$current"}"}")
    [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *: ]] || compopt -o nospace
}
complete -F _inlay inlay
