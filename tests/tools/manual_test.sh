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

# Every verb and every option of docs/options.md stands in all three.
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
expect 'verbs' 'traffic train trace' "$(completes garner tra | tr ' ' '\n' | sort -r | xargs | sed 's/train traffic/traffic train/')"
expect 'an option' '--source --sources' "$(completes garner bfs kron:10 --sour)"
expect 'a short option' '-o' "$(completes garner train -o)"
expect 'an older name is not offered' '' "$(completes garner bfs --hin)"
expect 'an option of another verb' '' "$(completes garner stats --sour)"
expect 'a value is completed as a file' '' "$(completes garner bfs kron:10 --out --)"
expect 'a flag takes no value' '--json' "$(completes garner bfs --verify --js)"

if command -v zsh > /dev/null; then zsh -n "$at/_garner" || wrong 'zsh cannot read its completion'; fi
if command -v mandoc > /dev/null; then
  mandoc -T lint -W error "$at/garner.1" || wrong 'mandoc finds faults in the manual'
elif command -v groff > /dev/null; then
  said=$(groff -man -ww -T ascii "$at/garner.1" 2>&1 > "$at/text") || wrong 'groff cannot read the manual'
  [[ -z $said ]] || wrong "groff says of the manual: $said"
  grep -q -- '--place PLACE' <(sed 's/\x1b\[[0-9;]*m//g; s/.\x08//g' "$at/text") || wrong 'the manual as text has no --place'
fi
status=0
said=$("$program" completion fish 2>&1) || status=$?
expect 'another shell' "2 garner: no completion for 'fish'; say garner completion bash, or zsh" "$status $said"
exit $failed
