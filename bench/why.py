#!/usr/bin/env python3
"""Measures `gangway why` on a long queue: a private cluster whose nodes are full, and many jobs that wait.

Usage: bench/why.py [--build build/release] [--jobs 100000] [--runs 15]
Prints a Markdown table: the whole process of `gangway why` of a job at the end of the queue, with and without changes
tried, and a submission alone and while such questions are asked one after the other. The jobs are of 40 shapes.
Invariant: the cluster is ended, also on errors.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import threading
import time


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument('--build', type=pathlib.Path, default=here.parent / 'build/release')
    parser.add_argument('--jobs', type=int, default=100_000)
    parser.add_argument('--runs', type=int, default=15)
    return parser.parse_args()


class Cluster:
    """The commands of a private cluster."""

    def __init__(self, build, folder):
        self.bin = build.resolve() / 'bin'
        self.folder = folder
        self.env = {**os.environ, 'GANGWAY_CONF': f'{folder}/c/gangway.yaml'}

    def run(self, *words):
        """Seconds, and what it printed."""
        began = time.perf_counter()
        done = subprocess.run([self.bin / words[0], *words[1:]], env=self.env, cwd=self.folder, check=True,
                              capture_output=True, text=True)
        return time.perf_counter() - began, done.stdout

    def submit(self, number):
        """One of 40 shapes; its seconds and its number."""
        gpus, minutes = 1 + number % 8, 30 + number % 5
        seconds, out = self.run('gbatch', '-N2', f'--gpus-per-node={gpus}', f'-t{minutes}', '--wrap', 'true')
        return seconds, int(re.search(r'\d+', out)[0])


def print_results(cluster, runs, last):
    """Measures and prints."""
    print('| | median | slowest |\n|---|---|---|')
    for what, words in (('why, changes tried', ['why']), ('why --no-offers', ['why', '--no-offers'])):
        times = [cluster.run('gangway', *words, str(last))[0] for _ in range(runs)]
        print(f'| {what} | {statistics.median(times) * 1e3:.1f} ms | {max(times) * 1e3:.1f} ms |')
    alone = [cluster.submit(i)[0] for i in range(100)]
    is_over = threading.Event()

    def ask():
        asked = 0
        while not is_over.is_set():
            cluster.run('gangway', 'why', str(last))
            asked += 1
        return asked

    with concurrent.futures.ThreadPoolExecutor() as pool:
        asking = pool.submit(ask)
        beside = [cluster.submit(i)[0] for i in range(100)]
        is_over.set()
        asked = asking.result()
    print(f'| a submission alone | {statistics.median(alone) * 1e3:.1f} ms | {max(alone) * 1e3:.1f} ms |')
    print(f'| a submission beside {asked} questions | {statistics.median(beside) * 1e3:.1f} ms | {max(beside) * 1e3:.1f} ms |')


def main():
    """Brings a cluster up, fills it, measures, and takes it down."""
    options = parse_arguments()
    gangway = options.build / 'bin/gangway'
    with tempfile.TemporaryDirectory(prefix='gw-why-') as folder:
        cluster = Cluster(options.build, folder)
        subprocess.run([gangway, 'dev', 'up', '--dir', f'{folder}/c', '--nodes', '4', '--topology', 'dgx-h100'],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            cluster.run('gbatch', '-N4', '--gpus-per-node=8', '-t600', '--wrap', 'sleep 36000')
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                last = max(number for _, number in pool.map(cluster.submit, range(options.jobs)))
            print_results(cluster, options.runs, last)
        finally:
            subprocess.run([gangway, 'dev', 'down', '--dir', f'{folder}/c'], check=False, stdout=subprocess.DEVNULL)


if __name__ == '__main__':
    main()
