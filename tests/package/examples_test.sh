#!/bin/bash
# Installs a build into a folder of its own, finds it there with find_package, compiles the examples against include/garner alone, runs them.
#   tests/package/examples_test.sh BUILD [FLAGS of a sanitizer, separated by ;]
set -euo pipefail
build=$1 flags=${2:-} here=$(cd "$(dirname "$0")/../.." && pwd)
flags=${flags//;/ }
skip() { printf '[  SKIPPED ]\nSkipped\nneeds %s\n' "$1"; exit 77; }
command -v cmake > /dev/null || skip cmake
at=$(mktemp -d)
trap 'rm -rf "$at"' EXIT

cmake --install "$build" --prefix "$at/prefix" > "$at/log" || { cat "$at/log"; exit 1; }
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
cp -r "$here/examples" "$at/examples"  # so that nothing of the sources lies beside it
mv "$at/prefix" "$at/elsewhere"        # and the installed folder can be moved
{ cmake -S "$at/examples" -B "$at/build" -DCMAKE_PREFIX_PATH="$at/elsewhere" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_BUILD_TYPE=Release && cmake --build "$at/build" --parallel 2; } > "$at/log" 2>&1 || { cat "$at/log"; exit 1; }

failed=0
expect() {  # WHAT, EXPECTED, IS
  [[ $2 == "$3" ]] || { printf '%s: expected\n%s\nbut it is\n%s\n' "$1" "$2" "$3"; failed=1; }
}
library=$at/elsewhere/lib/libgarner.so
if [[ -e $library ]]; then
  version=$(sed -n 's/^project(garner VERSION \([0-9]*\.[0-9]*\).*/\1/p' "$here/CMakeLists.txt")
  expect 'the library is found by its version' "libgarner.so.$version" "$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')"
  expect 'and is there under it' yes "$([[ -e $library.$version ]] && echo yes)"
  # Names of std, fmt and others are its own affair: another library of the process may have other versions of these.
  [[ -n $flags ]] || expect 'it exports names of garner alone' '' "$(nm -D --defined-only "$library" | awk '$NF !~ /^_Z(T[ISVTC]|Th[n0-9]+_|GV|Z)*NK?6garner/ { print $NF }' | head -5)"
fi
for file in man/man1/garner.1 bash-completion/completions/garner zsh/site-functions/_garner; do
  [[ -s $at/elsewhere/share/$file ]] || expect "share/$file" 'a file with text' 'none'
done
program=$at/elsewhere/bin/garner examples=$at/build
printf '0 1\n0 2\n1 3\n3 4\n9 8\n' > "$at/tree.el"
"$program" convert "$at/tree.el" "$at/tree.gnr" --in-edges > /dev/null
"$program" reorder "$at/tree.gnr" "$at/random.gnr" --by random > /dev/null
tree='reached 5 of 10 vertices, depth 3
0: 0
1: 1
2: 1
3: 2
4: 3
5: not reached
6: not reached
7: not reached
8: not reached
9: not reached'
expect bfs_file "$tree" "$("$examples/bfs_file" "$at/tree.gnr" 0)"
expect 'bfs_file, reordered and simulated' "$tree" "$("$examples/bfs_file" "$at/random.gnr" 0 simulated)"
expect 'bfs_file, no such vertex' "vertex 10 does not exist in $at/tree.gnr; ids go from 0 to 9
= 1" "$("$examples/bfs_file" "$at/tree.gnr" 10 2>&1 || echo "= $?")"
top=$("$examples/pagerank_top" "$at/tree.el")
expect pagerank_top "$top" "$("$examples/pagerank_top" "$at/tree.gnr")"
expect 'pagerank_top, first' '4 ' "$(sed -n 2p <<< "$top" | cut -c1-2)"
expect 'pagerank_top, lines' 11 "$(wc -l <<< "$top")"
expect sssp_edges '10 to 10: 0.0 h, by 10
10 to 20: 1.5 h, by 10
10 to 30: 2.0 h, by 20
10 to 40: 3.0 h, by 30
40 to 10: 3.0 h, by 20
40 to 20: 1.5 h, by 30
40 to 30: 1.0 h, by 40
40 to 40: 0.0 h, by 40' "$("$examples/sssp_edges")"
expect gather_rows 'host: 1000 rows of 512 bytes in host memory, where they were
order none: 999 3 500 3 950' "$("$examples/gather_rows" 2> "$at/said")"
expect 'gather_rows, a bad id' 'id -1 at position 1: this table has rows 0 to 999' "$(cat "$at/said")"
expect 'gather_rows, simulated' \
  'simulated: of 1000 rows of 512 bytes 100 (50.0 KiB) lie here, 900 (450.0 KiB) in host memory; the hottest by score are near (3.9 KiB of ranks)
order sorted: 999 3 500 3 950' "$("$examples/gather_rows" simulated 2> "$at/said")"
for device in cpu simulated; do
  expect "load_batches, $device" 'mini-batch 0: 100 seeds, two hops: more vertices
mini-batch 1: 100 seeds, two hops: more vertices
mini-batch 2: 100 seeds, two hops: more vertices
rows that are not their vertex'"'"'s: 0' "$("$examples/load_batches" $device)"
done
if grep -rlE '#include.*(fmt|nlohmann|cuda|"(core|memory|comm|storage|access|graph|features|sample|load|traverse|bench)/)' "$at/elsewhere/include"; then
  echo 'these installed headers include what is not installed'
  failed=1
fi
exit $failed
