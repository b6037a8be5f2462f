"""Workloads of interactive commands: srun and salloc one after the other, steps inside an allocation, output of a task."""

import subprocess
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
