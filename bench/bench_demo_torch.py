"""bench_demo_torch.py - the network of bench_demo.c under PyTorch.

SPDX-License-Identifier: MIT"""
import resource

import peer

BATCH, STEPS, RUNS = 128, 20, 9


def main():
    rows = peer.Rows("demo_torch")
    torch = peer.torch_or_none()
    if torch is None:
        rows.absent("demo network torch")
        return
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Dropout(0.25), nn.Linear(64 * 7 * 7, 10))
    adam = torch.optim.Adam(model.parameters(), 1e-3)
    x, y = torch.rand(BATCH, 1, 28, 28), torch.arange(BATCH) % 10
    train, infer = [], []
    for i in range(RUNS + 1):
        model.train()
        start = peer.now()
        for _ in range(STEPS):
            adam.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            adam.step()
        middle = peer.now()
        model.eval()
        with torch.no_grad():
            for _ in range(STEPS):
                model(x)
        if i:
            train.append(BATCH * STEPS / (middle - start))
            infer.append(BATCH * STEPS / (peer.now() - middle))
    rows.row("demo network torch training", train, "images/s", False)
    rows.row("demo network torch inference", infer, "images/s", False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    rows.row("demo network torch process peak", [peak], "bytes", False)


main()
