#!/usr/bin/env python3
"""Measures arrays of a million tasks: how long it takes to submit one, to cancel every second task, and to change others.

Usage: bench/arrays.py [--build build/release] [--tasks 1000000] [--runs 30] [--json FILE]
A private cluster with nodes on which the first tasks wait behind a job that runs. Times are those of whole processes, one
after the other. Prints a JSON line a figure, then a Markdown table with the targets. Invariant: everything it starts is
ended, also on errors.
"""

import argparse
import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import beside_slurm
import peers
import workloads


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument('--build', default=here.parent / 'build/release', help='build folder with bin/ and libexec/')
    parser.add_argument('--tasks', type=int, default=1_000_000)
    parser.add_argument('--runs', type=int, default=30)
    parser.add_argument('--json', help='append the JSON lines to this file too')
    options = parser.parse_args()
    if not 1000 <= options.tasks <= 1_000_001:
        parser.error('--tasks: from 1,000 to 1,000,001')
    return options


class Commands:
    """Commands of one cluster, and how long they take."""

    def __init__(self, peer):
        self.peer = peer

    def run(self, *argv):
        """Output and milliseconds of a command."""
        begun = time.monotonic()
        done = subprocess.run([self.peer.command(argv[0]), *argv[1:]], env=self.peer.env, capture_output=True,
                              text=True, check=True)
        return done.stdout, (time.monotonic() - begun) * 1000

    def submit(self, *options):
        """The number of an array and the time that its submission took."""
        out, took = self.run('sbatch', '--parsable', '--wrap=true', '-o', '/dev/null', *options)
        return out.strip(), took

    def waiting(self, array):
        """What squeue shows of those that wait, and the time that it took."""
        out, took = self.run('squeue', '-h', '-t', 'PD', '-j', array, '-o', '%i')
        return out.strip(), took


def summary(name, times):
    """One figure."""
    return {'figure': name, 'runs': len(times), 'p50_ms': round(workloads.percentile(sorted(times), 50), 1),
            'p95_ms': round(workloads.percentile(sorted(times), 95), 1)}


def measure(commands, options):
    """Times by figure; each array is checked for what is left of it."""
    last = options.tasks - 1
    times = {name: [] for name in ('one job submitted', 'array submitted', 'every second task cancelled',
                                   'a tenth held', 'throttle changed', 'squeue -j', 'the rest cancelled')}
    for _ in range(options.runs):
        job, took = commands.submit('-H')
        times['one job submitted'].append(took)
        array, took = commands.submit('-a', f'0-{last}%100')
        times['array submitted'].append(took)
        times['every second task cancelled'].append(commands.run('scancel', f'{array}_[1-{last}:2]')[1])
        times['a tenth held'].append(commands.run('scontrol', 'hold', f'{array}_[{last // 2}-{last // 2 + last // 10}]')[1])
        times['throttle changed'].append(
            commands.run('scontrol', 'update', f'JobId={array}', 'ArrayTaskThrottle=50')[1])
        shown, took = commands.waiting(array)
        times['squeue -j'].append(took)
        if f'{last - 1}:2' not in shown:
            raise peers.BenchError(f'left of array {array}: {shown}')
        times['the rest cancelled'].append(commands.run('scancel', array, job)[1])
    return times


def main():
    """Runs it."""
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    targets = {'array submitted': 20, 'every second task cancelled': 50}
    with contextlib.ExitStack() as stack:
        root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='gw-arrays-')))
        root.chmod(0o755)
        peer = beside_slurm.started(stack, peers.Gangway(root / 'cluster', 1, 0, options.build))
        commands = Commands(peer)
        commands.submit('-N1', '--exclusive', '-o', '/dev/null', '--wrap=sleep 3600')
        results = [summary(name, times) for name, times in measure(commands, options).items()]
    for result in results:
        line = json.dumps(result)
        print(line, flush=True)
        if options.json:
            with open(options.json, 'a', encoding='utf-8') as file:
                file.write(line + '\n')
    print(f'\n| {options.tasks:,} tasks | median (p95) | target | |\n|---|---|---|---|')
    for result in results:
        target = targets.get(result['figure'])
        verdict = '' if target is None else 'met' if result['p50_ms'] <= target else 'missed'
        wanted = '' if target is None else f'<= {target} ms'
        print(f"| {result['figure']} | {result['p50_ms']} ms ({result['p95_ms']}) | {wanted} | {verdict} |")


if __name__ == '__main__':
    main()
