#!/usr/bin/env python3
"""memory_figures.py - the tables of docs/memory.md from bench/results/memory.csv.

A table stands between `<!-- figures: NAME -->` and `<!-- end -->`; a figure that the last run did
not have is left empty.
SPDX-License-Identifier: MIT
"""
import os
import re
import sys

sys.dont_write_bytecode = True
from graph_figures import ROOT, rows

RATIOS = ["0.9", "0.7", "0.5", "0.3", "0.2", "0.1"]
# r: mean of all models but chains, worst of them
TARGETS = {"0.9": (1.015, 1.03), "0.7": (1.04, 1.07), "0.5": (1.10, 1.16), "0.3": (1.17, 1.40),
           "0.2": (1.27, 1.36)}
SMALLEST = {"unet_4": 0.28, "resnet_20": 0.11, "resnet_56": 0.11, "transformer_6": 0.13,
            "densenet_40": 0.12, "tree_lstm_fixed": 0.07, "tree_lstm_random": 0.07,
            "lstm_128": 0.11, "lstm_buckets": 0.11}


def models(found):
    names = dict.fromkeys(name.split()[0] for name in found if name.endswith(" pinned"))
    return [n for n in names if not n.startswith("chain_")], \
           [n for n in names if n.startswith("chain_")]


def cell(found, name, digits=2):
    return f"{found[name][0]:.{digits}f}" if name in found else ""


def table(head, lines):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"] + \
           ["| " + " | ".join(line) + " |" for line in lines]


def targets(found):
    lines = []
    for r, (mean, worst) in TARGETS.items():
        have, out = [], []
        for name in models(found)[0]:
            value = found.get(f"{name} r={r} slowdown")
            if value:
                have.append((value[0], name))
            else:
                out.append(name)
        if not have:
            continue
        lines.append([r, f"{sum(v for v, _ in have) / len(have):.3f}", f"{mean}",
                      f"{max(have)[0]:.3f} ({max(have)[1]})", f"{worst}", ", ".join(out)])
    return table(["r", "mean", "target", "worst", "target", "do not fit"], lines)


def slowdowns(found):
    lines = [[name, cell(found, f"{name} step without a budget", 0), cell(found, f"{name} peak", 0),
              cell(found, f"{name} pinned", 0)] +
             [cell(found, f"{name} r={r} slowdown") for r in RATIOS] for name in models(found)[0]]
    return table(["model", "step, ms", "peak, MB", "pinned, MB"] + RATIOS, lines)


def smallest(found):
    lines = [[name, cell(found, f"{name} smallest r at twice the time"),
              f"{SMALLEST[name]:.2f}" if name in SMALLEST else "",
              cell(found, f"{name} smallest r tried that fits"),
              cell(found, f"{name} lower bound"), cell(found, f"{name} segments peak"),
              cell(found, f"{name} segments slowdown")]
             for name in models(found)[0] + models(found)[1]]
    return table(["model", "smallest r at twice the time", "target", "smallest r that fits",
                  "lower bound", "sqrt(n) regions: r", "slowdown"], lines)


def shares(found):
    lines = []
    for name in models(found)[0]:
        line = [name]
        for r in ("0.5", "0.3"):
            line += [cell(found, f"{name} r={r} {figure}") for figure in
                     ("share recompute", "share moves", "share bookkeeping", "first step")]
        lines.append(line)
    figures = ["again", "moves", "rest", "first step"]
    return table(["model"] + [f"{r}: {f}" for r in ("0.5", "0.3") for f in figures], lines)


def chains(found):
    lines = []
    for name in models(found)[1]:
        for r in RATIOS:
            if f"{name} r={r} slowdown" in found:
                at = f"{name} r={r}"
                lines.append([name, r, cell(found, f"{at} operations run again", 0),
                              cell(found, f"{at} optimum of that", 0),
                              cell(found, f"{at} recompute over optimum", 3),
                              cell(found, f"{at} time over optimum", 3)])
    return table(["chain", "r", "operations run again", "least possible", "time by count, over the least",
                  "time measured, over the least"], lines)


def prices(found):
    lines = [[re.sub("^budget without pressure, ", "", name), f"{value:.0f}"]
             for name, (value, unit) in found.items() if unit == "ns/op"]
    return table(["operands", "ns per operation"], lines)


def main():
    found = rows("memory")
    tables = {"targets": targets, "slowdowns": slowdowns, "smallest": smallest, "shares": shares,
              "chains": chains, "prices": prices}
    path = os.path.join(ROOT, "docs", "memory.md")
    with open(path) as f:
        text = f.read()
    for name, make in tables.items():
        text, n = re.subn(rf"(<!-- figures: {name} -->\n).*?(<!-- end -->)",
                          lambda m: m[1] + "\n".join(make(found)) + "\n" + m[2], text, flags=re.S)
        if n != 1:
            raise SystemExit(f"docs/memory.md has {n} tables '{name}'")
    with open(path, "w") as f:
        f.write(text)


if __name__ == "__main__":
    main()
