"""peer.py - rows of a rival's benchmark: printed, and written to bench/results/NAME.csv.

SPDX-License-Identifier: MIT"""
import os
import statistics
import time

for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(name, None)


class Rows:
    def __init__(self, name):
        os.makedirs("bench/results", exist_ok=True)
        self.file = open(f"bench/results/{name}.csv", "w")
        self.file.write("name,value,unit,n,spread\n")

    def row(self, name, runs, unit, best):
        value = (min if best else statistics.median)(runs)
        spread = (max(runs) - min(runs)) / value if value else 0
        print(f"{name:<52} {value:12.4g} {unit:<10} n={len(runs)} spread={spread:.2f}")
        self.file.write(f'"{name}",{value:.6g},{unit},{len(runs)},{spread:.3f}\n')
        self.file.flush()

    def absent(self, what):
        print(f"{what}: PyTorch cannot be imported here")
        self.file.write(f'"{what}",nan,absent,0,0\n')


def torch_or_none():
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(os.cpu_count())
    return torch


now = time.perf_counter
