#!/usr/bin/python3
"""Orders of the literature on the traces of their papers, with placement and restarts charged.

Usage: bench/policies.py --traces DIR [--gangway PATH] [--only NAME] [--alone | --curve | --company | --packing [--patience TIME]]. DIR holds muri_trace3.csv (Rivendile/Muri,
simulator/trace-data/trace3.csv) and philly_5vc_pooled.csv (five virtual clusters of pkusys/ElasticFlow's philly.csv, October and
November 2017, `qos` = the virtual cluster). For each experiment: restarts that cost 0, 30 and 60 s, GPUs counted and placed. Prints a
Markdown table. With --alone each virtual cluster of the pooled trace is also replayed on nodes of its own, by the same order (counted, restarts
free), and what pooling does to it is told: means, and rho, which is a job's completion in the pool divided by that alone. With --curve the same
pool runs without quotas and with each way to reclaim. With --packing openb_pod_list_default.csv (Alibaba's cluster-trace-gpu-v2023, with
the times of its columns) is replayed on as many nodes of 8 GPUs, 96 threads and 384 GiB as it loads to 80 %: by an order that packs, by one
that divides dominant shares, and by one that counts GPUs. With --company the jobs of one GPU of muri_trace2.csv run on fewer GPUs than they
load: whole, as halves of GPUs beside anybody, and as halves that are parted where they slow each other down, at speeds that follow from the
stages of their iterations. Standard library only.
"""

import argparse
import csv
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

    def cluster(self, alone=None, reclaim="fair_share"):
        """YAML of the pool, or of the nodes of one virtual cluster alone. `reclaim` empty: a pool without quotas."""
        if alone:
            pool = Experiment(self.name, self.trace, VIRTUAL_CLUSTERS[alone], self.order, 0, self.weights)
            return pool.cluster() + f'qos: [{{name: "{alone}"}}]\n'
        qos = "".join(f'  - {{name: "{name}", guaranteed: {{gpu: {8 * count}}}}}\n'
                      for name, count in VIRTUAL_CLUSTERS.items())
        weights = ", ".join(f"{name}: {value}" for name, value in self.weights.items())
        return (f"policy: {{order: {self.order}, order_weights: {{{weights}}}, reclaim: {reclaim or 'none'}, patience: 0s, "
                f'reclaim_delay_max: 0s}}\nnodes: [{{name: "n[00-{self.nodes - 1:02d}]", gpus: 8}}]\n' +
                (f"qos:\n{qos}" if self.has_quotas and reclaim else ""))


# One setting of the queues for all traces: each is sixteen times as long as the one before, the first four GPU-hours.
LAS = {"queue_1": 4, "queue_2": 64, "queue_3": 1000}
MURI, PHILLY = "muri_trace3.csv", "philly_5vc_pooled.csv"
EXPERIMENTS = [
    Experiment("Muri trace 3, durations unknown", MURI, 8, "las2d", 347_213, LAS),
    Experiment("Muri trace 3, durations unknown, gittins", MURI, 8, "gittins", 347_213, LAS),
    Experiment("Muri trace 3, durations known, srtf", MURI, 8, "srtf", 185_022),
    Experiment("Muri trace 3, durations known, srsf", MURI, 8, "srsf", 185_022),
    Experiment("Philly pooled with quotas, known, srtf", PHILLY, 46, "srtf", 92_301, has_quotas=True),
    Experiment("Philly pooled with quotas, known, srsf", PHILLY, 46, "srsf", 87_094, has_quotas=True),
    Experiment("Philly pooled with quotas, unknown", PHILLY, 46, "las2d", 104_926, LAS, has_quotas=True),
    Experiment("Philly pooled with quotas, unknown, gittins", PHILLY, 46, "gittins", 104_926, LAS, has_quotas=True),
    Experiment("Philly pooled with quotas, known, themis", PHILLY, 46, "themis", 0, has_quotas=True),
]
# What a node of the packing experiment has, and the part of it that the trace is to load.
NODE = {"gpus": 8, "cpus": 96, "memory_gib": 384}
LOAD = 0.8
PACKERS = {"tetris": {}, "tetris, packing alone": {"remaining": 0}, "tetris, choosing nodes": {"nodes": 1}, "drf": {}, "round_robin": {},
           "fifo_skip": {}}


def replay(args, folder, experiment, cost, fit):
    path = folder / "cluster.yaml"
    path.write_text(experiment.cluster())
    kind = ["--trace-format", "muri"] if experiment.trace == MURI else []
    done = subprocess.run([args.gangway, "simulate", "--cluster", path, "--trace", args.traces / experiment.trace, *kind, "--fit", fit,
                           "--preempt-cost", f"{cost}s", "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["summary"]


def completions(args, folder, config, trace):
    """By job: seconds from its submission to its end."""
    (folder / "cluster.yaml").write_text(config)
    out = folder / "out"
    done = subprocess.run([args.gangway, "simulate", "--cluster", folder / "cluster.yaml", "--trace", trace, "--fit", "count", "--out", out],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    with open(out / "jobs.csv", encoding="utf-8") as file:
        return {row["job_id"]: float(row["completion_s"]) for row in csv.DictReader(file)}


def each_alone(args, folder, experiment):
    """By virtual cluster: completions of its jobs on nodes of its own."""
    with open(args.traces / experiment.trace, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    out = {}
    for name in VIRTUAL_CLUSTERS:
        own = [row for row in rows if row["qos"] == name]
        with open(folder / "own.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, own[0].keys())
            writer.writeheader()
            writer.writerows(own)
        out[name] = completions(args, folder, experiment.cluster(alone=name), folder / "own.csv")
    return out


def against_alone(args, folder, experiment):
    """A line for each virtual cluster: is it better off in the pool?"""
    pooled = completions(args, folder, experiment.cluster(), args.traces / experiment.trace)
    for name, alone in each_alone(args, folder, experiment).items():
        nodes = VIRTUAL_CLUSTERS[name]
        rhos = [pooled[job] / max(seconds, 1) for job, seconds in alone.items()]
        mean = sum(alone.values()) / len(alone), sum(pooled[job] for job in alone) / len(alone)
        print(f"| {experiment.name} | {name} | {nodes} | {mean[0]:,.0f} | {mean[1]:,.0f} | {mean[1] / mean[0]:.2f} | "
              f"{sum(rhos) / len(rhos):.2f} | {max(rhos):.1f} |", flush=True)


def print_curve(args, folder):
    """How the mean of all and the worst off of the virtual clusters go together, from no quotas to those that take most back."""
    print("| experiment | quotas | mean completion, s | worst off: ratio to alone |")
    print("|---|---|---|---|")
    for experiment in EXPERIMENTS:
        if not experiment.has_quotas or args.only not in experiment.name:
            continue
        alone = each_alone(args, folder, experiment)
        for reclaim in ("", "none", "guaranteed", "fair_share"):
            pooled = completions(args, folder, experiment.cluster(reclaim=reclaim), args.traces / experiment.trace)
            worst = max(sum(pooled[job] for job in own) / sum(own.values()) for own in alone.values())
            quotas = f"`reclaim: {reclaim}`" if reclaim else "no quotas"
            print(f"| {experiment.name} | {quotas} | {sum(pooled.values()) / len(pooled):,.0f} | {worst:.2f} |", flush=True)


def write_packing_trace(args, folder):
    """The tasks of the busy part, of any kind of GPU; the classes of service are the users. Returns how many nodes they load."""
    with open(args.traces / "openb_pod_list_default.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["scheduled_time"]]
    rows.sort(key=lambda row: int(row["creation_time"]))
    rows = rows[len(rows) // 10:]  # one in ten came in the first seventeen of twenty-one weeks, and many of those run to the end
    first, last = int(rows[0]["creation_time"]), int(rows[-1]["creation_time"])
    demand = dict.fromkeys(NODE, 0.0)
    for row in rows:
        part = (int(row["deletion_time"]) - int(row["scheduled_time"])) / (last - first)
        demand["gpus"] += part * int(row["num_gpu"]) * int(row["gpu_milli"] or 0) / 1000
        demand["cpus"] += part * int(row["cpu_milli"]) / 1000
        demand["memory_gib"] += part * int(row["memory_mib"]) / 1024
        row.update({name: int(row[name]) - first for name in ("creation_time", "scheduled_time", "deletion_time")}, gpu_spec="")
    with open(folder / "openb.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    return max(1, round(max(demand[name] / NODE[name] for name in NODE) / LOAD))


def print_packing(args, folder):
    nodes = write_packing_trace(args, folder)
    print(f"{nodes} nodes\n\n| order | mean completion, s | median, s | makespan, s | mean wait, s |\n|---|---|---|---|---|")
    for order, weights in PACKERS.items():
        given = ", ".join(f"{name}: {value}" for name, value in weights.items())
        (folder / "cluster.yaml").write_text(
            f'policy: {{order: {order.split(",")[0]}, order_weights: {{{given}}}, patience: {args.patience}}}\nnodes: [{{name: "n[0-{nodes - 1}]", gpus: {NODE["gpus"]}, cpus: {NODE["cpus"]}, '
            f'memory: {NODE["memory_gib"]}G}}]\npartitions: [{{name: all, nodes: ALL, allow_shared_gpus: true}}]\n')
        done = subprocess.run([args.gangway, "simulate", "--cluster", folder / "cluster.yaml", "--trace", folder / "openb.csv", "--trace-format",
                               "openb", "--map", "user=qos", "--json"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)
        r = json.loads(done.stdout)["summary"]
        print(f"| {order} | {r['mean_completion_s']:,.0f} | {r['median_completion_s']:,.0f} | {r['makespan_s']:,.0f} | "
              f"{r['mean_wait_s']:,.0f} |", flush=True)


# Whether each has half of a GPU, and the partition's min_shared_rate.
COMPANIES = {"whole GPUs": (1000, 0), "halves, beside anybody": (500, 0), "halves, `min_shared_rate: 40`": (500, 40),
             "halves, `min_shared_rate: 60`": (500, 60), "halves, `min_shared_rate: 70`": (500, 70), "halves, `min_shared_rate: 80`": (500, 80)}


def write_company_trace(args, folder, milli):
    """Jobs of one GPU, in seconds, with the stages of their iterations. Returns how many GPUs they load."""
    with open(args.traces / "muri_trace2.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["num_gpu"] == "1"]
    with open(folder / "company.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["job_id", "submit_s", "duration_s", "gpus", "gpu_milli", "cpu_time", "gpu_time", "network_time"])
        for row in rows:
            writer.writerow([row["job_id"], int(row["submit_time"]) / 1e3, int(row["duration"]) / 1e3, 1, milli,
                             *(row[f"resource_time_{i}"] for i in range(3))])
    return sum(int(row["duration"]) for row in rows) / max(int(row["submit_time"]) for row in rows)


def print_company(args, folder):
    nodes = round(write_company_trace(args, folder, 1000) / 1.3 / 8)
    print(f"{nodes} nodes of 8 GPUs\n\n| order | jobs | mean completion, s | median, s | makespan, s | preemptions |\n|---|---|---|---|---|---|")
    for order in ("fifo_skip", "srsf"):
        for name, (milli, least) in COMPANIES.items():
            write_company_trace(args, folder, milli)
            (folder / "cluster.yaml").write_text(
                f'policy: {{order: {order}, rate_model: interleave}}\nnodes: [{{name: "n[0-{nodes - 1}]", gpus: 8}}]\n'
                f'partitions: [{{name: all, nodes: ALL, allow_shared_gpus: true, min_shared_rate: {least}}}]\n')
            done = subprocess.run([args.gangway, "simulate", "--cluster", folder / "cluster.yaml", "--trace", folder / "company.csv",
                                   "--preempt-cost", "30s", "--json"], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(done.stderr)
            r = json.loads(done.stdout)["summary"]
            print(f"| {order} | {name} | {r['mean_completion_s']:,.0f} | {r['median_completion_s']:,.0f} | {r['makespan_s']:,.0f} | "
                  f"{r['preemptions']:,} |", flush=True)


def print_alone(args, folder):
    print("| experiment | virtual cluster | nodes | mean alone, s | in the pool, s | ratio | mean rho | worst rho |")
    print("|---|---|---|---|---|---|---|---|")
    for experiment in EXPERIMENTS:
        if experiment.has_quotas and args.only in experiment.name:
            against_alone(args, folder, experiment)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--gangway", default="build/release/bin/gangway")
    parser.add_argument("--only", default="")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--packing", action="store_true")
    parser.add_argument("--company", action="store_true")
    parser.add_argument("--patience", default="0s")
    args = parser.parse_args()
    parts = {"alone": print_alone, "curve": print_curve, "packing": print_packing, "company": print_company}
    for part, print_part in parts.items():
        if getattr(args, part):
            with tempfile.TemporaryDirectory() as name:
                print_part(args, Path(name))
            return 0
    print("| mean completion, s | published | " + " | ".join(f"{fit}, {cost} s" for fit in FITS for cost in COSTS) + " | preemptions |")
    print("|---|---|" + "---|" * (len(FITS) * len(COSTS) + 1))
    with tempfile.TemporaryDirectory() as name:
        for experiment in EXPERIMENTS:
            if args.only not in experiment.name:
                continue
            results = [replay(args, Path(name), experiment, cost, fit) for fit in FITS for cost in COSTS]
            published = f"{experiment.published:,}" if experiment.published else "-"
            print(f"| {experiment.name} | {published} | " + " | ".join(f"{r['mean_completion_s']:,.0f}" for r in results) +
                  f" | {results[-2]['preemptions']:,} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
