#!/usr/bin/env python3
"""What a user notices of another who abuses the controller: submission, start and listing, quiet and beside the abuse.

Usage (root): bench/neighbour.py [--build build/release] [--runs 40] [--victim daemon] [--abuser games]
Starts a private cluster of its own, measures the victim's commands alone, then beside floods of listings, pings, jobs,
large scripts and filters of the abuser, and prints p50 and p95 of both and their ratio as JSON lines. Target: each p95 at
most three times the quiet one. The abuser's programs compete for the same cores as the controller does: on a machine with
few cores `--nice` gives the abuser's side the lowest priority, so that the controller's own fairness is what is measured.
Invariant: everything it starts is ended, also on errors.
"""

import argparse
import json
import os
import pathlib
import pwd
import signal
import subprocess
import sys
import tempfile
import time

import workloads

ABUSES = ('gqueue -a', 'ginfo -N', 'gcontrol show job', 'gcontrol ping', 'gcontrol ping',
          "gbatch -n1 -H --wrap=true", "gcancel -n $(seq -s, 1 2000)",
          "(echo '#!/bin/sh'; echo \\# $RANDOM$RANDOM; head -c 1000000 /dev/zero | tr '\\0' x) | gbatch -H")


def parse_arguments():
    """The command line."""
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--build', type=pathlib.Path, default=here.parent / 'build/release')
    parser.add_argument('--runs', type=int, default=40)
    parser.add_argument('--victim', default='daemon')
    parser.add_argument('--abuser', default='games')
    parser.add_argument('--nice', action='store_true', help="the abuser's programs run at the lowest priority")
    return parser.parse_args()


def as_user(name):
    """Words in front of a command that run it as somebody else."""
    entry = pwd.getpwnam(name)
    return ['setpriv', f'--reuid={entry.pw_uid}', f'--regid={entry.pw_gid}', '--init-groups', '--']


def timed(argv, env, folder, runs):
    """Milliseconds of each run; one that fails ends the measurement."""
    times = []
    for _ in range(runs):
        begin = time.monotonic()
        subprocess.run(argv, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        times.append((time.monotonic() - begin) * 1000)
    return times


def starts(prefix, env, folder, runs):
    """Milliseconds from before a submission to the first instruction of its job."""
    times = []
    fifo = folder / 'started'
    os.mkfifo(fifo)
    os.chmod(fifo, 0o666)
    for _ in range(runs):
        begin = time.monotonic()
        subprocess.run([*prefix, 'gbatch', '-n1', '-t', '5', '-o', '/dev/null', f'--wrap=echo > {fifo}'], env=env, cwd=folder,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        with open(fifo, encoding='ascii') as end:
            end.read()
        times.append((time.monotonic() - begin) * 1000)
    fifo.unlink()
    return times


def measure(options, env, folder):
    """The victim's three figures."""
    prefix = as_user(options.victim)
    return {'submit': timed([*prefix, 'gbatch', '-H', '-n1', '--wrap=true'], env, folder, options.runs),
            'list': timed([*prefix, 'gqueue', '-u', options.victim], env, folder, options.runs),
            'start': starts(prefix, env, folder, options.runs)}


def begin_abuse(options, env, folder):
    """One loop for each abuse, each in a session of its own."""
    nice = ['nice', '-n19'] if options.nice else []
    loops = []
    for words in ABUSES:
        loops.append(subprocess.Popen([*as_user(options.abuser), *nice, 'bash', '-c', f'while :; do {words}; done'],
                                      env={**env, 'GANGWAY_TIMEOUT': '2'}, cwd=folder, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True))
    return loops


def report(quiet, beside, load):
    """A JSON line a figure; whether all are within the target."""
    is_met = True
    for name, alone in quiet.items():
        line = {'bench': 'neighbour', 'figure': name, 'runs': len(alone), 'load1': load}
        for what, times in (('quiet', alone), ('beside', beside[name])):
            line[f'{what}_p50_ms'] = round(workloads.percentile(times, 50), 1)
            line[f'{what}_p95_ms'] = round(workloads.percentile(times, 95), 1)
        line['ratio_p95'] = round(line['beside_p95_ms'] / line['quiet_p95_ms'], 2)
        is_met &= line['ratio_p95'] <= 3
        print(json.dumps(line), flush=True)
    return is_met


def main():
    """Exit code 0: the target is met."""
    options = parse_arguments()
    root = pathlib.Path(tempfile.mkdtemp(prefix='gw-neighbour-', dir='/tmp'))
    root.chmod(0o755)
    folder = root / 'work'
    folder.mkdir()
    folder.chmod(0o1777)
    gangway = options.build / 'bin/gangway'
    loops = []
    try:
        subprocess.run([gangway, 'dev', 'up', '--dir', root / 'd', '--nodes', '4'], check=True, stdout=subprocess.DEVNULL)
        text = subprocess.run([gangway, 'dev', 'env', '--dir', root / 'd'], check=True, capture_output=True, text=True).stdout
        env = dict(os.environ)
        for line in text.splitlines():
            name, value = line.removeprefix('export ').split('=', 1)
            env[name] = os.path.expandvars(value.strip('"\''))
        env['PATH'] = f'{options.build.resolve() / "bin"}:{os.environ["PATH"]}'
        load = round(os.getloadavg()[0], 2)
        quiet = measure(options, env, folder)
        loops = begin_abuse(options, env, folder)
        time.sleep(3)  # until the floods run
        beside = measure(options, env, folder)
        return 0 if report(quiet, beside, load) else 1
    finally:
        for loop in loops:
            os.killpg(loop.pid, signal.SIGKILL)
            loop.wait()
        subprocess.run([gangway, 'dev', 'down', '--dir', root / 'd'], check=False, stdout=subprocess.DEVNULL)
        subprocess.run(['rm', '-rf', '--one-file-system', root], check=False)


if __name__ == '__main__':
    sys.exit(main())
