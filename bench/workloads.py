"""The workloads of beside_slurm.py. Each takes a peer (peers.py) and returns one result as a dict of plain numbers.

Submitters are processes of their own that start one sbatch after the other by posix_spawn, so that the measuring side
costs little beside the measured one. Invariant: every wait has a bound, and a submitter ends its own sbatch at its limit.
"""

import contextlib
import multiprocessing
import os
import pathlib
import random
import re
import select
import signal
import statistics
import time

from peers import BenchError, wait_until

ACCEPTED = re.compile(r'^Submitted batch job (\d+)', re.M)
FORK = multiprocessing.get_context('fork')


def percentile(values, percent):
    """The value at this percentile (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]


def cpu_busy(seconds=0.5):
    """Share of all cores (0 to 1) that something used during this many seconds: the load before a measurement."""
    def sample():
        fields = [int(x) for x in pathlib.Path('/proc/stat').read_text().split('\n', 1)[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]
    total, idle = sample()
    time.sleep(seconds)
    total_after, idle_after = sample()
    return round(1 - (idle_after - idle) / max(1, total_after - total), 2)


def cpu_of(pids):
    """CPU seconds that these processes have used so far."""
    used = 0
    for pid in pids:
        fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
        used += int(fields[11]) + int(fields[12])
    return used / os.sysconf('SC_CLK_TCK')


def spawn_wait(argv, env, output):
    """Runs argv with stdout and stderr in the file `output`; exit status, output and CPU seconds."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    pid = os.posix_spawn(argv[0], argv, env, file_actions=[(os.POSIX_SPAWN_OPEN, 1, output, flags, 0o600),
                                                           (os.POSIX_SPAWN_DUP2, 1, 2)])
    try:
        _, status, usage = os.wait4(pid, 0)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    text = pathlib.Path(output).read_text(errors='replace')
    return os.waitstatus_to_exitcode(status), text, usage.ru_utime + usage.ru_stime


def runnable(samples=20, gap_s=0.02):
    """Mean number of other processes that want a core now."""
    counts = []
    for _ in range(samples):
        counts.append(int(re.search(r'procs_running (\d+)', pathlib.Path('/proc/stat').read_text()).group(1)) - 1)
        time.sleep(gap_s)
    return round(statistics.mean(counts), 1)


def bound_process(limit_s):
    """Raises TimeoutError in this process after limit_s."""
    def on_alarm(_number, _frame):
        raise TimeoutError
    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, limit_s)


def submitter(peer, index, commands, results, stop, limit_s):
    """Body of one submitter: runs each command until there are no more or stop is set; puts its list of results."""
    bound_process(limit_s)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    output = str(peer.root / f'submit.{index}.out')
    done = []
    with contextlib.suppress(TimeoutError, OSError):
        for argv in commands:
            if stop is not None and stop.is_set():
                break
            start = time.monotonic()
            code, text, cpu = spawn_wait(argv, peer.env, output)
            found = ACCEPTED.search(text)
            accepted = int(found.group(1)) if code == 0 and found else None
            done.append((start, time.monotonic(), accepted, text if accepted is None else '', cpu))
    results.put(done)


class Submitters:
    """Parallel submitters; `commands(index)` yields the argument vectors of submitter `index`."""

    def __init__(self, peer, parallel, commands, stop=None, limit_s=180):
        self.limit_s = limit_s
        self.results = FORK.SimpleQueue()
        self.processes = [FORK.Process(target=submitter, args=(peer, i, commands(i), self.results, stop, limit_s),
                                       daemon=True) for i in range(parallel)]
        for each in self.processes:
            each.start()

    def collect(self):
        """All results: (start, end, job id or None, output if refused, CPU seconds), once every submitter has ended."""
        done = [self.results.get() for _ in self.processes]
        for each in self.processes:
            each.join(self.limit_s + 10)
        return [entry for part in done for entry in part]


def write_script(path, body):
    """Writes a shell script; its path as text."""
    path.write_text('#!/bin/sh\n' + body)
    path.chmod(0o755)
    return str(path)


def sbatch(peer, script, *options):
    """Argument vector of one sbatch."""
    return [peer.command('sbatch'), '-o', '/dev/null', '-e', '/dev/null', *options, script]


def submit(peer, count, parallel, script, *options):
    """`count` sbatch processes, `parallel` at a time: (result, job ids)."""
    argv = sbatch(peer, script, *options)
    daemons = peer.submit_daemons()
    before = cpu_of(daemons)
    start = time.monotonic()
    entries = Submitters(peer, parallel, lambda i: [argv] * len(range(i, count, parallel))).collect()
    ids = [e[2] for e in entries if e[2] is not None]
    if len(ids) != count:
        refused = next((e[3] for e in entries if e[2] is None), 'no answer in time')
        raise BenchError(f'{peer.name}: {count - len(ids)} of {count} submissions failed: {refused[:300]}')
    wall = max(e[1] for e in entries) - start
    took = [e[1] - e[0] for e in entries]
    cpu = sum(e[4] for e in entries)
    return {'client_cpu_ms': round(cpu / count * 1e3, 2),
            'daemon_cpu_ms': round((cpu_of(daemons) - before) / count * 1e3, 2),
            'jobs': count, 'parallel': parallel, 'wall_s': round(wall, 3), 'per_s': round(count / wall, 1),
            'p50_ms': round(percentile(took, 50) * 1e3, 1), 'p95_ms': round(percentile(took, 95) * 1e3, 1)}, ids


def release(peer, ids):
    """Releases held jobs, 200 a command."""
    for i in range(0, len(ids), 200):
        peer.run('scontrol', 'release', ','.join(map(str, ids[i:i + 200])))


def run_held(peer, count, parallel):
    """Submits `count` trivial jobs held, then releases them: results of the submission and of the run to completion."""
    stamp = peer.root / 'stamp'
    stamp.write_bytes(b'')
    script = write_script(peer.root / 'trivial.sh', f'echo >> {stamp}\n')
    submitted, ids = submit(peer, count, parallel, script, '-H', '-n1')
    start = time.monotonic()
    release(peer, ids)
    wait_until(lambda: stamp.stat().st_size >= count, f'{peer.name}: the last of {count} jobs', 300)
    ran = time.monotonic() - start
    wait_until(lambda: peer.active() == 0, f'{peer.name}: an empty queue', 120, 0.05)
    completed = time.monotonic() - start
    return submitted, {'jobs': count, 'ran': stamp.stat().st_size, 'ran_s': round(ran, 3),
                       'completed_s': round(completed, 3), 'ran_per_s': round(count / ran, 1),
                       'per_s': round(count / completed, 1)}


def exec_ceiling(root, count, parallel):
    """The trivial job's script by bare fork and exec, `parallel` at a time: no scheduler can run it faster."""
    script = write_script(root / 'ceiling.sh', f'echo >> {root}/ceiling.stamp\n')

    def body(share):
        bound_process(120)
        for _ in range(share):
            os.waitpid(os.posix_spawn(script, [script], dict(os.environ)), 0)

    start = time.monotonic()
    processes = [FORK.Process(target=body, args=(len(range(i, count, parallel)),)) for i in range(parallel)]
    for each in processes:
        each.start()
    for each in processes:
        each.join(130)
    wall = time.monotonic() - start
    return {'runs': count, 'parallel': parallel, 'wall_s': round(wall, 3), 'per_s': round(count / wall, 1)}


def latency(peer, runs, gap_s=0.2):
    """From the start of sbatch to the job's first instruction, on an idle cluster. The job writes to a FIFO."""
    fifo = peer.root / 'first'
    if not fifo.exists():
        os.mkfifo(fifo)
    script = write_script(peer.root / 'first.sh', f'echo > {fifo}\n')
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    started, accepted = [], []
    try:
        for _ in range(runs):
            start = time.monotonic()
            code, text, _ = spawn_wait(sbatch(peer, script, '-n1'), peer.env, str(peer.root / 'first.out'))
            accepted.append(time.monotonic() - start)
            if code or not select.select([reader], [], [], 30)[0]:
                raise BenchError(f'{peer.name}: the job did not start: {text[:300]}')
            started.append(time.monotonic() - start)
            os.read(reader, 4096)
            wait_until(lambda: peer.active() == 0, f'{peer.name}: an empty queue', 60, 0.02)
            time.sleep(gap_s)
    finally:
        os.close(reader)
    return {'runs': runs, 'p50_ms': round(statistics.median(started) * 1e3, 1),
            'p95_ms': round(percentile(started, 95) * 1e3, 1), 'max_ms': round(max(started) * 1e3, 1),
            'submit_p50_ms': round(statistics.median(accepted) * 1e3, 1)}


def controller_memory(peer):
    """Resident memory of the controller in MiB: RSS and PSS."""
    text = pathlib.Path(f'/proc/{peer.controller_pid()}/smaps_rollup').read_text()
    kib = {name: int(value) for name, value in re.findall(r'^(Rss|Pss):\s+(\d+) kB', text, re.M)}
    return {'rss_mib': round(kib['Rss'] / 1024, 1), 'pss_mib': round(kib['Pss'] / 1024, 1)}


def memory(peer, count, parallel):
    """The controller's memory fresh, with `count` finished jobs, and with `count` pending ones besides."""
    result = {'finished': count, 'pending': count, 'before': controller_memory(peer)}
    run_held(peer, count, parallel)
    result['after_finished'] = controller_memory(peer)
    submit(peer, count, parallel, str(peer.root / 'trivial.sh'), '-H', '-n1')
    states = peer.run('squeue', '-h', '-r', '-t', 'all', '-o', '%T').split()
    result |= controller_memory(peer)
    result['listed'] = {state: states.count(state) for state in sorted(set(states))}
    peer.cancel_all()
    return result


def named_commands(peer, script, number, index):
    """Endless held submissions, each with a job name of its own."""
    serial = 0
    while True:
        serial += 1
        yield sbatch(peer, script, '-H', '-J', f'r{number}w{index}s{serial}')


def durability_round(peer, number, parallel, stream_s, seen):
    """A stream of submissions, kill -9 of the controller in the middle, restart: what became of acknowledged jobs.

    seen: ids acknowledged in earlier rounds; this round's are added.
    """
    script = write_script(peer.root / 'held.sh', 'true\n')
    stop = FORK.Event()
    stream = Submitters(peer, parallel, lambda i: named_commands(peer, script, number, i), stop)
    time.sleep(stream_s)
    killed = time.monotonic()
    peer.kill_controller()
    stop.set()
    peer.start_controller()
    restart_s = time.monotonic() - killed
    entries = stream.collect()
    acknowledged = [e[2] for e in entries if e[2] is not None]
    held = [line.split() for line in peer.run('squeue', '-h', '-r', '-t', 'all', '-o', '%A %j').splitlines()]
    known = {int(job) for job, _ in held}
    names = [name for _, name in held if name.startswith(f'r{number}w')]
    after = submit(peer, 1, 1, script, '-H')[1][0]
    twice = len(acknowledged) - len(set(acknowledged)) + len(set(acknowledged) & seen)
    twice += after in seen or after in acknowledged
    seen.update(acknowledged, [after])
    peer.cancel_all()
    return {'round': number, 'stream_s': round(stream_s, 2), 'acknowledged': len(acknowledged),
            'in_flight_acknowledged': sum(1 for e in entries if e[2] is not None and e[1] > killed),
            'refused': len(entries) - len(acknowledged), 'lost': len([j for j in acknowledged if j not in known]),
            'ids_used_twice': twice, 'jobs_twice': len(names) - len(set(names)), 'restart_s': round(restart_s, 2)}


def durability(peer, rounds, parallel, stream_range, report):
    """Rounds of durability_round; report(result) for each; the sum of them."""
    seen = set()
    total = {'rounds': rounds, 'acknowledged': 0, 'lost': 0, 'ids_used_twice': 0, 'jobs_twice': 0}
    rng = random.Random(7)
    for number in range(rounds):
        result = durability_round(peer, number, parallel, rng.uniform(*stream_range), seen)
        report(result)
        for key in ('acknowledged', 'lost', 'ids_used_twice', 'jobs_twice'):
            total[key] += result[key]
    return total
