#!/usr/bin/env python3
"""How true estimates of starts come: jobs of public traces are told, when they arrive, when they will start.

Usage: bench/start_estimates.py --traces DIR [--build build/release] [--of 1000] [--seed 1] [NAME...]
Each job's time limit is its duration times a factor that is drawn from 1, 1.5, 2, 5 and 10. `gangway simulate
--estimate` tells about --of jobs of each trace a range, from what a scheduler could know at that time. Prints a Markdown
table; exits 1 if over all traces fewer than 80 % of the starts fall inside, or the median range is wider than half the
wait. DIR has the files of simulate_fidelity.py and those of quota_pooling.py. Standard library only.
"""

import argparse
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

FACTORS = (1, 1.5, 2, 5, 10)


class Case(NamedTuple):
    """A trace, and the cluster that it runs on."""

    name: str
    nodes: int
    gpus: int  # of a node
    scale: float  # seconds in a unit of its times


CASES = [Case('philly_5vc_pooled', 46, 8, 1), Case('philly_octnov_vc_ee9e8c', 18, 8, 1),
         Case('philly_octnov_vc_0e4a51', 7, 8, 1), Case('philly_octnov_vc_103959', 4, 8, 1),
         Case('philly_octnov_vc_7f04ca', 10, 8, 1), Case('philly_octnov_vc_2869ce', 7, 8, 1),
         Case('muri_trace2', 8, 8, 0.001), Case('muri_trace3', 8, 8, 0.001), Case('tiresias_60_job', 2, 4, 1)]


def first_of(row, *names):
    """The first of these columns that the row has."""
    return next(row[name] for name in names if name in row)


def write_trace(case, source, target, seed):
    """The trace with limits; how many jobs."""
    rng = random.Random(seed)
    rows = list(csv.DictReader(source.open(encoding='utf-8', newline='')))
    with target.open('w', encoding='utf-8', newline='') as out:
        writer = csv.writer(out)
        writer.writerow(['job_id', 'submit_s', 'duration_s', 'gpus', 'time_limit_s'])
        for number, row in enumerate(rows):
            submit, duration = (float(first_of(row, *names)) * case.scale
                                for names in (('submit_s', 'submit_time'), ('duration_s', 'duration')))
            writer.writerow([number, round(submit), max(round(duration), 1), first_of(row, 'gpus', 'num_gpu'),
                             max(round(duration * rng.choice(FACTORS)), 1)])
    return len(rows)


def measure(case, arguments, folder):
    """What the simulator says of one trace."""
    trace, cluster = folder / f'{case.name}.csv', folder / f'{case.name}.yaml'
    jobs = write_trace(case, arguments.traces / f'{case.name}.csv', trace, arguments.seed)
    cluster.write_text(f'nodes: [{{name: "n[0-{case.nodes - 1}]", gpus: {case.gpus}}}]\n', encoding='utf-8')
    every = max(jobs // arguments.of, 1)
    out = subprocess.run([arguments.build / 'bin/gangway', 'simulate', '--cluster', cluster, '--trace', trace,
                          '--estimate', str(every), '--json'], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out)


def percent(some, whole):
    """As text."""
    return f'{100 * some / whole:.1f} %' if whole else '-'


def main():
    """Measures, prints, judges."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument('--traces', type=pathlib.Path, required=True)
    parser.add_argument('--build', type=pathlib.Path, default=here.parent / 'build/release')
    parser.add_argument('--of', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('names', nargs='*')
    arguments = parser.parse_args()
    cases = [case for case in CASES if not arguments.names or case.name in arguments.names]
    print('| trace | GPUs | mean wait | told | at once | inside | inside, of those that waited | before, after |'
          ' width | width, of those that waited | error |')
    print('|---|---|---|---|---|---|---|---|---|---|---|')
    told = inside = 0
    is_wide = False
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for case, got in zip(cases, pool.map(lambda c: measure(c, arguments, pathlib.Path(folder)), cases)):
            e = got['estimates']
            told, inside = told + e['told'], inside + e['inside']
            is_wide |= e['median_width'] is None or e['median_width'] > 0.5
            print(f'| {case.name} | {case.nodes * case.gpus} | {got["summary"]["mean_wait_s"]:,.0f} s | {e["told"]} |'
                  f' {percent(e["at_once"], e["told"])} | {percent(e["inside"], e["told"])} |'
                  f' {percent(e["inside_of_waits"], e["told"] - e["at_once"])} |'
                  f' {percent(e["before"], e["told"])}, {percent(e["after"], e["told"])} |'
                  f' {e["median_width"]} | {e["median_width_of_waits"]} | {e["median_error"]} |', flush=True)
    print(f'\nOver all: {percent(inside, told)} of {told} starts inside.')
    return 1 if is_wide or inside < 0.8 * told else 0


if __name__ == '__main__':
    sys.exit(main())
