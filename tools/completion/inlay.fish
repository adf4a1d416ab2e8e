# SPDX-License-Identifier: MIT
# fish completion for inlay. The command itself computes the completions (see tools/options/completion.h), so this script
# works with every version of it.
function __inlay_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct | string trim --left --chars '"\'' | string unescape)
    for answer in ($words[1] --complete $words[2..-1] $current 2>/dev/null)
        set -l parts (string split -m 1 '*' -- (string split -m 1 \t -- $answer)[1])
        if set -q parts[2]
            for path in (__fish_complete_path (string replace -- $parts[1] '' $current))
                string match -qr -- '/$|'(string escape --style=regex -- $parts[2])'$' (string split \t -- $path)[1]
                and echo $parts[1]$path
            end
        else
            echo $answer
        end
    end
end
complete -c inlay -f -a '(__inlay_complete)'
