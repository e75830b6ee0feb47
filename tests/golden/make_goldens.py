"""Writes the golden files beside this script. See README.md."""

import argparse
import pathlib

import torch

import curve_cases
import dtype_cases
import half_cases
import layer_cases
import op_cases
import optim_cases
import self_checks
import transformer_cases

GROUPS = {
    "layers": layer_cases,
    "ops": op_cases,
    "transformer": transformer_cases,
    "curve": curve_cases,
    "optim": optim_cases,
    "half": half_cases,
    "dtypes": dtype_cases,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent,
                        help="folder to write to (default: the script's own)")
    out = parser.parse_args().out
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    self_checks.run()
    for name, cases in GROUPS.items():
        path = out / f"{name}.safetensors"
        group = cases.make()
        group.write(path)
        print(f"{path}: {len(group.cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
