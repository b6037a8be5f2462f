#!/usr/bin/env python3
"""A gang on all nodes of a large cluster: what each part of its life costs the controller's event loop.

A controller and processes that play the nodes (bench_swarm) by the real protocols; nothing is executed. The gang is placed, its nodes
are cut off and come back, the controller is killed and started again, the gang is suspended, resumes, and is cancelled; the
controller is stopped for longer than nodes may be silent. One JSON line for each: processor time and working time of the loop, its
longest turn, seconds until all was done, and nodes that were given up although they had spoken.
"""

import argparse
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time
import urllib.request

from peers import copy_programs, end_process, free_ports
from swarm import CONFIG, munged, start

MORE = """\
metrics: {{listen: "127.0.0.1:{metrics}"}}
"""


class Cluster:
    """The controller, its nodes, and what it says of itself."""

    def __init__(self, options, root, programs):
        self.options, self.root, self.programs = options, root, programs
        self.config = root / 'gangway.yaml'
        port = free_ports(2)
        self.metrics_port = port + 1
        self.config.write_text(CONFIG.format(port=port, root=root, last=options.nodes - 1, user=os.getuid(),
                                             topology=options.topology) + MORE.format(metrics=self.metrics_port))
        self.env = {**os.environ, 'GANGWAY_CONF': str(self.config), 'PATH': f'{programs}/bin:{os.environ["PATH"]}'}
        self.munged = munged(root)
        self.wait((root / 'munge.socket').exists)
        self.gctld = None
        self.begin_controller()
        cuts = [options.nodes * i // options.processes for i in range(options.processes + 1)]
        self.swarms = [start([options.build / 'bin/bench_swarm', self.config, first, end - first, options.topology], None)
                       for first, end in zip(cuts, cuts[1:])]

    @staticmethod
    def wait(done, limit=600):
        """Until it is so."""
        end = time.monotonic() + limit
        while not done():
            if time.monotonic() > end:
                raise SystemExit('waited for too long')
            time.sleep(0.3)

    def begin_controller(self):
        """Appends to the log."""
        with open(self.root / 'gctld.log', 'a', encoding='utf-8') as log:
            self.gctld = start([self.programs / 'bin/gctld', '--config', self.config], log)

    def figures(self):
        """Of /metrics by name; {} while it does not answer."""
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{self.metrics_port}/metrics', timeout=60) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {}
        return {line.rsplit(' ', 1)[0]: float(line.rsplit(' ', 1)[1]) for line in lines if not line.startswith('#')}

    def nodes_up(self):
        """Nodes that answer."""
        return sum(int(v) for k, v in self.figures().items() if k.startswith('gangway_nodes{') and '*' not in k)

    def jobs(self, state):
        """Jobs in a state."""
        return int(self.figures().get(f'gangway_jobs{{state="{state}"}}', 0))

    def commits_settled(self):
        """Nothing is written any more."""
        before = self.figures().get('gangway_store_commits_total')
        time.sleep(2)
        return before is not None and self.figures().get('gangway_store_commits_total') - before < 5

    def given_up(self):
        """Lines of the log."""
        return (self.root / 'gctld.log').read_text(encoding='utf-8').count('nothing heard of it')

    def command(self, *argv):
        """As a user gives it."""
        return subprocess.run([str(a) for a in argv], env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True,
                              text=True).stdout.strip()

    def measure(self, name, act, done, is_new=False):
        """Runs one part; `is_new`: its controller counts from zero."""
        before = {} if is_new else self.figures()
        lost = self.given_up()
        begun = time.monotonic()
        act()
        self.wait(done)
        took = time.monotonic() - begun
        after = self.figures()
        cpu, busy = (after[f'gangway_loop_{k}_seconds_total'] - before.get(f'gangway_loop_{k}_seconds_total', 0) for k in ('cpu', 'busy'))
        print(json.dumps({'bench': 'swarm_gang', 'nodes': self.options.nodes, 'part': name, 'loop_cpu_s': round(cpu, 2),
                          'loop_busy_s': round(busy, 2), 'longest_turn_s': round(after['gangway_loop_longest_turn_seconds'], 3),
                          'done_s': round(took, 1), 'given_up': self.given_up() - lost}), flush=True)

    def signal_swarms(self, signo):
        """To all of them."""
        for swarm in self.swarms:
            swarm.send_signal(signo)

    def restart(self):
        """kill -9, and begun again."""
        self.gctld.kill()
        self.gctld.wait()
        self.begin_controller()

    def stand(self, seconds):
        """The controller is busy with something else."""
        self.gctld.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.gctld.send_signal(signal.SIGCONT)

    def end(self):
        """All of it."""
        for process in [*self.swarms, self.gctld, self.munged]:
            end_process(process.pid)
            process.wait()


def parse_arguments():
    """The command line."""
    here = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', type=pathlib.Path, default=here.parent / 'build/release', help='build folder with bin/ and libexec/')
    parser.add_argument('--nodes', type=int, default=10000)
    parser.add_argument('--topology', default='dgx-h100')
    parser.add_argument('--processes', type=int, default=os.cpu_count(), help='that play the nodes')
    parser.add_argument('--stand', type=int, default=90, help='seconds for which the controller is stopped')
    return parser.parse_args()


def live(cluster, options):
    """The gang's life."""
    everyone = options.nodes
    cluster.measure('nodes register', lambda: None, lambda: cluster.nodes_up() == everyone and cluster.commits_settled(), is_new=True)
    job = []

    def submit():
        job.append(cluster.command('gbatch', '--parsable', '-N', everyone, '--ntasks-per-node=1', '--wrap', 'true'))

    cluster.measure('idle', lambda: time.sleep(10), lambda: True)
    cluster.measure('placed', submit, lambda: cluster.jobs('running') == 1)
    cluster.measure('cut off', lambda: cluster.signal_swarms(signal.SIGUSR1), lambda: cluster.nodes_up() == 0)
    cluster.measure('back', lambda: cluster.signal_swarms(signal.SIGUSR2), lambda: cluster.nodes_up() == everyone)
    cluster.measure('controller restarted', cluster.restart, lambda: cluster.nodes_up() == everyone, is_new=True)
    cluster.measure('suspended', lambda: cluster.command('gcontrol', 'suspend', job[0]), lambda: cluster.jobs('suspended') == 1)
    cluster.measure('resumed', lambda: cluster.command('gcontrol', 'resume', job[0]), lambda: cluster.jobs('running') == 1)
    cluster.measure('controller stood', lambda: cluster.stand(options.stand), cluster.commits_settled)
    cluster.measure('cancelled', lambda: cluster.command('gcancel', job[0]), lambda: cluster.jobs('cancelled') == 1)


def main():
    """Measures and prints."""
    options = parse_arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix='gw-swarm-', dir='/dev/shm') as root:
        root = pathlib.Path(root)
        root.chmod(0o755)  # munged wants all to reach its socket
        cluster = Cluster(options, root, copy_programs(options.build, root / 'programs'))
        try:
            live(cluster, options)
        finally:
            cluster.end()


if __name__ == '__main__':
    main()
