#!/usr/bin/python3
"""Five virtual clusters of the Philly trace in one pool with guarantees, held against each alone on its own nodes.

Usage: bench/quota_pooling.py --trace philly_5vc_pooled.csv [--gangway PATH]. The trace is cut from pkusys/ElasticFlow,
pollux_simulator/traces/philly.csv: five virtual clusters of October and November 2017, `qos` = the virtual cluster. GPUs are
counted, and patience and protection are off, but where the row says otherwise. Alone: the same jobs on as many nodes as
are guaranteed, under the same order. Prints a Markdown table; exits 1 if a virtual cluster is worse off in the pool than
alone, or the pool without quotas misses the published mean.
Standard library only.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NODES = {"ee9e8c": 20, "0e4a51": 7, "103959": 3, "7f04ca": 9, "2869ce": 7}
ALONE = {"ee9e8c": 228_294, "0e4a51": 829_424, "103959": 173_350, "7f04ca": 667_725, "2869ce": 245_445}
ONE_POOL = 131_379  # a published simulator, no quotas


def cluster(nodes, reclaim, qos, is_patient=False):
    lines = "".join(f'  - {{name: "{name}", guaranteed: {{gpu: {8 * count}}}}}\n' for name, count in qos.items())
    patience = "" if is_patient else ", patience: 0s, reclaim_delay_max: 0s"
    return (f"policy: {{order: fifo_skip, reclaim: {reclaim}{patience}}}\n"
            f'nodes: [{{name: "n[00-{nodes - 1:02d}]", gpus: 8}}]\n' + (f"qos:\n{lines}" if lines else ""))


def replay(args, folder, text, trace, *options, fit="count"):
    path = folder / "cluster.yaml"
    path.write_text(text)
    begun = time.monotonic()
    done = subprocess.run([args.gangway, "simulate", "--cluster", path, "--trace", trace, "--fit", fit, "--json",
                           *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout), time.monotonic() - begun


def alone(args, folder):
    rows = list(csv.reader(args.trace.open()))
    column = rows[0].index("qos")
    means = {}
    for name, nodes in NODES.items():
        path = folder / f"{name}.csv"
        with path.open("w", newline="") as out:
            csv.writer(out).writerows([rows[0]] + [row for row in rows[1:] if row[column] == name])
        result, _ = replay(args, folder, cluster(nodes, "none", {name: nodes}), path)
        means[name] = result["summary"]["mean_completion_s"]
    return means


def row(name, result, seconds):
    by = result["by_qos"]
    s = result["summary"]
    means = " | ".join(f"{by[q]['mean_completion_s']:,.0f}" for q in NODES)
    return (f"| {name} | {means} | {s['mean_completion_s']:,.0f} | {s['preemptions']:,} | "
            f"{s['gpu_seconds_lost'] / 3600:,.0f} | {seconds:.1f} |")


def longest_wait(result):
    return max(row["max_wait_s"] for row in result["by_size"] if row["gpus"] == "17-32")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", type=Path, required=True)
    parser.add_argument("--gangway", default="build/release/bin/gangway")
    args = parser.parse_args()
    is_met = True
    waits = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"| mean completion, s | {' | '.join(NODES)} | all | preemptions | GPU-hours lost | time, s |")
        print("|---|" + "---|" * (len(NODES) + 4))
        own = alone(args, folder)
        print(f"| alone on its own nodes | {' | '.join(f'{own[q]:,.0f}' for q in NODES)} | | | | |")
        print(f"| the same, published | {' | '.join(f'{ALONE[q]:,}' for q in NODES)} | | | | |")
        for reclaim, options in (("none", []), ("fair_share", []), ("fair_share", ["--preempt-cost", "60s"]),
                                 ("guaranteed", []), ("fair_share", ["--lose-work"])):
            result, seconds = replay(args, folder, cluster(sum(NODES.values()), reclaim, NODES), args.trace, *options)
            print(row(f"reclaim {reclaim} {' '.join(options)}".strip(), result, seconds), flush=True)
            if reclaim == "fair_share" and "--lose-work" not in options:
                is_met &= all(result["by_qos"][q]["mean_completion_s"] <= ALONE[q] for q in NODES)
            if reclaim == "none":
                is_met &= result["summary"]["mean_completion_s"] <= ONE_POOL
        for fit, is_patient in (("best", False), ("count", True), ("best", True)):
            text = cluster(sum(NODES.values()), "fair_share", NODES, is_patient)
            result, seconds = replay(args, folder, text, args.trace, "--preempt-cost", "60s", fit=fit)
            label = f"reclaim fair_share --preempt-cost 60s --fit {fit}{', patience and protection' if is_patient else ''}"
            print(row(label, result, seconds), flush=True)
            waits.append(f"longest wait of a job of 32 GPUs, {label}: {longest_wait(result) / 3600:.0f} h")
        print("\n" + "\n".join(waits))
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
