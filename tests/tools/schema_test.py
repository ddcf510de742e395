#!/usr/bin/env python3
"""Compares what the verbs of garner and garner-lab write as JSON with the schemas that their verb `schema` prints.

  tests/tools/schema_test.py BUILD

Every verb that writes JSON runs on small inputs, on the CPU and simulated, and in the ways that change its keys. Its JSON must be valid, and
each key of the schema must be in some output. Then each output is spoilt, one value after another: one more key, a key less, and a value of
another type must all be found.
"""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile

# Per program and verb, the commands (without the name of the program) whose JSON is validated; most of garner-lab write to out.json.
graph_jobs = ("bfs", "sssp", "components", "pagerank")
train = "train g.gnr --features x.npy --labels y.npy --split y.npy --epochs 1 --json "
small = "--scale 8 --fanout 4,3 --batch 20 --share 100% --out out.json"
of_garner = {
    "bfs": ["bfs g.gnr", "bfs g.gnr --device simulated --trials 2 --verify", "bfs g.gnr --tier file", "bfs g.gnr --device simulated --shards 2",
            "bfs d.gnr --variant direction"],
    "sssp": ["sssp g.gnr --tier file", "sssp f.gnr --device simulated"],
    "components": ["components g.gnr --tier file", "components g.gnr --device simulated --shards 2"],
    "pagerank": ["pagerank g.gnr --tier file", "pagerank d.gnr --device simulated", "pagerank g.gnr --device simulated --shards 2"],
    "plan": [f"plan g.gnr --algorithm {job}{how}" for job in graph_jobs
             for how in ("", " --device cpu", " --device simulated", " --device cuda --graph-cache 4KiB", " --device cpu --tier file")] +
            ["plan g.gnr --algorithm bfs --device cpu --shards 2", "plan g.gnr --algorithm bfs --device cuda --tier managed",
             "plan g.gnr --algorithm load --width 4", "plan g.gnr --algorithm load --width 4 --device cuda --feature-cache 10%",
             "plan h.json --algorithm load --device cpu", "plan g.gnr --algorithm load --features x.gnt --feature-tier file --drive-reads 9000",
             "plan g.gnr --algorithm train --width 4 --classes 3", "plan g.gnr --algorithm train --width 4 --classes 3 --device cpu --full --shards 2",
             "plan g.gnr --algorithm train --width 4 --classes 3 --device cpu --full --activations file --scratch .",
             "plan h.json --algorithm train --device cpu"],
    "score": ["score g.gnr", "score d.gnr --device simulated", "score d.gnr --by sampled"],
    "sample": ["sample g.gnr", "sample g.gnr --device simulated", "sample d.gnr --verify --train 10%"],
    "load": ["load g.gnr --width 4", "load g.gnr --width 4 --device simulated --feature-cache 10% --graph-cache 10%",
             "load g.gnr --features x.gnt --labels y.npy --feature-tier file --verify"],
    "train": [train + how for how in ("-o m", "--device simulated", "--full", "--full --shards 2 --shard-strategy auto", "--ranks 2")] +
             ["train h.json --epochs 1 -o t"],
    "predict": ["predict g.gnr --features x.npy --model m -o p.npy", "predict g.gnr --features x.npy --model m -o p.npy --device simulated",
                "predict h.json --model t -o q.npy"],
    "stats": ["stats g.gnr", "stats d.gnr --check", "stats kron:8", "stats h.json"],
    "info": ["info --quick --drives ."],
    "doctor": ["doctor --device cpu", "doctor --device simulated"],
}
of_lab = {
    "traversal": [f"traversal --device {device} --scale 8 --kinds kron --out out.json" for device in ("simulated", "cpu")],
    "tiering": ["tiering --device simulated --scale 8 --kinds kron --batch 8 --out out.json"],
    "gather": ["gather --device cpu --table-bytes 1MiB --ids 100,200 --figures orders --out out.json"],
    "load": ["load --device cpu " + small, "load --device simulated " + small],
    "train": ["train --device cpu --hidden 8 --widths 4 " + small],
    "storage": ["storage --device cpu --batches 8 --figures cold " + small.replace("20", "8")],
    "shards": ["shards --device cpu --shards 2 --shrink 20000 --trials 1 --out out.json"],
    "traffic": [f"traffic {job} g.gnr" for job in graph_jobs] + ["traffic pagerank d.gnr --iterations 2", "traffic bfs g.gnr --tier file"],
    "trace": ["trace g.gnr", "trace d.gnr --device simulated"],
}
# Keys of whole outputs that may be missing.
may_lack = {"plan": ["not_here"], "traffic": ["not_here"], "info": ["no_device", "drives"],
            "predict": ["ms", "prepare_ms", "bytes", "local_bytes", "adjacency_bytes", "gbs", "floor_bytes", "floor_ms", "link_gbs", "percent_of_floor", "layers"]}
# Keys that a GPU alone brings, or its absence.
elsewhere = re.compile(r".*\.not_here|info\.no_device|info\.devices\[\].*|traversal\.machine\.link\..*|gather\.rows\[\]\.beside\..*")


def is_of(value, kind):
    """Whether a JSON value has this type. 1.0 does not count as an integer here: a program that reads it may distinguish them."""
    if kind in ("integer", "number"):
        return isinstance(value, int if kind == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, {"string": str, "boolean": bool, "null": type(None), "array": list, "object": dict}[kind])


def errors_of(value, schema, at="", seen=None):
    """What is wrong with a value, one text per error; `seen` gets the path of every key."""
    unknown = set(schema) - {"$schema", "title", "description", "type", "enum", "items", "properties", "required", "additionalProperties", "anyOf"}
    assert not unknown, f"this test does not know {unknown}"
    if "anyOf" in schema:
        found = []
        for one in schema["anyOf"]:
            of_this = set()
            found.append(errors_of(value, one, f"{at}[{names(one)}]", of_this))
            if not found[-1]:
                seen.update(of_this) if seen is not None else None
                return []
        return min(found, key=len)
    kinds = schema.get("type", [])
    if kinds and not any(is_of(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return [f"{at}: {value!r} is not of type {kinds}"]
    if "enum" in schema and not any(value == one and type(value) is type(one) for one in schema["enum"]):
        return [f"{at}: {value!r} is not one of {schema['enum']}"]
    errors = []
    if isinstance(value, list):
        for one in value:
            errors += errors_of(one, schema["items"], at + "[]", seen)
    if isinstance(value, dict):
        known, other = schema.get("properties", {}), schema["additionalProperties"]
        errors += [f"{at}: lacks {key}" for key in schema.get("required", []) if key not in value]
        for key, one in value.items():
            if seen is not None:
                seen.add(f"{at}.{key}")
            if key in known:
                errors += errors_of(one, known[key], f"{at}.{key}", seen)
            elif other is False:
                errors.append(f"{at}: has {key}, which the schema lacks")
            else:
                errors += errors_of(one, other, f"{at}.{key}", seen)
    return errors


def names(schema):
    """One of several kinds, by the last word of its title, which differs."""
    return re.sub(r"^garner \w+ ?|--json ?|--algorithm |, .*", "", schema["title"]).strip()


def keys_of(schema, at):
    """The paths of all keys that a schema has."""
    for one in schema.get("anyOf", []):
        yield from keys_of(one, f"{at}[{names(one)}]")
    if "items" in schema:
        yield from keys_of(schema["items"], at + "[]")
    for key, one in schema.get("properties", {}).items():
        yield f"{at}.{key}"
        yield from keys_of(one, f"{at}.{key}")


def spoilt(value, path=()):
    """Every way to spoil a value: (what, a copy of the whole with one fault). The first item of a list is enough."""
    def with_fault(change):
        whole = copy.deepcopy(value)
        inner = whole
        for step in path:
            inner = inner[step]
        return change(inner, whole)

    here = value
    for step in path:
        here = here[step]
    where = ".".join(map(str, path))
    if isinstance(here, dict):
        yield f"one more key in {where}", with_fault(lambda inner, whole: (inner.update(surplus=1), whole)[1])
        for key in here:
            if path != ("features",):  # of a dataset file: its types
                yield f"without {where}.{key}", with_fault(lambda inner, whole: (inner.pop(key), whole)[1])
            yield f"{where}.{key} of another type", with_fault(lambda inner, whole: (inner.update({key: other_than(inner[key])}), whole)[1])
            yield from spoilt(value, (*path, key))
    elif isinstance(here, list) and here:
        yield f"an item of {where} of another type", with_fault(lambda inner, whole: (inner.__setitem__(0, other_than(inner[0])), whole)[1])
        yield from spoilt(value, (*path, 0))


def other_than(value):
    """A value of a type that no key has together with this value's: a float for a flag or a text, an object for a list, else a list."""
    return 0.5 if isinstance(value, (bool, str)) else {"surplus": 1} if isinstance(value, list) else ["surplus"]


def make_inputs(folder, run):
    for name, width in (("x.npy", 4), ("y.npy", 0)):  # rows of 1, 2 and 3; both serve as labels and as a split
        shape = f"(256, {width})" if width else "(256,)"
        head = f"{{'descr': '|i1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        with open(f"{folder}/{name}", "wb") as file:
            file.write(b"\x93NUMPY\1\0\x76\0" + head.encode() + b"\1\2\3\1" * (64 * max(width, 1)))
    texts = {"d.wel": "0 1 3\n1 2 1\n2 0 5\n2 3 1\n3 4 2\n"}
    texts.update({f"in/raw/{name}.csv": text for name, text in {
        "relations/author___writes___paper/edge": "0,1\n2,1\n2,0\n0,3\n1,2\n", "relations/paper___cites___paper/edge": "3,0\n0,1\n1,1\n2,3\n",
        "node-feat/paper/node-feat": "1,2\n3,4\n5,6\n7,8\n", "node-feat/author/node-feat": "1,2\n3,4\n5,6\n", "num-node-dict": "author,paper\n3,4\n",
        "node-label/paper/node-label": "0\n1\n0\n1\n"}.items()})
    texts.update({f"in/split/time/paper/{name}.csv": text for name, text in {"train": "0\n1\n", "valid": "2\n", "test": "3\n"}.items()})
    for name, text in texts.items():
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    subprocess.run(["gzip", "-r", "in"], cwd=folder, check=True)
    for command in ("generate kron --scale 8 --random-weights 1:9 g.gnr", "generate kron --scale 8 --random-weights-f32 0:1 f.gnr",
                    "convert d.wel d.gnr --directed", "convert in h.json --undirected", "convert x.npy x.gnt"):
        run(command)


def check(program, commands, failures, counts):
    name = os.path.basename(program)
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, HOME=folder, XDG_CACHE_HOME=f"{folder}/.cache")

        def run(command, of=program):
            done = subprocess.run([of, *command.split()], cwd=folder, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                failures.append(f"{os.path.basename(of)} {command}: {done.stderr}")
            return done.stdout

        make_inputs(folder, lambda command: run(command, program.removesuffix("-lab")))
        verbs = run("schema").split()
        # A verb that has --json, and those of garner-lab whose files are JSON.
        written = [verb for verb, text in re.findall(rf"^## {name} (\w+)\n(.*?)(?=^## |\Z)", run("--reference"), re.MULTILINE | re.DOTALL)
                   if "`--json`" in text or "file to write, for garner-lab report" in text]
        if sorted(verbs) != sorted(written) or sorted(verbs) != sorted(commands):
            failures.append(f"{name} schema lists {verbs}; JSON have {written}; this test runs {list(commands)}")
        for verb in verbs:
            schema, seen = json.loads(run(f"schema {verb}") or "false"), set()
            if not schema:
                continue
            for command in commands.get(verb, []):
                to_file = command.endswith("out.json")
                said = run(command if to_file or command.endswith("--json") else command + " --json")
                try:
                    value = json.load(open(f"{folder}/out.json", encoding="utf-8")) if to_file else json.loads(said)
                except ValueError as error:
                    failures.append(f"{name} {command}: {error}")
                    continue
                counts["outputs"] += 1
                wrong = errors_of(value, schema, verb, seen)
                failures += [f"{name} {command}: {error}" for error in wrong]
                if not wrong:
                    for what, bad in spoilt(value):
                        if what.removeprefix("without .") in may_lack.get(verb, []):
                            continue
                        counts["faults"] += 1
                        if not errors_of(bad, schema):
                            failures.append(f"{name} {command}: {what} was not found")
            for key in keys_of(schema, verb):
                if key not in seen and not elsewhere.fullmatch(key):
                    failures.append(f"{name} schema {verb} has {key}, which no command of this test prints")
        counts["verbs"] += len(verbs)
    done = subprocess.run([program, "schema", "nosuch"], capture_output=True, text=True, check=False)
    if done.returncode != 2 or done.stderr.count("\n") != 1 or not all(verb in done.stderr for verb in ["'nosuch'", *verbs]):
        failures.append(f"{name} schema nosuch: {done.returncode} {done.stderr}")


def main(build):
    programs = [(f"{build}/{name}", commands) for name, commands in (("garner", of_garner), ("garner-lab", of_lab)) if os.path.exists(f"{build}/{name}")]
    if not programs:
        print(f"[  SKIPPED ]\nSkipped\nneeds the program, {build}/garner")
        return 77
    failures, counts = [], {"outputs": 0, "verbs": 0, "faults": 0}
    for program, commands in programs:
        check(program, commands, failures, counts)
    print(*failures, sep="\n")
    print(f"{counts['outputs']} outputs of {counts['verbs']} verbs compared with their schemas, {counts['faults']} faults planted in them, {len(failures)} failures")
    return 1 if failures or not counts["faults"] else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
