#!/usr/bin/env python3
"""A step over many nodes: a controller, processes that play the nodes (bench_swarm, one a core), and grun. Nothing is executed.

Prints one JSON line: milliseconds from the call of grun until the last task runs ("start"), and until grun ends, inside an
allocation ("step") and with one of its own ("alone"), one task a node.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

from peers import copy_programs, end_process, free_ports, wait_until
from workloads import percentile

CONFIG = """\
cluster: swarm
controller: {{host: 127.0.0.1, port: {port}, listen: 127.0.0.1, user: {user}, state_dir: {root}/state, \
log_dir: {root}/log, run_dir: {root}}}
auth: {{munge_socket: {root}/munge.socket}}
jobs: {{allow_root_jobs: true}}
nodes:
  - {{name: "s[0-{last}]", topology: {topology}}}
partitions:
  - {{name: main, nodes: "s[0-{last}]", default: true, unlimited: true}}
"""


def parse_arguments():
    """The command line."""
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', type=pathlib.Path, default=here.parent / 'build/release',
                        help='build folder with bin/ and libexec/')
    parser.add_argument('--nodes', type=int, default=1000)
    parser.add_argument('--topology', default='dgx-h100')
    parser.add_argument('--runs', type=int, default=10)
    parser.add_argument('--processes', type=int, default=os.cpu_count(), help='that play the nodes')
    return parser.parse_args()


def start(argv, log, env=None):
    """A process whose output goes to a file, but for a first line that is waited for if `log` is None."""
    return subprocess.Popen([str(a) for a in argv], env=env, stdin=subprocess.DEVNULL,
                            stdout=log or subprocess.PIPE, stderr=log, text=True)


def munged(root):
    """A munged of its own, whose socket is {root}/munge.socket."""
    (root / 'munge.key').write_bytes(os.urandom(128))
    (root / 'munge.key').chmod(0o600)
    return start(['/usr/sbin/munged', '--foreground', f'--socket={root}/munge.socket', f'--key-file={root}/munge.key',
                  f'--seed-file={root}/seed', f'--pid-file={root}/munged.pid', f'--log-file={root}/munged.log',
                  '--num-threads=4'], subprocess.DEVNULL)


def timed(argv, env, runs):
    """Begin and end of each run, by the monotonic clock. One more than asked: in the first programs are read."""
    times = []
    for _ in range(runs + 1):
        begin = time.monotonic()
        subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, check=True)
        times.append((begin, time.monotonic()))
    return times


def median(spans):
    """Milliseconds, without the first run."""
    return round(percentile(sorted((end - begin) * 1000 for begin, end in spans[1:]), 50))


def last_starts(swarms, count):
    """When the last task of each step began to run."""
    return [max(float(swarm.stdout.readline()) for swarm in swarms) for _ in range(count)]


def measure(options, root, programs):
    """Brings it all up, measures, and takes it down."""
    running = []
    try:
        config = root / 'gangway.yaml'
        config.write_text(CONFIG.format(port=free_ports(1), root=root, last=options.nodes - 1, user=os.getuid(),
                                        topology=options.topology))
        running.append(munged(root))
        with open(root / 'gctld.log', 'w', encoding='utf-8') as log:
            running.append(start([programs / 'bin/gctld', '--config', config], log))
        wait_until((root / 'munge.socket').exists, 'start of munged')
        wait_until(lambda: 'serves at' in (root / 'gctld.log').read_text(), 'start of gctld')
        cuts = [options.nodes * i // options.processes for i in range(options.processes + 1)]
        swarms = [start([options.build / 'bin/bench_swarm', config, first, end - first, options.topology], None)
                  for first, end in zip(cuts, cuts[1:])]
        running += swarms
        if any(swarm.stdout.readline() != 'up\n' for swarm in swarms):
            raise SystemExit('the nodes did not register: ' + (root / 'gctld.log').read_text()[-2000:])
        env = {**os.environ, 'GANGWAY_CONF': str(config), 'PATH': f'{programs}/bin:{os.environ["PATH"]}'}
        nodes = str(options.nodes)
        alone = timed(['grun', '-Q', '-N', nodes, '-n', nodes, 'true'], env, options.runs)
        inside = subprocess.run(['galloc', '-Q', '-N', nodes, '-n', nodes, 'python3', __file__, '--inside',
                                 str(options.runs), nodes], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                check=True, text=True)
        result = {'bench': 'swarm', 'nodes': options.nodes, 'runs': options.runs}
        for name, spans in (('alone', alone), ('step', json.loads(inside.stdout))):
            starts = zip((begin for begin, _ in spans), last_starts(swarms, len(spans)))
            result |= {f'{name}_start_p50_ms': median(list(starts)), f'{name}_p50_ms': median(spans)}
        return result
    finally:
        for process in reversed(running):
            end_process(process.pid)
            process.wait()


def main():
    """Measures and prints."""
    options = parse_arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix='gw-swarm-', dir='/dev/shm') as root:
        root = pathlib.Path(root)
        root.chmod(0o755)  # munged wants all to reach its socket
        print(json.dumps(measure(options, root, copy_programs(options.build, root / 'programs'))))


if __name__ == '__main__':
    import sys
    if '--inside' in sys.argv:
        print(json.dumps(timed(['grun', '-Q', '-n', sys.argv[3], 'true'], dict(os.environ), int(sys.argv[2]))))
    else:
        main()
