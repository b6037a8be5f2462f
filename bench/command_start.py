#!/usr/bin/env python3
"""Measures how long commands take on an empty queue, as whole processes, beside /bin/true.

Usage: bench/command_start.py [--build build/release] [--runs 200]
A private cluster of two nodes; the commands take turns, so that all have the same minute. Prints a Markdown table.
Invariant: the cluster is ended, also on errors.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

COMMANDS = [['/bin/true'], ['bin/gqueue'], ['libexec/gangway/slurm/squeue'], ['libexec/gangway/pbs/qstat'],
            ['libexec/gangway/sge/qstat'], ['bin/ginfo'], ['bin/gcontrol', 'show', 'node'], ['bin/gacct'],
            ['bin/gacctmgr', 'list', 'qos'], ['bin/gcancel', '--me'], ['bin/gbatch', '--test-only', '--wrap', 'true']]


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument('--build', type=pathlib.Path, default=here.parent / 'build/release')
    parser.add_argument('--runs', type=int, default=200)
    return parser.parse_args()


def measure(build, runs, env):
    """Milliseconds of each run, by command."""
    times = {i: [] for i in range(len(COMMANDS))}
    for _ in range(runs):
        for i, words in enumerate(COMMANDS):
            argv = [str(build / words[0]), *words[1:]]
            began = time.perf_counter()
            subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            times[i].append((time.perf_counter() - began) * 1e3)
    return times


def main():
    """Brings a cluster up, measures, prints, and takes it down."""
    options = parse_arguments()
    gangway = options.build / 'bin/gangway'
    with tempfile.TemporaryDirectory(prefix='gw-start-') as folder:
        env = {**os.environ, 'GANGWAY_CONF': f'{folder}/c/gangway.yaml'}
        subprocess.run([gangway, 'dev', 'up', '--dir', f'{folder}/c', '--nodes', '2', '--topology', 'dgx-h100'],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            times = measure(options.build.resolve(), options.runs, env)
        finally:
            subprocess.run([gangway, 'dev', 'down', '--dir', f'{folder}/c'], check=False, stdout=subprocess.DEVNULL)
    print('| command | median | p95 |\n|---|---|---|')
    for i, words in enumerate(COMMANDS):
        p95 = statistics.quantiles(times[i], n=20)[-1]
        print(f'| `{" ".join(words)}` | {statistics.median(times[i]):.1f} ms | {p95:.1f} ms |')


if __name__ == '__main__':
    main()
