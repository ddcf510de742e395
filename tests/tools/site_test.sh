#!/bin/bash
# `make docs` builds the site without a warning, and headless Chromium finds nothing to complain about: no broken link, nothing from other
# hosts, no page wider than the screen, light and dark; and tools/check_page fails when there is one. Without Chromium or the packages of
# PyPI this is skipped, visibly.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
garner=${GARNER_PROGRAM:?the program}
build=$(dirname "$garner")
skip() { printf '%s:%s: Skipped\n%s\n[  SKIPPED ] the site in a browser\n' "$0" "$1" "$2"; exit 77; }

# The check itself must be able to fail, for each thing that it says it looks at.
page() {  # FOLDER BODY
  mkdir -p "$work/$1"
  cat > "$work/$1/index.html" <<HTML
<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A page</title><style>
:root { color-scheme: light dark } body { background: #fff; color: #222 }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee } a { color: #9cf } .pale { color: #444 } }
</style></head><body><h1 id="there">Title</h1><p><a href="index.html#there">here</a></p>$2</body></html>
HTML
}
status=0
page sound '<p>Text.</p>'
"$root/tools/check_page" --site "$work/sound" > "$work/said" || status=$?
((status != 77)) || skip $LINENO 'no Chromium to look at the site with (apt-get install chromium)'
((status == 0)) || { cat "$work/said"; exit 1; }
found() {  # WANTED BODY [OPTION...]
  page spoiled "$2"
  status=0
  "$root/tools/check_page" --site "$work/spoiled" "${@:3}" > "$work/said" || status=$?
  [[ $status == 1 ]] && grep -q -- "$1" "$work/said" || { echo "expected '$1' (exit $status) among:"; cat "$work/said"; exit 1; }
}
found '360 px, dark: the page is .* px wide in a window of 360: DIV.wide' '<div class="wide" style="width:600px">wide</div>'
found 'links to gone.html, which is not there' '<a href="gone.html">gone</a>'
found 'links to #gone, which has no such anchor' '<a href="#gone">gone</a>'
found 'links to ../said, which is not there' '<a href="../said">outside</a>'
found 'loads https://example.invalid/a.js, which is outside' '<script src="https://example.invalid/a.js"></script>'
found 'the page loads https://example.invalid/b.js' '<script>document.head.append(Object.assign(document.createElement("script"), {src: "https://example.invalid/b.js"}))</script>'
found 'console: hello' '<script>console.log("hello")</script>'
found "1280 px, dark: P.pale 'Pale': contrast" '<p class="pale">Pale</p>'
found '360 px, dark: the page is light' '<style>body { background: #fff !important; color: #222 !important }</style>'
found 'index.html has no search' '' --search word
found 'the search finds nothing for qqqq' '<label for="q">Search</label><input type="checkbox" id="__search"><input id="q" data-md-component="search-query">' --search qqqq

status=0
"$root/tools/make_site" "$build" > "$work/said" 2> "$work/wrong" || status=$?
((status != 77)) || skip $LINENO "no site to look at: $(tail -n 1 "$work/wrong")"
((status == 0)) || { cat "$work/said" "$work/wrong"; exit 1; }
"$root/tools/check_page" --site "$build/docs/site" --search prefetch
echo "site: every page reads well in a browser; what does not is found"
