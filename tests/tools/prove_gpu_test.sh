#!/bin/bash
# The steps `traffic`, `memory` and `peers` of tools/prove_gpu, rehearsed on the CPU. Traffic with an ncu that counts what the model counts, but for the
# strided searches, where it counts half as much again: the differences in traffic.json must be 0 there and a third here.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
garner=${GARNER_PROGRAM:-$PWD/garner}
[[ -x $garner ]] || { echo "no program at $garner; run this in the build folder or set GARNER_PROGRAM"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bundle/bin" "$work/path" "$work/store"
cp "$garner" "$garner-lab" "$work/bundle/bin"
echo abc > "$work/bundle/commit"

# Takes the options of ncu and a run of garner-lab; writes two kernels as ncu does with --csv. Application replay is refused for pagerank.
cat > "$work/path/ncu" << 'NCU'
#!/bin/bash
mode=kernel
while [[ $1 == -* ]]; do
  [[ $1 == --replay-mode ]] && mode=$2
  case $1 in --csv) shift ;; *) shift 2 ;; esac
done
program=$1 job=$3 file=$4  # garner-lab run JOB FILE
shift 4
args=()
while (($#)); do
  case $1 in --device) shift 2 ;; *) args+=("$1"); shift ;; esac
done
echo "==PROF== Connected to process 1 ($program)"
[[ $job == pagerank && $mode == application ]] && { echo "==ERROR== no such mode"; exit 1; }
"$program" traffic "$job" "$file" "${args[@]}" --json | python3 -c "
import json, sys
r = json.load(sys.stdin)['runs'][0]
pcie = r['bytes_link'] * 1e-6
more = 1.5 if r['access'] == 'strided' and '$job' == 'bfs' else 1
print('\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"')
for id in 0, 1:
    for name, unit, value in (('lts__t_requests_srcunit_tex_aperture_sysmem_op_read.sum', 'request', r['request_count']), ('lts__t_sectors_srcunit_tex_aperture_sysmem_op_read.sum', 'sector', r['sectors']),
                              ('lts__d_sectors_fill_sysmem.sum', 'sector', r['sectors']), ('pcie__read_bytes.sum', 'Mbyte', pcie)):
        print(f'\"{id}\",\"k\",\"{name}\",\"{unit}\",\"{value * more / 2:,.6f}\"')
"
NCU
chmod +x "$work/path/ncu"

PATH=$work/path:$PATH STEPS=traffic TRAFFIC_SCALES="8 9" L2_SIZES="1MiB" DEVICE=cpu STORE=$work/store "$root/tools/prove_gpu" "$work/bundle" "$work/proof" > "$work/said" 2>&1 ||
  { cat "$work/said"; exit 1; }
python3 - "$work/proof/traffic.json" << 'PY' || { cat "$work/said" "$work/proof/proof.log"; exit 1; }
import json, sys
found = json.load(open(sys.argv[1]))
rows = found["rows"]
assert (found["device"], found["driver"], found["commit"]) == ("none: device cpu", None, "abc") and len(found["date"]) == 10, found
assert "STEPS=" in found["command"] and "tools/prove_gpu /" in found["command"], found["command"]
assert len(rows) == 2 * 2 * 4, len(rows)
for r in rows:
    assert r["kernels"] == 2 and set(r["modelled"]) == {"0", "1MiB"}, r
    m, c, a = r["modelled"]["0"], r["counted"], r["apart"]["0"]
    if r["access"] == "paged":  # pages alone, each once, and no request
        assert c["requests"] == c["sectors"] == 0 and m == {"bytes_link": r["modelled"]["1MiB"]["bytes_link"]}, r
        assert m["bytes_link"] >= 0.9 * r["edge_list_bytes"] and m["bytes_link"] % 4096 == 0 and abs(a["pcie_read_bytes"]) < 1e-3, r
        continue
    less = r["access"] == "strided" and r["job"] == "bfs"
    for name in "requests", "sectors": assert abs(a[name] - (1 / 1.5 - 1 if less else 0)) < 1e-3, r
    assert abs(c["pcie_read_bytes"] - c["sectors"] * 32) < 100, r
    assert r["modelled"]["1MiB"]["sectors"] <= m["sectors"] and r["apart"]["1MiB"]["fill_sectors"] <= 1e-3, r
    assert m["sectors"] * 32 >= 0.7 * r["edge_list_bytes"], r
PY
grep -q "no counters: ==ERROR== no such mode" "$work/said"
grep -qF '| 9, pagerank, `strided` | ' "$work/said"
grep -qF '| 9, bfs, `paged` | over PCIe ' "$work/said"
grep -q "traffic: 12 rows, 2 further apart than 5 % (strided 15 %): FAILED" "$work/said"
[[ -z $(ls "$work/store") ]] || { echo "left behind: $(ls "$work/store")"; exit 1; }

# When its time runs out it leaves out the remaining runs, and reports each.
PATH=$work/path:$PATH STEPS=traffic TRAFFIC_SCALES=8 TRAFFIC_SECONDS=0 DEVICE=cpu STORE=$work/store "$root/tools/prove_gpu" "$work/bundle" "$work/short" > "$work/said" 2>&1
[[ $(grep -c "left out, no time" "$work/said") == 8 && $(tail -n 2 "$work/short/traffic.json") == ' "rows": []'* ]] || { cat "$work/said"; exit 1; }

# Counters of an earlier run with a new model, while ncu is missing: the same differences.
STEPS=traffic TRAFFIC_SCALES="8 9" L2_SIZES="1MiB" COUNTED=$work/proof/traffic.json DEVICE=cpu STORE=$work/store "$root/tools/prove_gpu" "$work/bundle" "$work/again" > "$work/said" 2>&1
python3 - "$work/proof/traffic.json" "$work/again/traffic.json" << 'PY' || { cat "$work/said"; exit 1; }
import json, sys
first, again = (sorted(json.load(open(f))["rows"], key=str) for f in sys.argv[1:])
assert first == again and len(first) == 16
PY

STEPS=memory MEMORY_SCALE=14 DEVICE=cpu STORE=$work/store "$root/tools/prove_gpu" "$work/bundle" "$work/memory" > "$work/said" 2>&1
python3 - "$work/memory/memory.json" << 'PY' || { cat "$work/said"; exit 1; }
import json, sys
found = json.load(open(sys.argv[1]))
rows = found["rows"]
assert (found["device"], found["driver"], found["commit"]) == ("none: device cpu", None, "abc") and len(found["date"]) == 10, found
assert "STEPS=" in found["command"] and "tools/prove_gpu /" in found["command"], found["command"]
assert len({(r["job"], r["variant"], r["packed"]) for r in rows}) == len(rows) == 16, rows
for r in rows: assert r["device_took"] == r["device_planned"] == 0 < r["host_took"], r
PY
grep -q "memory, packed: 8 runs, " "$work/said"

# The step `peers`, with tests that pass, skip and fail, and a sanitizer that runs what it is given: all of it is counted and reported.
mkdir "$work/bundle/tests"
cat > "$work/bundle/tests/device_test" << 'TEST'
#!/bin/bash
printf '[       OK ] a.b/device (1 ms)\n/x.cpp:1: Skipped\nneeds two GPUs\n[  SKIPPED ] a.c (0 ms)\n[  FAILED  ] a.d, where GetParam() = 4-byte object <00> (2 ms)\n[  FAILED  ] a.d\n'
echo "$*" >> "$(dirname "$0")/asked"
exit 1
TEST
cp "$work/bundle/tests/device_test" "$work/bundle/tests/tier_test"
cp "$work/bundle/tests/device_test" "$work/bundle/tests/tiered_test"
cp "$work/bundle/tests/device_test" "$work/bundle/tests/tiered_processes_test"
printf '#!/bin/bash\nwhile [[ $1 != /* ]]; do shift; done\nexec "$@"\n' > "$work/path/compute-sanitizer"
chmod +x "$work/bundle"/tests/* "$work/path/compute-sanitizer"
PATH=$work/path:$PATH STEPS=peers PEER_TABLE=1MiB DEVICE=cpu STORE=$work/store "$root/tools/prove_gpu" "$work/bundle" "$work/peers" > "$work/said" 2>&1
[[ $(grep -c ": exit 1: 1 passed, 1 skipped, 1 failed" "$work/said") == 4 && $(grep -c "1 needs two GPUs" "$work/said") == 4 ]] || { cat "$work/said"; exit 1; }
grep -q "512 B rows of another device: NOT measured" "$work/said" || { cat "$work/said"; exit 1; }
[[ $(grep -c memcheck "$work/said") == 3 && $(wc -l < "$work/bundle/tests/asked") == 7 ]] || { cat "$work/said"; exit 1; }
echo "prove_gpu: the step traffic compares counters with the model, memory what jobs take with their plan; peers counts its tests"
