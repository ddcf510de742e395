#!/bin/bash
# One place says the version, CMakeLists.txt. The program, the head of the changelog and a tag of this commit, if it has one, must agree;
# tests/package/bare_wheel_test.sh asks the Python package.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's/^project(garner VERSION \([0-9]*\.[0-9]*\.[0-9]*\) .*/\1/p' "$root/CMakeLists.txt")
failed=0
expect() {  # WHAT, IS
  [[ $2 == "$version" ]] || { echo "$1 says '$2', CMakeLists.txt '$version'"; failed=1; }
}
[[ -n $version ]] || { echo "CMakeLists.txt: no project(garner VERSION N.N.N)"; exit 1; }
expect 'garner --version' "$("${GARNER_PROGRAM:?}" --version | awk 'NR == 1 { print $2 }')"
expect 'the first heading of CHANGELOG.md' "$(sed -n 's/^## \([0-9.]*\).*/\1/p' "$root/CHANGELOG.md" | head -1)"
words=$(awk '/^## /{ n++ } n == 1' "$root/CHANGELOG.md" | wc -w)
((words <= 300)) || { echo "the first section of CHANGELOG.md has $words words; a release note has 300 at most"; failed=1; }
while read -r tag; do expect 'the tag of this commit' "${tag#v}"; done < <(git -C "$root" tag --points-at HEAD 2>/dev/null | grep '^v[0-9]' || true)
if ((!failed)); then echo "version: $version everywhere"; fi
exit $failed
