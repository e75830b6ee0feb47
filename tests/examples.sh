#!/usr/bin/env bash
# examples.sh BUILD PROGRAM: runs the programs of docs/examples, each of which ends with status 0
# only if it found what it should.
set -eu
build=$1 program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$build/example_mlp"
"$build/example_custom_op"
"$build/example_custom_layer"
"$build/example_gradient_hooks"
"$build/example_train_transformer" "$folder/tape.safetensors"

for i in $(seq 60); do echo "The cat number $i sat on the mat."; done > "$folder/text.txt"
"$program" train --data "$folder/text.txt" --layers 1 --heads 2 --d-model 16 --context 16 \
  --batch 4 --steps 10 --eval-every 0 --sample-every 0 --threads 1 --out "$folder/run" > /dev/null
weights=$folder/run/checkpoints/last/model.safetensors
"$build/example_generate" "$weights" 2 16 "The cat"
if "$build/example_generate" "$folder/none" 2 16 "The cat" 2> "$folder/errors.txt"; then
  echo "examples: a missing checkpoint went unnoticed" >&2
  exit 1
fi
grep -q none "$folder/errors.txt"
