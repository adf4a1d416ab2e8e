#compdef inlay
# SPDX-License-Identifier: MIT
# Completion of inlay in zsh. The command answers what may stand at the cursor (tools/options/completion.h says how), so
# that this script suits every version of it.
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
