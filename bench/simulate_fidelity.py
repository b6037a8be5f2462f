#!/usr/bin/python3
"""Replays public traces with GPUs counted and holds the mean completion times against those of published simulators.

Usage: bench/simulate_fidelity.py --traces DIR [--gangway PATH] [--runs N] [--orders NAME...]. DIR has tiresias_60_job.csv (SymbioticLab/Tiresias,
simulator/60_job.csv) and muri_trace3.csv (Rivendile/Muri, simulator/trace-data/trace3.csv); with philly_82k.csv
(pkusys/ElasticFlow, pollux_simulator/traces/philly.csv) the speed of long replays is measured too. Prints Markdown tables; exits 1
if a figure is off. Standard library only.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple


class Figure(NamedTuple):
    trace: str
    trace_format: str
    nodes: int
    gpus: int
    order: str
    reference: float  # mean completion, s
    is_bound: bool    # the reference is an upper bound


FIGURES = [
    Figure('tiresias_60_job.csv', 'tiresias', 2, 4, 'fifo', 1556, False),
    Figure('tiresias_60_job.csv', 'tiresias', 2, 4, 'fifo_skip', 715, False),
    Figure('tiresias_60_job.csv', 'tiresias', 2, 4, 'srtf', 520, True),
    Figure('muri_trace3.csv', 'muri', 8, 8, 'fifo', 991_167, False),
    Figure('muri_trace3.csv', 'muri', 8, 8, 'fifo_skip', 480_105, False),
    Figure('muri_trace3.csv', 'muri', 8, 8, 'srtf', 180_116, True),
]
LONG = [('fifo', 'count'), ('fifo', 'best'), ('fifo_skip', 'count'), ('fifo_skip', 'best'), ('shortest', 'best'),
        ('srtf', 'count'), ('srtf', 'best')]


class Runner:
    def __init__(self, gangway: str, traces: Path, folder: Path):
        self.gangway, self.traces, self.folder = gangway, traces, folder

    def run(self, trace: str, trace_format: str, nodes: int, gpus: int, order: str, fit: str) -> tuple:
        """The JSON of a replay, its wall time and its CPU time."""
        cluster = self.folder / f'{nodes}x{gpus}.yaml'
        cluster.write_text(f'nodes: [{{name: "n[0-{nodes - 1}]", gpus: {gpus}}}]\n')
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        out = subprocess.run([self.gangway, 'simulate', '--cluster', str(cluster), '--trace', str(self.traces / trace),
                              '--trace-format', trace_format, '--order', order, '--fit', fit, '--json'],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        return json.loads(out), wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def is_met(figure: Figure, got: float) -> bool:
    """References are rounded to the second."""
    return got < figure.reference + 0.5 if figure.is_bound else abs(got - figure.reference) <= 0.5


def fidelity(runner: Runner) -> bool:
    print('| trace | nodes x GPUs | order | mean completion, s | reference, s | |\n|---|---|---|---|---|---|')
    ok = True
    for f in FIGURES:
        data, _, _ = runner.run(f.trace, f.trace_format, f.nodes, f.gpus, f.order, 'count')
        got = data['summary']['mean_completion_s']
        ok &= is_met(f, got)
        reference = f'{"<= " if f.is_bound else ""}{f.reference:,.0f}'
        print(f'| {f.trace} | {f.nodes} x {f.gpus} | {f.order} | {got:,.1f} | {reference} | '
              f'{"met" if is_met(f, got) else "**off**"} |', flush=True)
    return ok


def speed(runner: Runner, runs: int, orders: list):
    print('\n| order | fit | wall, s (median) | CPU, s | passes | CPU us a pass | mean completion, h | p99, h |\n'
          '|---|---|---|---|---|---|---|---|')
    for order, fit in (pair for pair in LONG if pair[0] in orders):
        results = sorted((runner.run('philly_82k.csv', 'philly', 59, 8, order, fit) for _ in range(runs)), key=lambda r: r[1])
        data, wall, cpu = results[len(results) // 2]
        s, passes = data['summary'], data['passes']
        print(f'| {order} | {fit} | {wall:.1f} | {cpu:.1f} | {passes:,} | {1e6 * cpu / passes:.0f} | '
              f'{s["mean_completion_s"] / 3600:.1f} | {s["p99_completion_s"] / 3600:.1f} |', flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--traces', type=Path, required=True)
    parser.add_argument('--gangway', default='build/release/bin/gangway')
    parser.add_argument('--runs', type=int, default=1, help='of each long replay; the median counts')
    parser.add_argument('--orders', nargs='+', default=sorted({order for order, _ in LONG}), help='of the long replays')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(args.gangway, args.traces, Path(folder))
        ok = fidelity(runner)
        if (args.traces / 'philly_82k.csv').exists():
            speed(runner, args.runs, args.orders)
    return 0 if ok else 1


if __name__ == '__main__':
    sys.exit(main())
