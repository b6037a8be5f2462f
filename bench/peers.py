"""The two clusters that beside_slurm.py compares, each in a folder of its own: Slurm and Gangway.

Both are driven by the same command names (sbatch, squeue, scancel, scontrol, sinfo); a peer gives the folder they come
from, their environment, and its controller as a process that can be killed and started again. Invariants: processes are
ended by the id that their pid file or Popen names, and every wait has a bound.
"""

import getpass
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import time

WAIT_S = 60.0
SLURM_SBIN = pathlib.Path('/usr/sbin')

SLURM_CONF = """\
ClusterName=bench
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket={root}/munge.socket
SlurmctldPort={port}
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool/%n
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.%n.pid
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.%n.log
SlurmctldDebug=error
SlurmdDebug=error
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=300
InactiveLimit=0
MaxJobCount=120000
MinJobAge=5
MessageTimeout=60
TCPTimeout=10
KillWait=5
PriorityType=priority/basic
SchedulerType=sched/builtin
SchedulerParameters={scheduler}
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# The best of five tunings tried for throughput; the second starts single jobs soonest (no deferral, no batch delay).
SLURM_THROUGHPUT = ('defer,batch_sched_delay=1,default_queue_depth=1000,partition_job_depth=1000,'
                    'sched_min_interval=20000,sched_max_job_start=500,max_rpc_cnt=150')
SLURM_LATENCY = 'batch_sched_delay=0,sched_min_interval=20000'


class BenchError(Exception):
    """A cluster or command did not do what the measurement needs."""


def wait_until(condition, what, limit_s=WAIT_S, poll_s=0.02):
    """Waits until condition() holds; BenchError naming `what` after limit_s."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise BenchError(f'{what}: not within {limit_s:.0f} s')
        time.sleep(poll_s)


def is_alive(pid):
    """Whether process pid exists and is not a zombie."""
    try:
        return pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


def read_pid(path):
    """The process id in a pid file, or None."""
    try:
        return int(pathlib.Path(path).read_text())
    except (OSError, ValueError):
        return None


def end_process(pid, limit_s=10.0):
    """SIGTERM, then SIGKILL after limit_s; returns when the process is gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if pid is None or not is_alive(pid):
            return
        os.kill(pid, number)
        try:
            wait_until(lambda: not is_alive(pid), f'end of process {pid}', limit_s)
        except BenchError:
            continue


def free_ports(count):
    """A port number p such that p to p + count - 1 are free on loopback now."""
    for base in range(21000 + os.getpid() % 5000, 32000, count):
        try:
            held = [socket.create_server(('127.0.0.1', base + i)) for i in range(count)]
        except OSError:
            continue
        for each in held:
            each.close()
        return base
    raise BenchError('no free ports on 127.0.0.1')


def copy_programs(build, to):
    """Copies what a build folder or prefix runs from, so that a build meanwhile changes nothing under measurement."""
    if not to.exists():
        for part in ('bin', 'libexec', 'lib/gangway', 'share'):
            if (build / part).exists():
                shutil.copytree(build / part, to / part, symlinks=True)
    return to


class Peer:
    """One cluster: `name`, `bin` (folder of the Slurm-named commands), `env`, its controller's pid file, and how the names
    of processes begin that look after a step (`shepherd`)."""

    name = ''
    shepherd = ''

    def __init__(self, root, nodes, cpus):
        self.root = pathlib.Path(root)
        self.nodes = nodes
        self.cpus = cpus
        self.env = dict(os.environ)
        self.bin = None
        self.pid_file = None

    def command(self, name):
        """Full path of one of the Slurm-named commands."""
        return str(self.bin / name)

    def run(self, *args, limit_s=WAIT_S):
        """Runs a Slurm-named command; its stdout. BenchError if it fails."""
        done = subprocess.run([self.command(args[0]), *args[1:]], env=self.env, text=True, capture_output=True,
                              timeout=limit_s, check=False)
        if done.returncode:
            raise BenchError(f'{self.name}: {" ".join(args)[:200]}: exit {done.returncode}: {done.stderr.strip()}')
        return done.stdout

    def active(self):
        """How many jobs are pending, running or completing."""
        return len(self.run('squeue', '-h', '-r', '-t', 'PD,R,CG', '-o', '%i').split())

    def cancel_all(self):
        """Cancels every job of this user and waits until none is left active."""
        if self.active():
            self.run('scancel', '-u', getpass.getuser())
        wait_until(lambda: self.active() == 0, f'{self.name}: empty queue', 120, 0.1)

    def controller_pid(self):
        """Process id of the running controller."""
        pid = read_pid(self.pid_file)
        if pid is None or not is_alive(pid):
            raise BenchError(f'{self.name}: the controller is not running')
        return pid

    def submit_daemons(self):
        """The processes that serve a submission: the controller and munged."""
        return [self.controller_pid(), self.munged_pid()]

    def munged_pid(self):
        """Process id of this cluster's munged."""
        raise NotImplementedError

    def kill_controller(self):
        """kill -9 of the controller."""
        pid = self.controller_pid()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid), f'{self.name}: death of the controller')

    def answers(self):
        """Whether the controller answers a query now."""
        try:
            self.run('squeue', '-h', '-t', 'R', limit_s=10)
            return True
        except (BenchError, subprocess.TimeoutExpired):
            return False

    def start_controller(self):
        """Starts the controller again; returns once it answers."""
        self.spawn_controller()
        wait_until(self.answers, f'{self.name}: an answer of the controller')


class Slurm(Peer):
    """Debian's Slurm: slurmctld, one slurmd a node on this host, a munged of its own."""

    name = 'slurm'
    shepherd = 'slurmstepd'

    def __init__(self, root, nodes, cpus):
        super().__init__(root, nodes, cpus)
        self.bin = pathlib.Path('/usr/bin')
        self.env['SLURM_CONF'] = str(self.root / 'slurm.conf')
        self.pid_file = self.root / 'slurmctld.pid'
        self.port = free_ports(nodes + 1)
        self.munged = None

    def version(self):
        """Name and version as the daemon prints them."""
        return subprocess.run([SLURM_SBIN / 'slurmctld', '-V'], text=True, capture_output=True, check=True,
                              timeout=10).stdout.strip()

    def configure(self, scheduler):
        """Writes slurm.conf with these SchedulerParameters."""
        lines = [f'NodeName=n{i} NodeHostname=localhost NodeAddr=127.0.0.1 Port={self.port + 1 + i} '
                 f'CPUs={self.cpus} RealMemory=20000 State=UNKNOWN' for i in range(self.nodes)]
        (self.root / 'slurm.conf').write_text(SLURM_CONF.format(
            user=getpass.getuser(), root=self.root, port=self.port, scheduler=scheduler, nodes='\n'.join(lines)))

    def up(self):
        """Starts munged, controller and node daemons; returns when all nodes are idle."""
        for folder in ('state', 'spool', *(f'spool/n{i}' for i in range(self.nodes))):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        self.root.chmod(0o755)
        self.start_munged()
        self.configure(SLURM_THROUGHPUT)
        self.spawn_controller('-c')
        wait_until(self.answers, 'slurm: an answer of the controller')
        for i in range(self.nodes):
            subprocess.run([SLURM_SBIN / 'slurmd', '-N', f'n{i}'], env=self.env, check=True, timeout=WAIT_S)
        wait_until(self.all_idle, 'slurm: all nodes idle', WAIT_S, 0.2)

    def start_munged(self):
        """Starts the private munged with a fresh key."""
        key = self.root / 'munge.key'
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        sock = self.root / 'munge.socket'
        with open(self.root / 'munged.log', 'ab') as log:
            # pylint: disable=consider-using-with
            self.munged = subprocess.Popen(
                [SLURM_SBIN / 'munged', '--foreground', f'--socket={sock}', f'--key-file={key}', '--num-threads=4',
                 f'--seed-file={self.root}/munge.seed', f'--pid-file={self.root}/munged.pid'], stdout=log, stderr=log)
        wait_until(sock.exists, 'the socket of munged')

    def munged_pid(self):
        return self.munged.pid

    def all_idle(self):
        """Whether every node has registered and is idle."""
        return sum(map(int, self.run('sinfo', '-h', '-t', 'idle', '-o', '%D').split())) == self.nodes

    def spawn_controller(self, *options):
        """Starts slurmctld (it daemonizes)."""
        subprocess.run([SLURM_SBIN / 'slurmctld', *options], env=self.env, check=True, timeout=WAIT_S)

    def set_scheduler(self, parameters):
        """Changes the scheduler's parameters by a restart of the controller."""
        end_process(self.controller_pid())
        self.configure(parameters)
        self.start_controller()
        wait_until(self.all_idle, 'slurm: all nodes idle', WAIT_S, 0.2)

    def prepare_latency(self):
        """Tunes for the soonest start of a single job."""
        self.set_scheduler(SLURM_LATENCY)

    def prepare_throughput(self):
        """Tunes for throughput again."""
        self.set_scheduler(SLURM_THROUGHPUT)

    def down(self):
        """Ends every daemon of this cluster."""
        for path in (self.pid_file, *(self.root / f'slurmd.n{i}.pid' for i in range(self.nodes))):
            end_process(read_pid(path))
        if self.munged:
            end_process(self.munged.pid)
            self.munged.wait(10)


class Gangway(Peer):
    """A private cluster by `gangway dev up`, driven by its Slurm-named commands."""

    name = 'gangway'
    shepherd = 'gstepd:'

    def __init__(self, root, nodes, cpus, build):
        super().__init__(root, nodes, cpus)
        self.build = copy_programs(pathlib.Path(build), self.root.parent / 'programs')
        self.bin = self.build / 'libexec/gangway/slurm'
        self.pid_file = self.root / 'run/gctld.pid'
        self.started = []

    def version(self):
        """Name and version as the commands print them."""
        return self.gangway('--version').strip()

    def gangway(self, *args):
        """Runs `gangway ARGS`; its stdout."""
        done = subprocess.run([self.build / 'bin/gangway', *args], text=True, capture_output=True, timeout=WAIT_S,
                              check=False)
        if done.returncode:
            raise BenchError(f'gangway {" ".join(args)}: exit {done.returncode}: {done.stderr.strip()}')
        return done.stdout

    def up(self):
        """Starts the cluster; returns when all nodes are idle."""
        self.gangway('dev', 'up', '--dir', str(self.root), '--nodes', str(self.nodes), '--topology', 'dgx-h100')
        for line in self.gangway('dev', 'env', '--dir', str(self.root)).splitlines():
            name, _, value = line.removeprefix('export ').partition('=')
            self.env[name] = ' '.join(shlex.split(value))

    def spawn_controller(self):
        """Starts gctld with the command that `gangway dev` keeps beside its pid file (words ended by NUL)."""
        command = [word for word in (self.root / 'run/gctld.cmd').read_text().split('\0') if word]
        with open(self.root / 'log/gctld.restart.log', 'ab') as log:
            # pylint: disable=consider-using-with
            self.started.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))

    def munged_pid(self):
        return read_pid(self.root / 'run/munged.pid')

    def kill_controller(self):
        super().kill_controller()
        for each in self.started:
            each.poll()

    def prepare_latency(self):
        """Nothing to tune."""

    def prepare_throughput(self):
        """Nothing to tune."""

    def down(self):
        """Ends the cluster with all its jobs."""
        if (self.root / 'run').exists():
            self.gangway('dev', 'down', '--dir', str(self.root))
        for each in self.started:
            end_process(each.pid)
            each.wait(10)
