#!/bin/bash
# What `garner-lab report` draws can be read in a browser, on a phone and on a wide screen, light and dark; and tools/check_page fails when a
# page cannot. Without Chromium this is skipped, visibly.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
garner=${GARNER_PROGRAM:?the program}

cd "$work"
"$garner-lab" traversal --device simulated --scale 10 --sources 2 --trials 1 --pattern-bytes 1MiB --out simulated.json > said
"$garner-lab" traversal --device cpu --scale 10 --sources 2 --trials 1 --pattern-bytes 1MiB --kinds kron --out host.json >> said
# As a GPU would have written it, with the longest names that one could think of: every figure is drawn.
python3 - <<'PY'
import json
run = json.load(open("simulated.json"))
run["machine"].update(place="cuda:0", device="A GPU <with> & a \"name\"", device_budget=1 << 37, link={
    "copy_gbs": 55.0, "zero_copy_gbs": 51.1, "paged_gbs": 26.4, "line_requests_giga": 0.4, "sector_requests_giga": 0.72})
for p, gbs in zip(run["patterns"], (5.1, 32, 50.8, 26.4)):
    p.update(gbs=gbs, ms=1.0, verified=True, skipped=None)
rate = {"uvm": 20, "strided": 7, "merged": 40, "aligned": 47}
for j in run["jobs"]:
    j["ms"] = [j["link"]["bytes_link"] / len(j["ms"]) / rate.get(j["way"], 50) / 1e6 for _ in j["ms"]]
    j.update(ms_statistic=j["ms"][0], place="cuda:0", device_budget=1 << 37)
for j in [j for j in run["jobs"] if j["way"] == "default" and j["id_bytes"] == 4]:
    near = {"way": "near", "label": "Garner, near", "tier": "device", "link": None, "predicted": []}
    run["jobs"].append({**j, **near, "ms": [ms / 1.5 for ms in j["ms"]], "ms_statistic": j["ms_statistic"] / 1.5, "prepare_ms": 3.25})
run["jobs"][1].update(verified=False)
json.dump(run, open("device.json", "w"))
name = "W" * 60 + "-\u00e4\u4e16\u754c.gnr"
for graph in run["graphs"]:
    for j in run["jobs"]:
        if j["graph"] == graph["name"]:
            j["graph"] = name + graph["name"]
    graph["name"] = name + graph["name"]
for j in run["jobs"]:
    j["label"] = "MW@" * 9
json.dump(run, open("names.json", "w"))
PY
"$garner-lab" tiering --device cpu --scale 9 --batch 5 --out tiering.json >> said
python3 - <<'PY'
import json
run = json.load(open("tiering.json"))
for graph in run["graphs"]:
    graph["name"] = "W" * 60 + "-\u00e4\u4e16\u754c.gnr" + graph["name"]
    for curve in graph["traces"][0]["curves"]:
        curve["gathers"] = [{"kept": k / 100, "link_bytes": 1e12, "ms": 12345.678 * (1 - k / 100)} for k in (0, 1, 10, 25)]
json.dump(run, open("tiering-names.json", "w"))
PY
"$garner-lab" gather --device simulated --table-bytes 1MiB --ids 50,100 --trials 1 --out gathers.json >> said
# As a GPU would have written it: with times, shares, rows of devices and arithmetic during gathers.
python3 - <<'PY'
import json
run = json.load(open("gathers.json"))
run.update(place="cuda:0", device="A GPU <with> & a \"name\"", link_gbs=51.1)
rate = {"staged": 14, "naive": 31, "shifted": 44, "aligned": 48, "bulk": 50, "copies": 3}
rows = [r for r in run["rows"] if not r["skipped"]]
like = rows[0]
for sms in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 132):
    for load in (4, 8, 16):
        rows.append({**like, "figure": "share", "label": f"{sms} multiprocessors, loads of {load} B", "row_bytes": 4096, "way": "aligned", "multiprocessors": sms, "load_bytes": load})
    if sms <= 16:
        rows.append({**like, "figure": "share", "label": f"{sms} multiprocessors, copy engine", "row_bytes": 4096, "way": "bulk", "multiprocessors": sms})
for size in (64, 512, 4096):
    for whose in ("this", "another"):
        rows.append({**like, "figure": "near", "label": f"{size} B, of {whose} device", "row_bytes": size})
for share, rest in (("partition", 124), ("grid", 132)):
    for way in ("aligned", "bulk"):
        rows.append({**like, "figure": "beside", "label": f"{share}, 4096 B {way}", "row_bytes": 4096, "way": way, "multiprocessors": 8,
                     "beside": {"share": share, "rest": rest, "gather_alone_gbs": 49.5, "whole_ms": 10.0, "rest_ms": 10.6, "beside_ms": 10.7, "slower": 0.07, "slower_than_alone": 0.01}})
for r in rows:
    r["gbs"] = rate[r["way"]] * (min(1, r["multiprocessors"] * max(4, r["load_bytes"]) / 64) if r["multiprocessors"] else 1)
    r["ms"] = r["ids"] * r["batches"] * r["row_bytes"] / r["gbs"] / 1e6
    r.update(rows_a_second=1e6, of_link=r["gbs"] / 51.1, requests=0)
rows.append({**like, "figure": "beside", "label": "mps", "ms": None, "gbs": None, "skipped": "no Multi-Process Service runs here"})
run["rows"] = rows
json.dump(run, open("rows.json", "w"))
for r in rows:
    for key in ("label", "why", "skipped"):
        r[key] = r[key] and r[key] + " " + "MW@" * 25
run["device"] = "W" * 90
json.dump(run, open("rows-names.json", "w"))
PY
"$garner-lab" load --device simulated --scale 10 --fanout 5,4 --rule last --batch 64 --share 100% --feature-bytes 64 --batches 32 --out loads-simulated.json >> said
# As a GPU would have written it: local rows, multiprocessors, two devices, times and what ran when.
python3 - <<'PY'
import json
run = json.load(open("loads-simulated.json"))
run.update(place="cuda:0", device="A GPU <with> & a \"name\"", link_gbs=51.1, compute_ms=1.7)
like = run["rows"][0]
rows = run["rows"]
rows.insert(0, {**like, "lists": "device", "way": "tiered", "kept": 1, "window_rows": 0, "fetched_rows": 0, "far_bytes": 0})
for sms in (1, 2, 4, 8, 12, 16, 24, 32, 64, 0):
    rows.append({**like, "figure": "share", "multiprocessors": sms})
rows += [{**r, "devices": 2, "peer_rows": r["near_rows"], "near_rows": 0, "far_bytes": r["far_bytes"] / 2} for r in rows if r["figure"] == "kept"]
for r in rows:
    far = 12 * (1 - r["kept"])
    r.update(ms=2 + far / (1 if r["way"] != "staged" else 0.5), ms_median=2 + far, sample_ms=1.4, fetch_ms=far / min(1, (r["multiprocessors"] or 132) / 12), gather_ms=0.4,
             caller_waited_ms=0.1, loader_waited_ms=1.2, far_bytes=far * 5e7)
    if r["way"] == "window" and r["figure"] == "ways" or r["kept"] == 1:
        r["moments"] = [{"index": i, "sample": [i * 1.5, i * 1.5 + 1.4], "fetch": [12, 24] if i == 0 else [30, 42] if i == 8 else [0, 0],
                         "gather": [24 + 2 * i, 24.4 + 2 * i], "handed": 24.5 + 2 * i} for i in range(16)]
rows.append({**rows[1], "figure": "kept", "ms": None, "skipped": "device 0: needs 3.0 TiB and 70.0 GiB are free"})
json.dump(run, open("loads.json", "w"))
run["device"] = "W" * 90
name = "W" * 60 + "-\u00e4\u4e16\u754c.gnr"
for x in run["graphs"]: x["name"] = name
for r in rows:
    r["graph"] = name
    r["skipped"] = r["skipped"] and r["skipped"] + " " + "MW@" * 25
    r["ms"] = r["ms"] and r["ms"] * 543.21
    r["way"] = r["way"] if r["way"] != "zero_copy" else "MW@" * 9
json.dump(run, open("loads-names.json", "w"))
PY
"$garner-lab" train --device simulated --scale 9 --fanout 4,3 --batch 20 --share 100% --feature-bytes 64 --hidden 8 --batches 4 --widths 32,128,4096 --epochs 1 --out trainings-simulated.json >> said
# As a GPU would have written it: local rows, two devices, times by stage.
python3 - <<'PY'
import json
run = json.load(open("trainings-simulated.json"))
run.update(place="cuda:0", device="A GPU <with> & a \"name\"", link_gbs=51.1)
rows = run["rows"]
for width in (16, 32, 128, 4096):
    like = next(r for r in rows if r["width"] == width)
    rows.insert(0, {**like, "lists": "device", "way": "tiered", "kept": 1, "far_rows": 0, "far_bytes": 0})
rows += [{**r, "devices": 2, "peer_rows": r["near_rows"], "near_rows": 0} for r in rows if r["figure"] == "placement" and r["score"] == "degree" and r["way"] == "window"]
def timed(r, fetch):
    r.update(ms=max(90, 20 + fetch), sample_ms=30.5, fetch_ms=fetch, gather_ms=8.25, model_ms=80.125, caller_waited_ms=1.5, loader_waited_ms=40)
for r in rows:
    timed(r, (1 - r["kept"]) * r["width"] * {"window": 4, "tiered": 9, "zero_copy": 12, "staged": 25}[r["way"]])
    r["ms_median"] = r["ms"]
learned = run["trainable"]
learned += [{**r, "kept": 1, "far_rows": 0, "far_bytes": 0} for r in learned if r["kept"] == 0]
for r in learned:
    r.update(rows=67108864, step_rows=300000, gather_ms=3.25, update_ms=1234.5, update_ms_median=1233.25, far_bytes=r["far_bytes"] * 3e5)
    if r["far_rows"]:
        r.update(gather_floor_ms=3.0, update_floor_ms=1100.75)
learned.append({**learned[0], "gather_ms": None, "update_ms": None, "skipped": "rows that are learned, in host memory: needs 96.0 GiB and 70.0 GiB are free"})
for c in run["courses"]:
    for e in c["epochs"]:
        timed(e, 12)
rows.append({**rows[1], "ms": None, "skipped": "a table of 67108864 rows of 16384 bytes takes more than half of the 100.0 GiB of host memory that are free"})
json.dump(run, open("trainings.json", "w"))
course = run["courses"][0]
json.dump({"file": "W" * 60 + "-\u00e4\u4e16\u754c.gnr", "place": "host", "model": "sage", "training_vertices": 9, "vertices": 20, "edges": 30, "hidden": 8,
           "classes": 3, "fanouts": None, "batch": None, "seed": 1, "epochs": [{**e, "ms": e["ms"] * 54321} for e in course["epochs"]]}, open("mine.json", "w"))
name = "W" * 60 + "-\u00e4\u4e16\u754c.gnr"
run["device"] = "W" * 90
for x in run["graphs"]: x["name"] = name
for c in run["courses"]: c["name"] = name
for r in rows:
    r["graph"] = name
    r["skipped"] = r["skipped"] and r["skipped"] + " " + "MW@" * 25
    r["ms"] = r["ms"] and r["ms"] * 543.21
    r["way"] = r["way"] if r["way"] != "zero_copy" else "MW@" * 9
    r["score"] = r["score"] if r["score"] != "wrpr" else "MW@" * 9
json.dump(run, open("trainings-names.json", "w"))
PY
"$garner-lab" storage --device cpu --scale 11 --fanout 4,3 --batch 16 --batches 24 --share 100% --compute-ms 1 --drives . --out storages.json >> said
# As a GPU would have written it.
python3 - <<'PY'
import json
run = json.load(open("storages.json"))
run.update(place="cuda:0", device="A GPU <with> & a \"name\"", link_gbs=51.1, link_measured=True)
for r in run["rows"]:
    if r["way"] == "device":
        r.update(sample_ms=0.0123, skipped=None)
json.dump(run, open("storages.json", "w"))
run["device"] = "W" * 90
name = "W" * 60 + "-\u00e4\u4e16\u754c "
for x in run["graphs"]: x["name"] = name + x["name"]
for r in run["rows"]:
    r["graph"] = name + r["graph"]
    for key in ("ms", "sample_ms", "read_ms", "copy_ms", "model_ms"):
        r[key] = r[key] and r[key] * 54321
    r["read_bytes"] *= 54321
    if r["figure"] in ("cold", "policies"):
        r["way"] = r["way"] + " " + "MW@" * 9
run["rows"].append({**run["rows"][0], "skipped": "no room " + "MW@" * 25})
json.dump(run, open("storages-names.json", "w"))
PY
"$garner-lab" shards --device cpu --shards 4 --shrink 2000 --trials 1 --kinds RDD,ORKT --out shards.json >> said
# As GPUs would have written it: with rows in managed memory.
python3 - "$root" <<'PY'
import json, sys
run = json.load(open("shards.json"))
name = "W" * 60 + "-\u00e4\u4e16\u754c.gnr"
run.update(place="cuda:0", device="W" * 90, no_uvm=None)
for g in run["graphs"]: g["name"] = name + g["name"]
for r in list(run["rows"]):
    r["graph"] = name + r["graph"]
    r["ms"], r["prepare_ms"] = r["ms"] * 54321, r["prepare_ms"] * 54321
    if r["forward"]: r["forward"]["ms"] *= 54321
    if r["way"] == "mgg" and r["study"] in ("ways", "gcn", "gin") and not r["steps"]:
        forward = r["forward"] and {**r["forward"], "ms": r["forward"]["ms"] * 3, "floor_ms": None}
        run["rows"].append({**r, "way": "uvm", "ms": r["ms"] * 3, "links": [], "floor_ms": None, "forward": forward})
json.dump(run, open("shards-names.json", "w"))
run = json.load(open(sys.argv[1] + "/docs/benchmarks/sampling-host.json"))
for r in run["rows"]: r["set"], r["epoch_ms"] = name + r["set"], r["epoch_ms"] * 54321
json.dump(run, open("accuracy-names.json", "w"))
PY
"$garner-lab" report device.json simulated.json host.json tiering.json rows.json loads.json trainings.json storages.json shards.json \
  "$root/docs/benchmarks/sampling-host.json" "$root/docs/benchmarks/user-path-h100.json" --out page.html >> said
"$garner-lab" report names.json tiering-names.json rows-names.json gathers.json loads-names.json loads-simulated.json trainings-names.json trainings-simulated.json \
  mine.json storages-names.json shards-names.json accuracy-names.json --out names.html >> said

status=0
"$root/tools/check_page" page.html names.html || status=$?
if ((status == 77)); then
  printf '%s:%s: Skipped\nno Chromium to look at the report with (apt-get install chromium)\n[  SKIPPED ] report in a browser\n' "$0" $LINENO
  exit 77
fi
((status == 0))

# The check itself must be able to fail, for each thing that it says it looks at.
bad=()
declare -A wanted
spoil() {  # NAME WANTED SED-SCRIPT
  sed "$3" page.html > "$1.html"
  ! cmp -s page.html "$1.html" || { echo "$1: nothing was changed"; exit 1; }
  bad+=("$1")
  wanted[$1]=$2
}
spoil wide 'px wide in a window of 360' 's|<main>|<main><div style="width:900px">wide</div>|'
spoil script 'holds a script' 's|</body>|<script>1;</script></body>|'
spoil console 'console: hello' 's|</body>|<script>console.log("hello")</script></body>|'
spoil loads 'the page loads' 's|</body>|<img src="x.png" alt=""></body>|'
spoil flat '0 x 0 px' 's|svg{display:block|svg{display:none|'
spoil small 'is [0-9.]* px' 's|svg text{font:12px|svg text{font:9px|'
spoil pale 'contrast' 's|--text:#1b1f24|--text:#b0b0b0|'
spoil untitled 'no title' 's|<title>Figure[^<]*</title>||'
spoil cut 'is cut off' 's|svg text{font:12px|svg text{font:19px|'
spoil over 'lies over' 's|svg text{font:12px|svg text{letter-spacing:4px;font:16px|'
status=0
"$root/tools/check_page" "${bad[@]/%/.html}" --widths 360 > found || status=$?
[[ $status == 1 ]] || { echo "spoiled pages: exit $status"; exit 1; }
for name in "${bad[@]}"; do
  grep -q -- "^$name.html: .*${wanted[$name]}" found || { echo "$name: expected '${wanted[$name]}' among:"; grep "^$name" found | head -n 20; exit 1; }
done
echo "report: reads well in a browser; what does not is found"
