#!/bin/bash
# tools/install_deps against a stand-in system: fake dpkg-query, apt-get, id and sudo that record their arguments.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
cat > "$work/bin/dpkg-query" <<'FAKE'
#!/bin/bash
package=${!#}
if [[ " $FAKE_MISSING " == *" $package "* || $FAKE_MISSING == all ]]; then exit 1; fi
printf installed
FAKE
printf '#!/bin/bash\necho "$FAKE_UID"\n' > "$work/bin/id"
printf '#!/bin/bash\necho "$DEBIAN_FRONTEND apt-get $*" >> "$FAKE_LOG"\n' > "$work/bin/apt-get"
printf '#!/bin/bash\necho "sudo" >> "$FAKE_LOG"; exec "$@"\n' > "$work/sudo"
chmod +x "$work"/bin/* "$work/sudo"
for tool in bash env; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
printf 'ID=debian\nVERSION_ID="12"\n' > "$work/debian"
printf 'ID=ubuntu\nVERSION_ID="24.04"\n' > "$work/ubuntu"
export FAKE_LOG=$work/log FAKE_MISSING= FAKE_UID=0 GARNER_OS_RELEASE=$work/debian
unset YES CI

# try STATUS [ENV=VALUE ...] -- [ARGUMENTS]: runs it with no terminal and only the fakes on PATH
try() {
  local want=$1 status=0 settings=()
  shift
  while [[ $1 != -- ]]; do settings+=("$1"); shift; done
  shift
  : > "$FAKE_LOG"
  env PATH="$work/bin" "${settings[@]}" bash "$root/tools/install_deps" "$@" > "$work/said" 2>&1 < /dev/null || status=$?
  if [[ $status != "$want" ]]; then echo "exit $status, expected $want, with ${settings[*]} -- $*"; cat "$work/said"; exit 1; fi
}
expect() { grep -qF -- "$2" "$1" || { echo "expected '$2' in:"; cat "$1"; exit 1; }; }
untouched() { [[ ! -s $FAKE_LOG ]] || { echo "something was touched:"; cat "$FAKE_LOG"; exit 1; }; }

try 0 --                                     # all there: silent, nothing touched, not even the lists
untouched
[[ ! -s $work/said ]] || { echo "it spoke:"; cat "$work/said"; exit 1; }
try 0 -- --all
untouched

try 0 FAKE_MISSING="libfmt-dev cmake" --     # root without a terminal: names them, one update, one install
expect "$work/said" "missing packages: cmake libfmt-dev"
[[ $(cat "$FAKE_LOG") == "noninteractive apt-get update -q
noninteractive apt-get install -y --no-install-recommends cmake libfmt-dev" ]] || { cat "$FAKE_LOG"; exit 1; }

try 1 FAKE_UID=1000 FAKE_MISSING=cmake --    # neither root nor sudo: the one line to run
untouched
expect "$work/said" "apt-get update && apt-get install -y --no-install-recommends cmake"

cp "$work/sudo" "$work/bin/sudo"
try 1 FAKE_UID=1000 FAKE_MISSING=cmake --    # sudo, but nobody to ask
untouched
expect "$work/said" "YES=1"
for setting in YES=1 CI=true; do
  try 0 FAKE_UID=1000 FAKE_MISSING=cmake $setting --
  expect "$FAKE_LOG" "sudo"
  expect "$FAKE_LOG" "install -y --no-install-recommends cmake"
done

try 0 FAKE_MISSING=all -- --all
expect "$FAKE_LOG" "clang-14 libclang-rt-14-dev clang-format-14 chromium"
try 0 FAKE_MISSING=all GARNER_OS_RELEASE="$work/ubuntu" -- --all
expect "$FAKE_LOG" "clang-18 libclang-rt-18-dev clang-format-14"

rm "$work/bin/apt-get"                       # another kind of system: one line, and the build goes on
try 0 FAKE_MISSING=all --
[[ $(wc -l < "$work/said") == 1 ]]
expect "$work/said" "not a Debian or Ubuntu system"
try 2 -- --frobnicate
echo "install_deps: every branch as documented"
