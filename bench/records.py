#!/usr/bin/env python3
"""Measures accounting among many ended jobs: how long sacct and sreport take, as whole processes.

Usage: bench/records.py [--build build/release] [--jobs 1000000] [--runs 30] [--json FILE]
A private cluster runs one job; with the controller down its row is copied by SQL until there are --jobs ended jobs of
1,000 users over 300 days, and with it 1,000 jobs of one user on one day. Prints a JSON line a figure, then a Markdown
table with the targets. Invariant: everything it starts is ended, also on errors.
"""

import argparse
import contextlib
import datetime
import json
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import beside_slurm
import interactive
import peers
import workloads

DAY_US = 24 * 3600 * 1_000_000
USERS = 1000
DAYS = 300
COLUMNS = ('state,uid,user,name,partition,account,qos,nodes,node_count,cpus,gpus,mem_mb,submitted,started,ended,exit_code,'
           'exit_signo,status,spec')


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument('--build', default=here.parent / 'build/release', help='build folder with bin/ and libexec/')
    parser.add_argument('--jobs', type=int, default=1_000_000)
    parser.add_argument('--runs', type=int, default=30)
    parser.add_argument('--json', help='append the JSON lines to this file too')
    options = parser.parse_args()
    if options.jobs < 10_000:
        parser.error('--jobs: at least 10,000')
    return options


def run_one_job(peer):
    """The id of a job that has run to its end."""
    script = workloads.write_script(peer.root / 'one.sh', 'true\n')
    _, ids = workloads.submit(peer, 1, 1, script, '-n1')
    workloads.wait_until(lambda: peer.active() == 0, 'the end of the job', 60, 0.05)
    return ids[0]


def stop_controller(peer):
    """Ends it as an administrator would: a kill keeps what was committed, too, but leaves the log to be read."""
    pid = peer.controller_pid()
    peers.end_process(pid)


def fill(database, job, jobs):
    """Copies the row of `job`: returns the first id of a copy, and the one of the user `daily`."""
    now_us = int(time.time() * 1e6)
    with contextlib.closing(sqlite3.connect(database)) as db, db:
        other = COLUMNS.split(',')
        values = {'user': "'u' || (i % :users)", 'account': "'a' || (i % 50)", 'submitted': 't - 120000000',
                  'started': 't - 60000000', 'ended': 't'}
        picked = ','.join(values.get(column, column) for column in other)
        counting = 'WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count)'
        insert = f'INSERT INTO ended_jobs(id,{COLUMNS}) {counting} SELECT :first + i,{picked} FROM ended_jobs,'
        first = job + 1
        db.execute(insert + '(SELECT i, :end - (i % :days) * :day - i AS t FROM n) WHERE id = :job',
                   {'users': USERS, 'count': jobs - 1000, 'first': first, 'end': now_us - DAY_US, 'days': DAYS,
                    'day': DAY_US, 'job': job})
        daily = first + jobs - 1000
        values['user'] = "'daily'"
        picked = ','.join(values.get(column, column) for column in other)
        insert = f'INSERT INTO ended_jobs(id,{COLUMNS}) {counting} SELECT :first + i,{picked} FROM ended_jobs,'
        db.execute(insert + '(SELECT i, :end - i * 1000000 AS t FROM n) WHERE id = :job',
                   {'count': 1000, 'first': daily, 'end': noon_us(now_us - 10 * DAY_US), 'job': job})
    return first, daily


def noon_us(time_us):
    """Noon of that day."""
    day = datetime.datetime.fromtimestamp(time_us / 1e6).replace(hour=12, minute=0, second=0, microsecond=0)
    return int(day.timestamp() * 1e6)


def measure(peer, name, runs, argv, lines):
    """Times of a command, which must print so many lines."""
    done = subprocess.run([peer.command(argv[0]), *argv[1:]], env=peer.env, capture_output=True, text=True, check=True)
    got = len(done.stdout.splitlines())
    if got != lines:
        raise peers.BenchError(f'{name}: {got} lines, not {lines}')
    times = interactive.timed([peer.command(argv[0]), *argv[1:]], peer.env, runs)
    return {'figure': name, 'runs': runs, 'lines': lines, 'p50_ms': round(workloads.percentile(times, 50), 1),
            'p95_ms': round(workloads.percentile(times, 95), 1)}


def figures(peer, options):
    """All of them, on a cluster that is up."""
    job = run_one_job(peer)
    stop_controller(peer)
    begun = time.monotonic()
    first, daily = fill(next(peer.root.rglob('gangway.db')), job, options.jobs)
    print(f'{options.jobs} rows in {time.monotonic() - begun:.0f} s', file=sys.stderr)
    peer.spawn_controller()
    workloads.wait_until(peer.answers, 'an answer of the controller', 120, 0.1)
    day = datetime.date.fromtimestamp(time.time() - 10 * 86400).isoformat()
    middle = first + options.jobs // 2
    yield measure(peer, 'sacct -j ID', options.runs, ['sacct', '-nXP', '-j', str(middle)], 1), 30
    yield measure(peer, "a user's day of 1,000 jobs", options.runs,
                  ['sacct', '-nXP', '-u', 'daily', '-S', day, '-E', f'{day}T23:59:59'], 1000), 100
    yield measure(peer, "a user's year of 1,000 jobs", options.runs,
                  ['sacct', '-nXP', '-u', 'u7', '-S', 'now-365days'],
                  len(range(7, options.jobs - 1000, USERS))), None
    yield measure(peer, 'use of a month by user', max(3, options.runs // 10),
                  ['sreport', '-n', '-P', 'user', 'TopUsage', 'start=now-30days', 'end=now'], 10), None
    assert daily > middle


def main():
    """Runs it."""
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    results = []
    with contextlib.ExitStack() as stack:
        root = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='gw-records-')))
        root.chmod(0o755)
        peer = beside_slurm.started(stack, peers.Gangway(root / 'cluster', 1, 0, options.build))
        for result, target in figures(peer, options):
            results.append((result, target))
            line = json.dumps(result)
            print(line, flush=True)
            if options.json:
                with open(options.json, 'a', encoding='utf-8') as file:
                    file.write(line + '\n')
    print(f'\n| figure, {options.jobs:,} ended jobs | median (p95) | target | |\n|---|---|---|---|')
    for result, target in results:
        verdict = '' if target is None else 'met' if result['p50_ms'] <= target else 'missed'
        wanted = '' if target is None else f'<= {target} ms'
        print(f"| {result['figure']} | {result['p50_ms']} ms ({result['p95_ms']}) | {wanted} | {verdict} |")


if __name__ == '__main__':
    main()
