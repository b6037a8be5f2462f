#!/usr/bin/env python3
"""Measures two builds of Gangway beside each other: the same workloads in turn, so that a change shows what it costs.

Usage: bench/beside_build.py --before BUILD [--after build/release] [--repeat 10] [--json FILE] [PART ...]
Parts: cluster (submissions, held jobs to completion, latency, srun, salloc, controller's memory), pass (the scheduler
alone); default both. Each run measures both builds, and every second run begins with the other one. Prints a JSON line a
run, then a Markdown table: for each figure the mean ratio of after to before, with its 95 % interval (of the logarithms
of the paired ratios, Student's t). A figure is "worse" where the whole interval lies beyond 3 %, else it "holds".
"""

import argparse
import contextlib
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import beside_slurm
import interactive
import peers
import workloads

PARTS = ('cluster', 'pass')
TOLERATED = 0.03
# Two-sided 95 % quantiles of Student's t by degrees of freedom; the last one stands for all that follow.
STUDENT_T = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09)
# Cases of the scheduler alone: name, program with its arguments, and the figure that it prints, in seconds.
CASES = (('empty cluster of 100,000 nodes filled', 'bench_scheduler place 100000 mix', 'seconds'),
         ('full pass, 10,000 nodes and 100,000 jobs', 'bench_scheduler pass 10000 100000 200', 'full'),
         ('pass with reclaim, 10,000 nodes and 250 QOS', 'bench_quota_pass reclaim 10000 250 0', 'pass'))


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument('--before', required=True, help='build folder of the commit to compare with')
    parser.add_argument('--after', default=here.parent / 'build/release', help='build folder of this commit')
    parser.add_argument('--repeat', type=int, default=10, help='runs of each build')
    parser.add_argument('--nodes', type=int, default=4)
    parser.add_argument('--jobs', type=int, default=500, help='jobs of a throughput run')
    parser.add_argument('--parallel', type=int, default=8, help='submitters at a time')
    parser.add_argument('--latency-runs', type=int, default=20)
    parser.add_argument('--interactive-runs', type=int, default=30)
    parser.add_argument('--json', help='append the JSON lines to this file too')
    parser.add_argument('parts', nargs='*', metavar='PART', help=' '.join(PARTS))
    options = parser.parse_args()
    unknown = [p for p in options.parts if p not in PARTS]
    if unknown:
        parser.error(f'no such part: {unknown[0]} (parts: {" ".join(PARTS)})')
    if options.repeat < 2:
        parser.error('--repeat: an interval needs at least 2 runs')
    options.parts = options.parts or list(PARTS)
    return options


def cluster_figures(name, build, root, options):
    """Figures of a fresh private cluster of this build; all are costs: less is better."""
    folder = root / name
    with contextlib.ExitStack() as stack:
        peer = beside_slurm.started(stack, peers.Gangway(folder / 'cluster', options.nodes, 0, build))
        submitted, ran = workloads.run_held(peer, options.jobs, options.parallel)
        latency = workloads.latency(peer, options.latency_runs, 0.05)
        commands = interactive.commands(peer, options.interactive_runs)
        memory = workloads.controller_memory(peer)
    shutil.rmtree(folder / 'cluster', ignore_errors=True)
    return {'a submission, s': submitted['wall_s'] / options.jobs,
            'processor time of sbatch, ms': submitted['client_cpu_ms'],
            'processor time of the daemons for a submission, ms': submitted['daemon_cpu_ms'],
            'a held job released until completed, s': ran['completed_s'] / options.jobs,
            'submission to first instruction, median, ms': latency['p50_ms'],
            'srun -n1 true, median, ms': commands['srun_p50_ms'],
            'salloc -n1 true, median, ms': commands['salloc_p50_ms'],
            "controller's memory (PSS), MiB": memory['pss_mib']}


def pass_figures(build):
    """Seconds of the scheduler's cases."""
    figures = {}
    for what, command, key in CASES:
        program, *arguments = command.split()
        text = subprocess.run([build / 'bin' / program, *arguments], text=True, capture_output=True, check=True,
                              timeout=300).stdout
        figures[f'{what}, s'] = float(re.search(rf'\b{key}=([0-9.]+)', text).group(1))
    return figures


def measure(options, root):
    """All runs: a list of (figures before, figures after)."""
    builds = {'before': pathlib.Path(options.before).resolve(), 'after': pathlib.Path(options.after).resolve()}
    pairs = []
    for run in range(options.repeat):
        figures = {}
        for name in sorted(builds, reverse=run % 2 == 0):
            figures[name] = {}
            if 'cluster' in options.parts:
                figures[name] |= cluster_figures(name, builds[name], root, options)
            if 'pass' in options.parts:
                figures[name] |= pass_figures(builds[name])
        text = json.dumps({'run': run, **figures})
        print(text, flush=True)
        if options.json:
            with open(options.json, 'a', encoding='utf-8') as file:
                file.write(text + '\n')
        pairs.append((figures['before'], figures['after']))
    return pairs


def interval(ratios):
    """Geometric mean of the ratios and its 95 % interval."""
    logs = [math.log(r) for r in ratios]
    middle = statistics.mean(logs)
    half = STUDENT_T[min(len(logs) - 1, len(STUDENT_T)) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half)


def print_table(pairs):
    """The Markdown table; whether no figure is worse."""
    print('\n| figure | before, median | after, median | after / before | 95 % interval | |\n|---|---|---|---|---|---|')
    holds = True
    for what in pairs[0][0]:
        before, after = [p[0][what] for p in pairs], [p[1][what] for p in pairs]
        middle, low, high = interval([b / a for a, b in zip(before, after)])
        worse = low > 1 + TOLERATED
        holds = holds and not worse
        print(f'| {what} | {statistics.median(before):.4g} | {statistics.median(after):.4g} | {middle:.3f} | '
              f'{low:.3f} to {high:.3f} | {"worse" if worse else "holds"} |')
    return holds


def main():
    """Runs all; 1 where a figure is worse or something did not work."""
    options = parse_arguments()
    root = pathlib.Path(tempfile.mkdtemp(prefix='gw-bench-'))
    root.chmod(0o755)
    try:
        return 0 if print_table(measure(options, root)) else 1
    except (peers.BenchError, OSError, subprocess.SubprocessError) as error:
        print(f'beside_build: {error}', file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(beside_slurm.in_child(main))
