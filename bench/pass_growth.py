#!/usr/bin/env python3
"""How the cost of a pass grows over nodes, jobs and classes: a Markdown table with times (one plain run) and the
instructions spent in plan() (one run under callgrind, which counts the same whatever else the machine does).

Needs valgrind. Usage: bench/pass_growth.py [--build DIR] [NODES,JOBS,CLASSES ...]"""

import argparse
import os
import re
import subprocess
import tempfile

ROWS = ["1000,10000,200", "10000,10000,200", "10000,100000,20", "10000,100000,200", "10000,100000,2000",
        "100000,1000000,200"]
PLAN = "gw::sched::plan(gw::sched::ClusterView&, gw::base::Time, gw::sched::Budget const&)"


def timed(program, row):
    out = subprocess.run([program, "pass", *row], check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"(\w+)=([\d.]+)", out))


def instructions(program, row):
    """Of all calls of plan() together: from empty, full, and 20 after one end each."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--toggle-collect={PLAN}",
                               f"--callgrind-out-file={os.path.join(folder, 'out')}", program, "pass", *row],
                              check=True, capture_output=True, text=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.path.join(os.path.dirname(__file__), "..", "build", "release"))
    parser.add_argument("rows", nargs="*", default=ROWS)
    options = parser.parse_args()
    program = os.path.join(options.build, "bin", "bench_scheduler")
    print("| nodes | jobs | classes | first, s | full, s | next, s | instructions of all 22 passes |")
    print("|---|---|---|---|---|---|---|")
    for row in options.rows:
        words = row.split(",")
        t = timed(program, words)
        cells = [f"{int(w):,}" for w in words] + [t["first"], t["full"], t["next"]]
        print("| " + " | ".join(cells) + f" | {instructions(program, words) / 1e6:,.0f} million |", flush=True)


if __name__ == "__main__":
    main()
