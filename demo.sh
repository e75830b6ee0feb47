#!/usr/bin/env bash
# Installs what is missing, builds the program, trains a small model for a few minutes and writes
# with it. `./demo.sh FOLDER` keeps the run in FOLDER instead of runs/demo.
set -eu
cd "$(dirname "$0")"
. .ci/setup.sh

run=${1:-runs/demo}
tapir=build/release/tapir

setup_packages "${build_packages[@]}"
echo "demo: building (some minutes the first time)"
build release tapir_program

# Tokens of several letters let a small model see a whole story at once.
"$tapir" train --out "$run" --overwrite --tokenizer bpe:2048 --corpus-bytes 16000000 --steps 3000 \
  --batch 8 --context 128 --lr 6e-3 --min-lr 3e-5 --eval-every 500
"$tapir" plot "$run"
"$tapir" generate "$run" --prompt "Once upon a time" --tokens 300 --temperature 0.8 --seed 1 --overlap

cat <<END

What next:
  $tapir generate $run --prompt "The little"     # write more
  $tapir train --resume $run --steps 6000        # train on
  $tapir train --data book.txt --out runs/book   # train on your own text
  $tapir train --help
END
