#!/usr/bin/env python3
"""Measures what the controller's prolog and epilog of a job cost: held jobs that do nothing, run to completion with both
(/bin/true) and with neither, in turn on one cluster.

Usage: bench/job_programs.py [--build build/release] [--jobs 1000] [--repeat 5] [--json FILE]
Prints a JSON line a run and the median of the paired ratios. Invariant: everything it starts is ended, also on errors.
"""

import argparse
import contextlib
import json
import pathlib
import signal
import statistics
import sys
import tempfile
import time

import beside_slurm
import peers


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument('--build', default=here.parent / 'build/release', help='build folder with bin/ and libexec/')
    parser.add_argument('--jobs', type=int, default=1_000)
    parser.add_argument('--repeat', type=int, default=5)
    parser.add_argument('--json', help='append the JSON lines to this file too')
    return parser.parse_args()


def set_programs(cluster, program):
    """The controller and gscriptd read a configuration with these programs."""
    path = (cluster.root / 'run').resolve() / 'gangway.yaml'
    lines = [line for line in path.read_text().splitlines() if ' # of the bench' not in line]
    at = next(i for i, line in enumerate(lines) if line.startswith('controller:'))
    if not lines[at].rstrip().endswith(':'):
        raise peers.BenchError('the controller section is in one line')
    indent = lines[at + 1][:len(lines[at + 1]) - len(lines[at + 1].lstrip())]
    lines[at + 1:at + 1] = [f'{indent}{key}: "{program}" # of the bench' for key in ('prolog', 'epilog')]
    path.write_text('\n'.join(lines) + '\n')
    cluster.run('scontrol', 'reconfigure')


def rate(cluster, jobs):
    """Jobs a second, from the release to the empty queue."""
    script = cluster.root / 'nothing.sh'
    script.write_text('#!/bin/sh\n')
    job = cluster.run('sbatch', '--parsable', '-H', '-n1', '-o', '/dev/null', f'--array=1-{jobs}', str(script)).strip()
    begin = time.monotonic()
    cluster.run('scontrol', 'release', job)
    peers.wait_until(lambda: cluster.active() == 0, 'an empty queue', 600, 0.02)
    return jobs / (time.monotonic() - begin)


def main():
    """Runs all; 1 and a message when something did not work."""
    options = parse_arguments()
    with contextlib.ExitStack() as stack:
        root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='gw-bench-')))
        root.chmod(0o755)
        cluster = peers.Gangway(root / 'gangway', 4, 0, options.build)
        stack.callback(cluster.down)
        cluster.up()
        rate(cluster, options.jobs)  # programs and daemons are in memory from now on
        ratios = []
        for _ in range(options.repeat):
            result = {}
            for name, program in (('neither', ''), ('both', '/bin/true')):
                set_programs(cluster, program)
                result[name] = round(rate(cluster, options.jobs), 1)
            ratios.append(result['both'] / result['neither'])
            line = json.dumps({'figure': 'job_programs', 'jobs': options.jobs, **result})
            print(line, flush=True)
            if options.json:
                with open(options.json, 'a', encoding='utf-8') as out:
                    out.write(line + '\n')
        print(f'median of {options.repeat} ratios: {statistics.median(ratios):.2f}')
    return 0


if __name__ == '__main__':
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(beside_slurm.in_child(main))
