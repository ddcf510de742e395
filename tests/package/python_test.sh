#!/bin/bash
# Runs one file of python/tests against the wheel that wheel_test.sh installed.
#   tests/package/python_test.sh BUILD FILE
set -euo pipefail
build=$(cd "$1" && pwd) file=$(realpath "$2")
skip() { printf '[  SKIPPED ]\nSkipped\n%s\n' "$1"; exit 77; }
[[ -e $build/python/ready ]] || skip 'needs the wheel; the test that builds it says why it is missing'
cd "$build/python"  # nothing of the sources lies beside it
status=0
said=$(PYTHONPATH= GARNER_PROGRAM=${GARNER_PROGRAM:-$build/garner} venv/bin/python -X faulthandler "$file" -v 2>&1) || status=$?
printf '%s\n' "$said"
((status == 0)) || exit "$status"
# All skipped is a skip; the reasons of single ones stand in the output above.
if ! grep -q '\.\.\. ok$' <<< "$said"; then
  skip "$(sed -n "s/.*skipped [\"']\(.*\)[\"']$/\1/p" <<< "$said" | head -1)"
fi
