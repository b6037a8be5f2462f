#!/usr/bin/env python3
"""In how many random full clusters does a job within its guarantee start at once?

Each world has four nodes that are full of jobs of three QOS, two of them with guarantees, and one job of a fourth QOS
that is within its own. A world is a scenario; `gangway simulate` plans it. Several programs can be named, and are
given the same worlds: an earlier build beside this one.

    bench/guarantee_worlds.py --worlds 400 build/release/bin/gangway EARLIER/bin/gangway
"""

import argparse
import pathlib
import random
import subprocess
import tempfile

KINDS = {
    "one": ("one node", "gpus_per_task: 8"),
    "gang": ("two nodes", "nodes: 2, gpus_per_node: 8"),
    "sizes": ("one node, of nodes of several sizes", "gpus_per_task: 8"),
    "leaf": ("two nodes below one switch", "nodes: 2, gpus_per_node: 8, locality: leaf"),
}
NETWORK = """network:
  - {switch: l0, nodes: "n[0-1]"}
  - {switch: l1, nodes: "n[2-3]"}
  - {switch: b, switches: "l[0-1]"}
"""


def guarantees(dice, total, least):
    """Of the QOS a, b and c; that of b, whose job waits, is at least so large."""
    low, high = sorted(dice.sample(range(total + 1), 2))
    a, b, c = low, high - low, total - high
    if b >= least:
        return a, b, c
    rest = total - least
    a = dice.randint(0, rest)
    return a, least, rest - a if dice.random() < 0.5 else dice.randint(0, rest - a)


def world(kind, seed):
    dice = random.Random(f"{kind}{seed}")
    sizes = [8] * 4
    if kind == "sizes":
        sizes = [dice.choice([2, 4, 8]) for _ in sizes]
        if 8 not in sizes:
            sizes[0] = 8
    of_a, of_b, of_c = guarantees(dice, sum(sizes), 16 if kind in ("gang", "leaf") else 8)
    jobs = []
    for node, free in enumerate(sizes):
        while free > 0:
            gpus = min(free, dice.choice([1, 1, 2, 2, 4, 4, 8]))
            qos = dice.choice(["a", "a", "c", "d"])
            jobs.append(f"  - {{name: j{len(jobs)}, qos: {qos}, state: running, at: [n{node}], gpus_per_task: {gpus}, "
                        f"started: -{dice.randint(1, 600)}m}}\n")
            free -= gpus
    nodes = "".join(f"  - {{name: n{i}, gpus: {size}}}\n" for i, size in enumerate(sizes))
    return (f"name: w\npolicy: {{grace: 0s, reclaim: guaranteed}}\nnodes:\n{nodes}{NETWORK if kind == 'leaf' else ''}"
            f"qos: [{{name: a, guaranteed: {{gpu: {of_a}}}}}, {{name: b, guaranteed: {{gpu: {of_b}}}}}, "
            f"{{name: c, guaranteed: {{gpu: {of_c}}}}}, {{name: d}}]\n"
            f"jobs:\n{''.join(jobs)}  - {{name: x, qos: b, {KINDS[kind][1]}}}\n"
            "until: 1m\nexpect:\n  x: {state: running}\n")


def started(program, worlds):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "worlds.yaml")
        path.write_text("---\n".join(worlds), encoding="utf-8")
        out = subprocess.run([program, "simulate", "--scenario", str(path)], capture_output=True, text=True, check=False)
    count = sum(line.endswith(": w: as expected") for line in out.stdout.splitlines())
    told = sum(": w: " in line for line in out.stdout.splitlines())
    if told != len(worlds):
        raise SystemExit(f"{program} told of {told} of {len(worlds)} worlds: {out.stderr}")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=400)
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args()
    for kind, (words, _) in KINDS.items():
        worlds = [world(kind, seed) for seed in range(options.worlds)]
        counts = [started(program, worlds) for program in options.programs]
        print(f"{words}: {', '.join(map(str, counts))} of {options.worlds}", flush=True)


if __name__ == "__main__":
    main()
