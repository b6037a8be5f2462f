#!/usr/bin/env python3
"""What a user notices of another who abuses the controller: submission, start and listing, quiet and beside the abuse.

Usage (root): bench/neighbour.py [--build build/release] [--rounds 4] [--runs 15] [--warm 5] [--nice] [--weight]
Starts two private clusters and measures the victim's commands on the first one in three ways: alone; while the abuser floods
the *second* cluster with listings, pings, jobs, large scripts and filters; and while he floods the first. The abuser's
programs, and the daemons that serve him, take the same cores in both: what the second measurement is slower by is the
machine's part, the rest is the controller's. The three take turns, so that whatever else the machine does is in all of
them. Prints p50 and p95 of each and ratios as JSON lines. Target: each p95 beside the abuse at most three times the quiet
one. With `--nice` the abuser's programs have the lowest priority, as if they ran elsewhere; with `--weight` the controllers
and munged have the weight that the unit file gives a controller. With `--watchers N` the neighbour is no abuser: N of his
`gqueue -i 1` ask for the queue once a second, and nothing else is asked; the mean time of a pass is a figure then, too. With
`--pages N` it is N open web pages, of a cluster in which somebody submits a job twice a second. Invariant: everything it starts is ended, also on errors.
"""

import argparse
import contextlib
import json
import os
import pathlib
import pwd
import re
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
    parser.add_argument('--rounds', type=int, default=4)
    parser.add_argument('--runs', type=int, default=15, help='of each command, in each part of a round')
    parser.add_argument('--victim', default='daemon')
    parser.add_argument('--abuser', default='games')
    parser.add_argument('--warm', type=float, default=5, help='seconds of abuse before a measurement')
    parser.add_argument('--nice', action='store_true', help="the abuser's programs run at the lowest priority")
    parser.add_argument('--weight', action='store_true', help='controllers and munged have ten times the weight of others')
    parser.add_argument('--watchers', type=int, default=0, help='so many clients list the queue once a second, in place of the abuse')
    parser.add_argument('--queue', type=int, default=200, help='jobs in the queue that they list')
    parser.add_argument('--pages', type=int, default=0, help='so many web pages are open, each of which shows the queue anew when something '
                        'changes, in place of the abuse')
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


def measure(options, env, folder, figures):
    """Adds to the victim's three figures."""
    prefix = as_user(options.victim)
    subprocess.run(['gdiag', '--reset'], env=env, check=True, stdout=subprocess.DEVNULL)
    figures['submit'] += timed([*prefix, 'gbatch', '-H', '-n1', '--wrap=true'], env, folder, options.runs)
    figures['list'] += timed([*prefix, 'gqueue', '-u', options.victim], env, folder, options.runs)
    figures['start'] += starts(prefix, env, folder, options.runs)
    told = subprocess.run(['gdiag', '--json'], env=env, check=True, capture_output=True, text=True).stdout
    figures['pass'].append(json.loads(told)['statistics']['schedule_cycle_mean'] / 1000)


LOWEST, TENFOLD = 19, -10


def set_priority(pid, nice):
    """Of a whole session: where the kernel groups sessions, the niceness of a process counts within its own only."""
    path = pathlib.Path(f'/proc/{pid}/autogroup')
    if path.exists():
        path.write_text(str(nice), encoding='ascii')


def load_of(options, env):
    """Commands of those who only look on; none: there is abuse."""
    if options.pages:
        folder = re.search(r'log_dir: "?([^"\s]+)', pathlib.Path(env['GANGWAY_CONF']).read_text(encoding='utf-8'))[1]
        log = pathlib.Path(folder) / 'gwebd.log'
        here = pathlib.Path(__file__).resolve().parent
        # Something changes all the time, whichever cluster the pages show.
        return [f'exec {sys.executable} {here}/open_pages.py {address_in(log)} {options.pages}',
                'while :; do gbatch -H -n1 --wrap=true; sleep 0.5; done']
    return ['exec gqueue -i 1'] * options.watchers


def address_in(log):
    """Where gwebd serves, as its log says."""
    return re.findall(r'serves at http://(\S+?)/', log.read_text(encoding='utf-8'))[-1]


@contextlib.contextmanager
def abuse(options, env, folder):
    """One loop for each abuse, each in a session of its own."""
    loops = []
    try:
        for words in load_of(options, env) or [f'while :; do {words}; done' for words in ABUSES]:
            nice = ['nice', '-n19'] if options.nice else []
            loops.append(subprocess.Popen([*as_user(options.abuser), *nice, 'bash', '-c', words],
                                          env={**env, 'GANGWAY_TIMEOUT': '2'}, cwd=folder, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True))
            if options.nice:
                set_priority(loops[-1].pid, LOWEST)
        time.sleep(options.warm)  # until the floods run
        yield
    finally:
        for loop in loops:
            os.killpg(loop.pid, signal.SIGKILL)
            loop.wait()


@contextlib.contextmanager
def private_cluster(options, folder):
    """The environment of a cluster of four nodes that is taken down in the end."""
    gangway = options.build / 'bin/gangway'
    up = [gangway, 'dev', 'up', '--dir', folder, '--nodes', '4']
    if options.pages:
        config = folder.with_suffix('.yaml')
        config.write_text('web: {listen: "127.0.0.1:0", open_to_read: true}\n', encoding='utf-8')
        up += ['--config', config]
    try:
        subprocess.run(up, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if options.weight:
            for daemon in ('gctld', 'munged'):
                set_priority(int((folder / f'run/{daemon}.pid').read_text()), TENFOLD)
        text = subprocess.run([gangway, 'dev', 'env', '--dir', folder], check=True, capture_output=True, text=True).stdout
        env = dict(os.environ)
        for line in text.splitlines():
            name, value = line.removeprefix('export ').split('=', 1)
            env[name] = os.path.expandvars(value.strip('"\''))
        env['PATH'] = f'{options.build.resolve() / "bin"}:{os.environ["PATH"]}'
        yield env
    finally:
        subprocess.run([gangway, 'dev', 'down', '--dir', folder], check=False, stdout=subprocess.DEVNULL)


def report(parts, load):
    """A JSON line a figure; whether all are within the target."""
    is_met = True
    for name, alone in parts['quiet'].items():
        line = {'bench': 'neighbour', 'figure': name, 'runs': len(alone), 'load1': load}
        for what, figures in parts.items():
            line[f'{what}_p50_ms'] = round(workloads.percentile(figures[name], 50), 3)
            line[f'{what}_p95_ms'] = round(workloads.percentile(figures[name], 95), 3)
        line['ratio_p95'] = round(line['beside_p95_ms'] / line['quiet_p95_ms'], 2)
        line['machine_ratio_p95'] = round(line['elsewhere_p95_ms'] / line['quiet_p95_ms'], 2)
        line['controller_ratio_p95'] = round(line['beside_p95_ms'] / line['elsewhere_p95_ms'], 2)
        is_met &= name == 'pass' or line['ratio_p95'] <= 3
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
    try:
        with private_cluster(options, root / 'a') as env, private_cluster(options, root / 'b') as other:
            for each in (env, other) if options.watchers or options.pages else ():  # whoever watches, on either, sees as much
                timed([*as_user(options.abuser), 'gbatch', '-H', '-n1', '--wrap=true'], each, folder, options.queue)
            load = round(os.getloadavg()[0], 2)
            parts = {part: {'submit': [], 'list': [], 'start': [], 'pass': []} for part in ('quiet', 'elsewhere', 'beside')}
            for _ in range(options.rounds):
                measure(options, env, folder, parts['quiet'])
                with abuse(options, other, folder):
                    measure(options, env, folder, parts['elsewhere'])
                with abuse(options, env, folder):
                    measure(options, env, folder, parts['beside'])
        return 0 if report(parts, load) else 1
    finally:
        subprocess.run(['rm', '-rf', '--one-file-system', root], check=False)


if __name__ == '__main__':
    sys.exit(main())
