"""python -m garner: the program that lies in this package, as `garner` on PATH runs it too (python/program)."""
import os
import sys

_program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "garner")
if not os.path.exists(_program):
    sys.exit(f"garner: this installation has no program: {_program} is not there; install the package again: "
             "pip install --force-reinstall garner-graph")
os.environ.setdefault("GARNER_PYTHON", sys.executable)  # whose packages `garner doctor` reports
os.execv(_program, ["garner", *sys.argv[1:]])
