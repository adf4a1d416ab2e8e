#compdef inlay
# SPDX-License-Identifier: MIT
# zsh completion for inlay. The command itself computes the completions (see tools/options/completion.h), so this script
# works with every version of it.
local answer
local -a described
for answer in "${(@f)$("${(Q)words[1]}" --complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
    case $answer in
    *\**)
        compset -P "${(b)answer%%\**}"
        _path_files -g "*${answer#*\*}"
        _path_files -/
        ;;
    *:$'\t')
        compadd -S '' -- "${answer%$'\t'}"
        ;;
    *?$'\t'*)
        described+=("${${${answer//:/\\:}/$'\t'/:}%:}")
        ;;
    esac
done
_describe -V inlay described
