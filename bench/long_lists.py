#!/usr/bin/env python3
"""Measures long lists as whole processes: a private cluster with many held jobs, listed by the commands under Slurm's names.

Usage: bench/long_lists.py [--build build/release] [--jobs 50000] [--runs 9]
Prints a Markdown table, the median of the runs of each list, and what a submission takes (whole process of sbatch) alone
and while one list after the other is made. Invariant: the cluster is ended, also on errors.
"""

import argparse
import concurrent.futures
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time

FIELDS = '%i %P %j %u %t %M %l %D %C %R %m %b %Q %S %e %V %a %q %N %B %U %f %v %Z %o %k %y %n %h %F'
LISTS = [['squeue'], ['squeue', '-o', FIELDS], ['scontrol', 'show', 'job'], ['squeue', '--json']]
JOB = ['-H', '-n4', '-t60', '--mem=2G', '--gpus=1', '--wrap', 'sleep 10']


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument('--build', type=pathlib.Path, default=here.parent / 'build/release')
    parser.add_argument('--jobs', type=int, default=50_000)
    parser.add_argument('--runs', type=int, default=9)
    return parser.parse_args()


def name_of(words):
    """A list as the table has it."""
    return f'`{" ".join(words)}`'.replace(FIELDS, '(30 fields)')


class Cluster:
    """The commands of a private cluster."""

    def __init__(self, build, folder):
        self.names = build.resolve() / 'libexec/gangway/slurm'
        self.folder = folder
        self.env = {**os.environ, 'GANGWAY_CONF': f'{folder}/c/gangway.yaml'}

    def seconds(self, *words):
        """What a call takes, its output left unread."""
        began = time.perf_counter()
        subprocess.run([self.names / words[0], *words[1:]], env=self.env, cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - began

    def submit(self, number):
        """Submits one held job; its seconds."""
        return self.seconds('sbatch', '-J', f'job{number}', *JOB)

    def submissions_beside(self, words, runs):
        """Seconds of submissions, one after the other, while the list is made over and over."""
        is_over = threading.Event()

        def make_lists():
            while not is_over.is_set():
                self.seconds(*words)

        with concurrent.futures.ThreadPoolExecutor() as pool:
            lists = pool.submit(make_lists)
            times = [self.submit(i) for i in range(runs)]
            is_over.set()
            lists.result()
        return times


def print_results(cluster, options):
    """Measures and prints."""
    alone = [cluster.submit(i) for i in range(200)]
    print(f'| of {options.jobs:,} held jobs | median | slowest |\n|---|---|---|')
    for words in LISTS:
        times = [cluster.seconds(*words) for _ in range(options.runs)]
        print(f'| {name_of(words)} | {statistics.median(times):.2f} s | {max(times):.2f} s |')
    rows = [('alone', alone)] + [(f'beside {name_of(w)}', cluster.submissions_beside(w, 200)) for w in LISTS[1:3]]
    for what, times in rows:
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f'| a submission {what} | {statistics.median(times) * 1e3:.1f} ms | p95 {p95 * 1e3:.1f} ms |')


def main():
    """Brings a cluster up, fills it, measures, and takes it down."""
    options = parse_arguments()
    gangway = options.build / 'bin/gangway'
    with tempfile.TemporaryDirectory(prefix='gw-lists-') as folder:
        cluster = Cluster(options.build, folder)
        subprocess.run([gangway, 'dev', 'up', '--dir', f'{folder}/c', '--nodes', '2', '--topology', 'dgx-h100'],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(cluster.submit, range(options.jobs - 200)))
            print_results(cluster, options)
        finally:
            subprocess.run([gangway, 'dev', 'down', '--dir', f'{folder}/c'], check=False, stdout=subprocess.DEVNULL)


if __name__ == '__main__':
    main()
