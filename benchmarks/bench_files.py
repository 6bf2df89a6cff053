"""Saving and loading, on tensorlab and on PyTorch in turns, as ratios of time.

    python benchmarks/bench_files.py [--mb 1000] [--rounds 5] [--folder DIR]

`save` here writes to a second file, waits until the disk has it, and renames it, with checksums inside; PyTorch's
returns when the system has taken the bytes. So there are two rows for saving: as a program calls it, and with the same
wait (`os.fsync`) after PyTorch's.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

from comparing import modules


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def synced(save):
    """Return PyTorch's save with a wait for the disk."""

    def save_and_wait(value, path):
        save(value, path)
        with open(path, "rb+") as file:
            os.fsync(file.fileno())

    return save_and_wait


def show(name, ratios, ours):
    middle, spread = statistics.median(ratios), f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"{name:34} {statistics.median(ours):8.3f} s  {middle:6.2f}  ({spread})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--folder", help="where to write; the system's folder for temporary files unless given"
    )
    args = parser.parse_args()
    T, torch = modules(2)
    count = args.mb * 1_000_000 // 16
    values = [{f"{i}": M.ones(count) for i in range(4)} for M in (T, torch)]
    saves = {"save": torch.save, "save, both wait for the disk": synced(torch.save)}
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        files = [Path(folder, name) for name in ("ours.pt", "theirs.pt")]
        print(f"{'':34} {'ours':>8}    ratio")
        for name, theirs in saves.items():
            ratios, ours = [], []
            for _ in range(args.rounds):
                os.sync()
                ours.append(seconds(lambda: T.save(values[0], files[0])))
                os.sync()
                ratios.append(ours[-1] / seconds(lambda save=theirs: save(values[1], files[1])))
            show(name, ratios, ours)
        for name, options in {"load": {}, "load, mmap=True": {"mmap": True}}.items():
            ratios, ours = [], []
            for _ in range(args.rounds):
                ours.append(seconds(lambda o=options: T.load(files[0], **o)))
                ratios.append(ours[-1] / seconds(lambda o=options: torch.load(files[1], **o)))
            show(name, ratios, ours)
        small = Path(folder, "small.pt")
        T.save({f"{i}": T.ones(10) for i in range(4)}, small)
        times = [
            min(seconds(lambda p=path: T.load(p, mmap=True)) for _ in range(9))
            for path in (small, files[0])
        ]
        print(
            f"{'mmap: this file and one of 160 bytes':34} {times[1] * 1e3:.2f} and {times[0] * 1e3:.2f} ms"
        )


if __name__ == "__main__":
    main()
