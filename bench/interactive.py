"""Workloads of interactive commands: srun and salloc one after the other, steps inside an allocation, output of a task,
one step of many tasks."""

import json
import os
import pathlib
import subprocess
import sys
import time

from workloads import percentile, write_script


def timed(argv, env, count):
    """Milliseconds of `count` runs of a command, one after the other, sorted."""
    times = []
    for _ in range(count):
        begin = time.monotonic()
        subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=True)
        times.append((time.monotonic() - begin) * 1000)
    return sorted(times)


def commands(peer, runs):
    """`srun -n1 true` and `salloc -n1 true` on an idle cluster."""
    result = {}
    for name in ('srun', 'salloc'):
        timed([peer.command(name), '-n1', 'true'], peer.env, 3)  # programs and daemons are in memory from now on
        times = timed([peer.command(name), '-n1', 'true'], peer.env, runs)
        result[f'{name}_p50_ms'] = round(percentile(times, 50), 1)
        result[f'{name}_p95_ms'] = round(percentile(times, 95), 1)
    return result


def steps(peer, root, count):
    """Steps one after the other inside one allocation: seconds of the loop."""
    script = root / f'steps_{peer.name}.sh'
    write_script(script, f'begin=$(date +%s%N)\nfor i in $(seq {count}); do {peer.command("srun")} -n1 true; done\n'
                         'echo $(( $(date +%s%N) - begin ))\n')
    done = subprocess.run([peer.command('salloc'), '-n1', 'bash', script], env=peer.env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return {'steps': count, 'steps_s': round(int(done.stdout) / 1e9, 2)}


def output(peer, megabytes):
    """Megabytes a second that a task's output arrives at."""
    begin = time.monotonic()
    subprocess.run([peer.command('srun'), '-n1', 'head', '-c', f'{megabytes}000000', '/dev/zero'], env=peer.env,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return {'output_mb': megabytes, 'output_mb_per_s': round(megabytes / (time.monotonic() - begin), 1)}


def proportional_kib(pid):
    """Proportional set size of a process."""
    for line in pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text().splitlines():
        if line.startswith('Pss:'):
            return int(line.split()[1])
    return 0


def cpu_ticks(pid):
    """Processor time of a process, in clock ticks."""
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    return int(fields[11]) + int(fields[12])


def shepherds(peer):
    """Pids of the processes that each look after one step or script."""
    pids = [int(p.name) for p in pathlib.Path('/proc').iterdir() if p.name.isdigit()]
    return [pid for pid in pids if command_name(pid).startswith(peer.shepherd)]


def command_name(pid):
    """The kernel's name of a process; empty if it has gone."""
    try:
        return pathlib.Path(f'/proc/{pid}/comm').read_text()
    except OSError:
        return ''


def footprint(peer, seconds=10):
    """A client and the shepherd of a step that waits for input: memory, and processor time while nothing happens."""
    before = set(shepherds(peer))
    with subprocess.Popen([peer.command('srun'), '-n1', 'cat'], env=peer.env, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as client:
        client.stdin.write(b'up\n')
        client.stdin.flush()
        client.stdout.readline()
        new = [pid for pid in shepherds(peer) if pid not in before]
        memory = sum(map(proportional_kib, new)) / 1024
        watched = [*new, client.pid]
        begin = sum(map(cpu_ticks, watched))
        time.sleep(seconds)
        ticks = sum(map(cpu_ticks, watched)) - begin
        client.stdin.close()
    return {'shepherd_pss_mib': round(memory, 2),
            'idle_ms_per_s': round(ticks * 1000 / os.sysconf('SC_CLK_TCK') / seconds, 2)}


def bare(count):
    """Seconds until so many processes that do nothing have run, all started at once without any batch system."""
    begin = time.monotonic()
    for pid in [os.posix_spawn('/bin/true', ['true'], os.environ) for _ in range(count)]:
        os.waitpid(pid, 0)
    return time.monotonic() - begin


def launch(peer, tasks, runs):
    """One step of many tasks over all nodes, inside an allocation, and the same number of bare processes, in turn."""
    done = subprocess.run([peer.command('salloc'), f'-N{peer.nodes}', f'-n{tasks}', sys.executable, __file__,
                           peer.command('srun'), str(peer.nodes), str(tasks), str(runs)], env=peer.env,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(done.stdout)


def launch_here(srun, nodes, tasks, runs):
    """What launch() runs in the allocation: medians of both, in seconds."""
    command = [srun, f'-N{nodes}', f'-n{tasks}', 'true']
    timed(command, None, 1)
    pairs = [(timed(command, None, 1)[0] / 1000, bare(tasks)) for _ in range(runs)]
    step, alone = (percentile(sorted(times), 50) for times in zip(*pairs))
    return {'tasks': tasks, 'launch_s': round(step, 2), 'bare_s': round(alone, 2), 'launch_ratio': round(step / alone, 2)}


if __name__ == '__main__':
    print(json.dumps(launch_here(sys.argv[1], *map(int, sys.argv[2:]))))
