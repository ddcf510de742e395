"""Where, when and by what figures were measured: the five fields that every JSON under docs/benchmarks has, for all tools that write one.

  COMMAND="STEPS=growth tools/prove_gpu" python3 tools/provenance.py FILE [AT [DEVICE]]     adds them to a JSON; a list becomes its "rows"

`device`: the card's name; `driver`: nvidia-smi's version, null without a GPU; `date`; `commit`: of what was measured; `command`: as it was typed.
"""
import datetime
import json
import os
import pathlib
import shlex
import subprocess
import sys

fields = ("device", "driver", "date", "commit", "command")


def told(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def commit_of(at):
    """COMMIT, or what the file `commit` of the bundle says that has `at` in it, or git of the folder that has; else None."""
    if os.environ.get("COMMIT"):
        return os.environ["COMMIT"]
    at = pathlib.Path(os.path.abspath(at or __file__))
    for folder in (at, *at.parents):
        if (folder / "commit").is_file():
            return (folder / "commit").read_text().strip()
        if (folder / ".git").exists():
            git = ("git", "-C", str(folder))
            found = told(*git, "rev-parse", "HEAD")
            return found + "-dirty" * bool(told(*git, "status", "--porcelain", "-uno")) if found else None
    return None


def command_of(settings=()):
    """COMMAND, or this process's own, with those of `settings` that are in the environment."""
    said = [f"{name}={shlex.quote(os.environ[name])}" for name in settings if name in os.environ]
    return os.environ.get("COMMAND") or " ".join([*said, "tools/" + os.path.basename(sys.argv[0]), *map(shlex.quote, sys.argv[1:])])


def provenance(at=None, device=None, settings=()):
    """The five fields. `at`: the bundle, build or program; `device`: "cpu" or "simulated", else the GPUs are named."""
    gpu = device not in ("cpu", "simulated")
    cards = [line.split(", ") for line in told("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").splitlines()] if gpu else []
    name = cards[0][0] + (f", {len(cards)} of them" if len(cards) > 1 else "") if cards else f"none: device {'cpu' if gpu else device}"
    return {"device": name, "driver": cards[0][1] if cards else None, "date": datetime.date.today().isoformat(), "commit": commit_of(at),
            "command": command_of(settings)}


if __name__ == "__main__":
    file, *more = sys.argv[1:]
    with open(file, encoding="utf-8") as text:
        found = json.load(text)
    with open(file, "w", encoding="utf-8") as to:
        json.dump({**provenance(*more), **(found if isinstance(found, dict) else {"rows": found})}, to, indent=1)
        to.write("\n")
