#!/bin/bash
# The manual page and the completions that the program prints: bash completes with them, and roff and zsh read them where they are here.
set -euo pipefail
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT
failed=0
wrong() { echo "$*"; failed=1; }
program=${GARNER_PROGRAM:?}
"$program" man > "$at/garner.1"
"$program" completion bash > "$at/garner.bash"
"$program" completion zsh > "$at/_garner"

# Every verb and every option of docs/reference/options.md stands in all three.
options=$("$program" --reference)
while read -r verb; do
  grep -q "^\.SS garner $verb" "$at/garner.1" || wrong "the manual lacks $verb"
  grep -q "^    $verb) options=" "$at/garner.bash" || wrong "the completion of bash lacks $verb"
  grep -q "^    $verb)$" "$at/_garner" || wrong "the completion of zsh lacks $verb"
done < <(sed -n 's/^## garner //p' <<< "$options")
while read -r name; do
  grep -qF -- "\\fB${name//-/\\-}\\fR" "$at/garner.1" || wrong "the manual lacks $name"
  grep -qE -- "[ ']$name[ ']" "$at/garner.bash" || wrong "the completion of bash lacks $name"
  grep -qF -- "$name[" "$at/_garner" || wrong "the completion of zsh lacks $name"
done < <(grep -o '^| `--[a-z0-9-]*' <<< "$options" | cut -c4- | sort -u)

bash -n "$at/garner.bash" || wrong 'bash cannot read its completion'
source "$at/garner.bash"
completes() {  # WORDS ..., the last one is under way: what it becomes
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _garner
  echo "${COMPREPLY[*]}"
}
expect() { [[ $2 == "$3" ]] || wrong "$1: expected '$2', but it is '$3'"; }
expect 'the function is that of garner' 'complete -o default -F _garner garner' "$(complete -p garner)"
expect 'a verb' 'pagerank' "$(completes garner pag)"
expect 'verbs' 'pagerank plan predict' "$(completes garner p | tr ' ' '\n' | sort | xargs)"
expect 'an option' '--source --sources' "$(completes garner bfs kron:10 --sour)"
expect 'a short option' '-o' "$(completes garner train -o)"
expect 'an older name is not offered' '' "$(completes garner bfs --pla)"
expect 'an option of another verb' '' "$(completes garner stats --sour)"
expect 'a value is completed as a file' '' "$(completes garner bfs kron:10 --out --)"
expect 'words of an option' 'cpu cuda simulated' "$(completes garner bfs kron:10 --device '')"
expect 'one of them' 'simulated' "$(completes garner bfs kron:10 --device si)"
expect 'behind =' 'managed' "$(completes garner bfs kron:10 --tier = ma)"
expect 'and at once' 'cpu cuda simulated' "$(completes garner bfs kron:10 --device =)"
expect 'by its position' 'kron' "$(completes garner generate kr)"
expect 'an option there' '--scale' "$(completes garner generate --sca)"
expect 'the verbs of help' 'doctor' "$(completes garner help doc)"
expect 'shells' 'bash zsh' "$(completes garner completion '')"
mkdir "$at/folder"
touch "$at/file"
expect 'a folder' "$at/folder" "$(completes garner convert in.el out.gnr --scratch "$at/f")"
expect 'a number' '' "$(completes garner bfs kron:10 --source 1)"

# Completion offers the values that help names, which are those that the program lists when it refuses another one.
verb= offered=0
cd "$at/folder"  # which has no folders
while IFS= read -r line; do
  [[ $line == '## garner '* ]] && verb=${line#'## garner '}
  [[ $line =~ ^'| `'(-o,)?(--[a-z-]+)' '([^\`]*)'` | '(.*)' |'$ ]] || continue
  option=${BASH_REMATCH[2]} help=${BASH_REMATCH[4]}
  for word in $(completes garner "$verb" x "$option" ''); do
    offered=$((offered + 1))
    [[ $help =~ (^|[^a-z_-])"$word"($|[^a-z_-]) ]] || wrong "$verb $option: offers $word, which its help does not name"
  done
done <<< "$options"
((offered > 250)) || wrong "values of options: $offered"
words() { tr -s ' ' '\n' | sort | paste -sd ' '; }
refused() { sed "s/.*\(use one of\|choose\|use\|use\) //; s/([^)]*)//g; s/ or / /g; s/,/ /g; s/cuda:N//" | words; }
same() { expect "$*" "$("$program" "$@" nonsense 2>&1 | refused)" "$(completes garner "$@" '' | words)"; }
for option in --device --variant; do same bfs kron:4 $option; done
for option in --variant --dangling --by-degree; do same pagerank kron:4 $option; done
for verb in components sssp; do same $verb kron:4 --variant; done
same convert a.el b.gnr --from
same reorder a.gnr b.gnr --by
same sample kron:4 --rule
same load kron:4 --width 4 --cache-policy
same load kron:4 --width 4 --strategy
expect 'what is generated' "$("$program" generate nonsense x.gnr 2>&1 | refused)" "$(completes garner generate '' | words)"
expect 'verbs with a schema' "$("$program" schema nonsense 2>&1 | refused)" "$(completes garner schema '' | words)"
expect 'a flag takes no value' '--json' "$(completes garner bfs --verify --js)"

grep -qF -- "--device[" "$at/_garner" && grep -qF ':DEVICE:(cpu cuda simulated)' "$at/_garner" || wrong 'the completion of zsh lacks the words of --device'
grep -qF ":FOLDER:_files -/'" "$at/_garner" || wrong 'the completion of zsh completes no folders'
grep -qF "'1:KIND:(kron uniform web)'" "$at/_garner" || wrong 'the completion of zsh lacks the words of KIND'

# garner help is garner --help.
expect 'garner help' "$("$program" --help)" "$("$program" help)"
expect 'garner help bfs' "$("$program" bfs --help)" "$("$program" help bfs)"
status=0
said=$("$program" help bsf 2>&1) || status=$?
expect 'garner help of an unknown verb' "2 garner: 'bsf' is not a verb" "$status ${said%%;*}"

if command -v zsh > /dev/null; then zsh -n "$at/_garner" || wrong 'zsh cannot read its completion'; fi
if command -v mandoc > /dev/null; then
  mandoc -T lint -W error "$at/garner.1" || wrong 'mandoc finds faults in the manual'
elif command -v groff > /dev/null; then
  said=$(groff -man -ww -T ascii "$at/garner.1" 2>&1 > "$at/text") || wrong 'groff cannot read the manual'
  [[ -z $said ]] || wrong "groff says of the manual: $said"
  grep -q -- '--device DEVICE' <(sed 's/\x1b\[[0-9;]*m//g; s/.\x08//g' "$at/text") || wrong 'the manual as text has no --device'
fi
status=0
said=$("$program" completion fish 2>&1) || status=$?
expect 'another shell' "2 garner: no completion for 'fish'; use garner completion bash, or zsh" "$status $said"
exit $failed
