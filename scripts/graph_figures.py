#!/usr/bin/env python3
"""graph_figures.py - the tables of docs/graph.md from bench/results/graph.csv and threads.csv.

A table stands between `<!-- figures: NAME -->` and `<!-- end -->`; a figure that the last run did
not have is left empty.
SPDX-License-Identifier: MIT
"""
import csv
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHAPES = ["dropped unroll with metrics", "fan of held children", "leaves used newest first",
          "leaves used oldest first"]


def rows(name):
    path = os.path.join(ROOT, "bench", "results", name + ".csv")
    if not os.path.exists(path):
        return {}
    with open(path, newline="") as f:
        return {row["name"]: (float(row["value"]), row["unit"]) for row in csv.DictReader(f)}


def number(found, name):
    if name not in found:
        return ""
    value = found[name][0]
    return f"{value:,.0f}" if value < 1000 else f"{float(f'{value:.2g}'):,.0f}"


def others(graph):
    lines = ["| others alive | with locks | single-threaded | classical manager |", "|---|---|---|---|"]
    for size in ["0"] + [f"1e{k}" for k in range(4, 8)]:
        cells = [number(graph, f"{kind}, {size} others")
                 for kind in ("graph, with locks", "graph, single-threaded", "classical manager")]
        lines.append(f"| {int(float(size)):,} | " + " | ".join(cells) + " |")
    return lines


def shapes(graph):
    sizes = [f"1e{k}" for k in range(2, 7)]
    lines = ["| shape | | " + " | ".join(f"{int(float(s)):,}" for s in sizes) + " |",
             "|---" * (len(sizes) + 2) + "|"]
    for shape in SHAPES:
        for kind, word in (("graph", "here"), ("classical manager", "classical")):
            cells = [number(graph, f"{kind}, {shape}, {size}") for size in sizes]
            lines.append(f"| {shape} | {word} | " + " | ".join(cells) + " |")
    return lines


def threads(graph, engine):
    lines = ["| what | two threads over one |", "|---|---|"]
    for found in (graph, engine):
        for name, (value, unit) in found.items():
            if unit in ("times", "x one"):
                what = re.sub(r"^graph, two threads over one, |, two threads$", "", name)
                lines.append(f"| {what} | {value:.2f} |")
    return lines


def main():
    graph, engine = rows("graph"), rows("threads")
    tables = {"others": others(graph), "shapes": shapes(graph), "threads": threads(graph, engine)}
    path = os.path.join(ROOT, "docs", "graph.md")
    with open(path) as f:
        text = f.read()
    for name, lines in tables.items():
        text, n = re.subn(rf"(<!-- figures: {name} -->\n).*?(<!-- end -->)",
                          lambda m: m[1] + "\n".join(lines) + "\n" + m[2], text, flags=re.S)
        if n != 1:
            raise SystemExit(f"docs/graph.md has {n} tables '{name}'")
    with open(path, "w") as f:
        f.write(text)


if __name__ == "__main__":
    main()
