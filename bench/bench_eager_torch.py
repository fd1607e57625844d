"""bench_eager_torch.py - the programs of bench_eager.c under PyTorch.

SPDX-License-Identifier: MIT"""
import peer

CHAIN, RUNS = 10000, 9


def chain(torch, both):
    x = torch.full((1,), 1.0001, requires_grad=True)
    c = x if both else torch.full((1,), 1.0001)
    y = x
    start = peer.now()
    for _ in range(CHAIN):
        y = y * c
    middle = peer.now()
    y.backward()
    end = peer.now()
    return (middle - start) * 1e9 / CHAIN, (end - middle) * 1e9 / CHAIN


def main():
    rows = peer.Rows("eager_torch")
    torch = peer.torch_or_none()
    if torch is None:
        rows.absent("eager torch")
        return
    for name, both in (("y=y*c", False), ("y=y*x", True)):
        runs = [chain(torch, both) for _ in range(RUNS + 2)][2:]
        rows.row(f"eager torch {name} forward", [r[0] for r in runs], "ns/op", True)
        rows.row(f"eager torch {name} backward", [r[1] for r in runs], "ns/op", True)


main()
