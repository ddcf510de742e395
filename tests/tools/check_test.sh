#!/bin/bash
# tools/check must count what ctest ran, say why tests were skipped, and fail when one failed or none ran.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip='printf "/x/y_test.cpp:7: Skipped\\nno GPU here\\n\\n[  SKIPPED ] x\\n"'

# closes LAST-LINE STATUS: the closing line and the exit status of a run over $work
closes() {
  local status=0
  "$root/tools/check" "$work" > "$work/said" 2>&1 < /dev/null || status=$?
  [[ $(tail -n 1 "$work/said") == "$1" && $status == "$2" ]] || { echo "expected '$1' and exit $2, got exit $status and:"; cat "$work/said"; exit 1; }
}
cat > "$work/CTestTestfile.cmake" <<TESTS
add_test(good "true")
add_test(device "bash" "-c" [[$skip]])
set_tests_properties(device PROPERTIES SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]")
TESTS
closes "1 passed, 0 failed, 1 skipped" 0
grep -qx "skipped: 1 need a GPU (none here)" "$work/said"

cat >> "$work/CTestTestfile.cmake" <<TESTS
add_test(bad "false")
add_test(absent "/nowhere/at/all")
TESTS
closes "1 passed, 2 failed, 1 skipped" 1
grep -qx "failed: bad" "$work/said"

: > "$work/CTestTestfile.cmake"
closes "0 passed, 0 failed, 0 skipped" 1
echo "check: counts, reasons and exit status as documented"
