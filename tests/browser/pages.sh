#!/usr/bin/env bash
# pages.sh PROGRAM FOLDER: opens the pages that the program writes in headless Chromium, where they
# drive themselves (#selftest), and takes screenshots in FOLDER. Skipped (exit status 77) where
# Chromium is not installed.
set -u
program=$1 out=$2
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
  echo "pages: skipped, chromium is not installed" >&2
  exit 77
}
rm -rf "$out"
mkdir -p "$out"
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
status=0
fail() { echo "pages: $1" >&2; status=1; }

# open_page ARGUMENT...: the browser's standard output; its messages go to messages.txt.
open_page() {
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --disable-background-networking --user-data-dir="$profile" --hide-scrollbars \
    --virtual-time-budget=20000 --enable-logging=stderr --v=0 "$@" 2> "$out/messages.txt"
}

# check NAME: no console errors, every check of the page itself passed.
check() {
  local dom
  dom=$(open_page --window-size=1280,1000 --dump-dom "file://$out/$1.html#selftest")
  if grep -E 'CONSOLE.*(Error|error|Uncaught)' "$out/messages.txt"; then
    fail "$1.html has console errors"
  fi
  grep -o '<output id="selftest"[^<]*<' <<< "$dom" | sed 's/.*>\(.*\)</'"$1: "'\1/'
  grep -q '<output id="selftest"[^>]*>passed' <<< "$dom" || fail "$1.html failed its own checks"
}

# shoot NAME VARIANT SIZE ARGUMENT...: a screenshot, which must be more than one flat colour.
shoot() {
  local name=$1 variant=$2 size=$3
  shift 3
  open_page --window-size="$size" "$@" --screenshot="$out/$name-$variant.png" \
    "file://$out/$name.html" > /dev/null
  local bytes
  bytes=$(stat -c %s "$out/$name-$variant.png" 2> /dev/null || echo 0)
  [ "$bytes" -gt 20000 ] || fail "the screenshot $name-$variant.png has only $bytes bytes"
}

text=$out/text.txt
for i in $(seq 60); do echo "The <script>alert($i)</script> & the cat sat on mat $i."; done > "$text"
train() {
  "$program" train --data "$text" --layers 2 --heads 2 --d-model 16 --context 24 --batch 4 \
    --steps 30 --eval-every 10 --eval-batches 2 --sample-every 10 --sample-tokens 30 --threads 1 \
    --out "$@" > "$out/train.txt" 2>&1 || fail "training failed: $(tail -1 "$out/train.txt")"
}
train "$out/first"
train "$out/second" --lr 5e-3 --ffn gelu
"$program" inspect "$out/first" --prompt 'The <script>alert(1)</script> & cat' --composed \
  --html "$out/inspect.html" > "$out/inspect.txt" 2>&1 || fail "inspect failed"
"$program" inspect TransformerLM --layers 12 --heads 12 --d-model 192 --html "$out/deep.html" > /dev/null 2>&1 ||
  fail "inspect of twelve layers failed"
"$program" report "$out/first" "$out/second" --out "$out/overlay.html" 2> /dev/null ||
  fail "report failed"
cp "$out/first/report.html" "$out/report.html"
for page in inspect deep report overlay; do check "$page"; done
for page in inspect overlay; do
  shoot $page light 1280,2600 --blink-settings=preferredColorScheme=1
  shoot $page dark 1280,2600 --blink-settings=preferredColorScheme=0
  shoot $page phone 500,2600 --blink-settings=preferredColorScheme=1
done
rm -rf "$out/first" "$out/second"
exit $status
