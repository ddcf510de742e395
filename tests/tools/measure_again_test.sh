#!/bin/bash
# Each JSON of docs/benchmarks says where it comes from and how it is measured again; tools/measure_again finds what does not, and what is slower.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
garner=${GARNER_PROGRAM:?the program}
build=$(dirname "$garner")
work=$(mktemp -d) name=one
trap 'rm -rf "$work"' EXIT

"$root/tools/measure_again" --check --bundle "$build"
[[ $("$root/tools/measure_again" --list --users | wc -l) -gt 15 ]] || { echo "--users lists too few"; exit 1; }

# A tree with one JSON of its own.
mkdir -p "$work/docs/benchmarks" "$work/tools"
cp "$root/tools/measure_again" "$root/tools/provenance.py" "$work/tools"
cp "$root/docs/benchmarks/results.md" "$work/docs/benchmarks"
again() { "$work/tools/measure_again" "$@" --bundle "$build" --out "$work/out" > "$work/said" 2>&1; }
plant() {  # KEY VALUE: of one.json
  python3 - "$work/one.json" "$work/docs/benchmarks/$name.json" "$@" << 'PY'
import json, sys
file, to, key, value = sys.argv[1:]
one = json.load(open(file))
if key == "rows": one["rows"] = [{**row, "ms": row["ms"] * float(value)} for row in one["rows"] if row["ms"]]
elif key == "drop": del one[value]
else: one[key] = json.loads(value)
json.dump(one, open(to, "w"))
PY
}
COMMIT=abc "$garner-lab" gather --device cpu --table-bytes 4MiB --ids 500 --trials 3 --figures copies --out "$work/made.json" > "$work/said"
python3 - "$work" << 'PY'
import json, sys
one = json.load(open(sys.argv[1] + "/made.json"))
assert one["commit"] == "abc" and one["date"] and one["command"].startswith("garner-lab gather"), one
one["again"] = {"command": "garner-lab gather --device cpu --table-bytes 4MiB --ids 500 --trials 3 --figures copies --out OUT/made.json", "gpus": 0, "memory_gib": 1, "minutes": 1}
json.dump(one, open(sys.argv[1] + "/one.json", "w"))
PY
plant rows 1
again --check || { cat "$work/said"; exit 1; }
while IFS='|' read -r key value says; do
  plant "$key" "$value"
  if again --check || ! grep -qF -- "$says" "$work/said"; then echo "planted $key $value: '$says' was not found"; cat "$work/said"; exit 1; fi
done << 'PLANTED'
drop|commit|one: lacks commit
drop|again|one: lacks minutes
command|""|one: lacks command
date|"yesterday"|one: its date is yesterday
again|{"command": "garner-lab gathr --out OUT/x.json", "gpus": 0, "memory_gib": 1, "minutes": 1}|cannot find garner-lab gathr
again|{"command": "garner-lab gather --tables 4 --out OUT/x.json", "gpus": 0, "memory_gib": 1, "minutes": 1}|garner-lab has no --tables
again|{"command": "tools/prove_nothing OUT", "gpus": 0, "memory_gib": 1, "minutes": 1}|cannot find tools/prove_nothing
PLANTED

# Far slower once: nothing is worse now. Far faster once: all is worse, which is an error. A command that fails, and a missing GPU, are errors too.
plant rows 1000
again one || { cat "$work/said"; exit 1; }
grep -q ", 0 worse" "$work/said" && [[ -s $work/out/one.json ]] || { cat "$work/said"; exit 1; }
plant rows 0.001
if again one || ! grep -q "  WORSE" "$work/said"; then cat "$work/said"; exit 1; fi
plant again '{"command": "garner-lab gather --device cpu --figures nothing --out OUT/made.json", "gpus": 0, "memory_gib": 1, "minutes": 1}'
if again one || ! grep -q "exit [1-9]" "$work/said"; then cat "$work/said"; exit 1; fi
plant again '{"command": "true", "gpus": 99, "memory_gib": 1, "minutes": 1}'
if again one || ! grep -q "needs 99 GPUs" "$work/said"; then cat "$work/said"; exit 1; fi
again --small one && { cat "$work/said"; exit 1; }
again nothing && { cat "$work/said"; exit 1; }
echo "measure_again: what lacks its origin, what cannot be measured again and what became slower is found"
