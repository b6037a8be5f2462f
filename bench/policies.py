#!/usr/bin/python3
"""Orders of the literature on the traces of their papers, with placement and restarts charged.

Usage: bench/policies.py --traces DIR [--gangway PATH] [--only NAME]. DIR holds muri_trace3.csv (Rivendile/Muri,
simulator/trace-data/trace3.csv) and philly_5vc_pooled.csv (five virtual clusters of pkusys/ElasticFlow's philly.csv, October and
November 2017, `qos` = the virtual cluster). For each experiment: restarts that cost 0, 30 and 60 s, GPUs counted and placed. Prints a
Markdown table. Standard library only.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

VIRTUAL_CLUSTERS = {"ee9e8c": 20, "0e4a51": 7, "103959": 3, "7f04ca": 9, "2869ce": 7}  # nodes of each
COSTS = (0, 30, 60)
FITS = ("count", "best")


class Experiment:
    def __init__(self, name, trace, nodes, order, published, weights=None, has_quotas=False):
        self.name, self.trace, self.nodes, self.order = name, trace, nodes, order
        self.published, self.weights, self.has_quotas = published, weights or {}, has_quotas

    def cluster(self):
        qos = "".join(f'  - {{name: "{name}", guaranteed: {{gpu: {8 * count}}}}}\n'
                      for name, count in VIRTUAL_CLUSTERS.items())
        weights = ", ".join(f"{name}: {value}" for name, value in self.weights.items())
        return (f"policy: {{order: {self.order}, order_weights: {{{weights}}}, reclaim: fair_share, patience: 0s, "
                f'reclaim_delay_max: 0s}}\nnodes: [{{name: "n[00-{self.nodes - 1:02d}]", gpus: 8}}]\n' +
                (f"qos:\n{qos}" if self.has_quotas else ""))


# One setting of las2d for all traces of a kind.
LAS = {"queue_1": 1, "queue_2": 10}
MURI, PHILLY = "muri_trace3.csv", "philly_5vc_pooled.csv"
EXPERIMENTS = [
    Experiment("Muri trace 3, durations unknown", MURI, 8, "las2d", 347_213, LAS),
    Experiment("Muri trace 3, durations known, srtf", MURI, 8, "srtf", 185_022),
    Experiment("Muri trace 3, durations known, srsf", MURI, 8, "srsf", 185_022),
    Experiment("Philly pooled with quotas, known, srtf", PHILLY, 46, "srtf", 92_301, has_quotas=True),
    Experiment("Philly pooled with quotas, known, srsf", PHILLY, 46, "srsf", 87_094, has_quotas=True),
    Experiment("Philly pooled with quotas, unknown", PHILLY, 46, "las2d", 104_926, LAS, has_quotas=True),
]


def replay(args, folder, experiment, cost, fit):
    path = folder / "cluster.yaml"
    path.write_text(experiment.cluster())
    kind = ["--trace-format", "muri"] if experiment.trace == MURI else []
    done = subprocess.run([args.gangway, "simulate", "--cluster", path, "--trace", args.traces / experiment.trace, *kind, "--fit", fit,
                           "--preempt-cost", f"{cost}s", "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["summary"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--gangway", default="build/release/bin/gangway")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    print("| mean completion, s | published | " + " | ".join(f"{fit}, {cost} s" for fit in FITS for cost in COSTS) + " | preemptions |")
    print("|---|---|" + "---|" * (len(FITS) * len(COSTS) + 1))
    with tempfile.TemporaryDirectory() as name:
        for experiment in EXPERIMENTS:
            if args.only not in experiment.name:
                continue
            results = [replay(args, Path(name), experiment, cost, fit) for fit in FITS for cost in COSTS]
            print(f"| {experiment.name} | {experiment.published:,} | " +
                  " | ".join(f"{r['mean_completion_s']:,.0f}" for r in results) + f" | {results[-2]['preemptions']:,} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
