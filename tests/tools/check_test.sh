#!/bin/bash
# tools/check must count what ctest ran, use why tests were skipped, and fail when one failed or none ran.
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

# A program of several cases counts as these, and as failed when it ends badly after them; one that ends before it could write counts once.
cat > "$work/program" <<'PROGRAM'
#!/bin/bash
mkdir -p "$1/tests/results"
cat > "$1/tests/results/$2.xml" <<XML
<testsuites><testsuite name="s"><testcase name="good" classname="s" status="run" result="completed"/>
<testcase name="no_gpu" classname="s" status="run" result="skipped"><skipped message="/x/y_test.cpp:7&#x0A;needs a GPU: none"/></testcase>
<testcase name="never" classname="s" status="notrun" result="suppressed"/>$3</testsuite></testsuites>
XML
exit $4
PROGRAM
chmod +x "$work/program"
cat > "$work/CTestTestfile.cmake" <<TESTS
add_test(all_good "$work/program" "$work" all_good "" 0)
TESTS
closes "1 passed, 0 failed, 1 skipped" 0
cat >> "$work/CTestTestfile.cmake" <<TESTS
add_test(one_bad "$work/program" "$work" one_bad "<testcase name='bad' classname='s' status='run'><failure/></testcase>" 1)
add_test(leaks "$work/program" "$work" leaks "" 23)
add_test(dies "bash" "-c" "kill -9 \$\$")
TESTS
closes "3 passed, 3 failed, 3 skipped" 1
grep -qx "failed: one_bad.s.bad" "$work/said"
grep -qx "failed: leaks" "$work/said"
grep -qx "failed: dies" "$work/said"

: > "$work/CTestTestfile.cmake"
closes "0 passed, 0 failed, 0 skipped" 1
echo "check: counts, reasons and exit status as documented"
