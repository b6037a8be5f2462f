#!/usr/bin/env python3
"""Measures Gangway beside Slurm: the same workloads, by the same command names, in one run on one machine.

Usage: bench/beside_slurm.py [--build build/release] [--repeat N] [--json FILE] [PART ...]
Parts: throughput (submission, held jobs run to completion, exec ceiling), latency, memory, durability; default all.
Needs Debian's slurmctld, slurmd, slurm-client, slurm-wlm-basic-plugins and munge for the Slurm side (`--no-slurm` leaves
it out). Prints a JSON line a result, then a Markdown table. Invariant: everything it starts is ended, also on errors.
"""

import argparse
import contextlib
import ctypes
import datetime
import json
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import interactive
import peers
import workloads

PR_SET_CHILD_SUBREAPER = 36
PARTS = ('throughput', 'latency', 'interactive', 'launch', 'memory', 'durability')
TARGETS = {'throughput': 5.0, 'ceiling': 0.7, 'submit': 2.0, 'latency_ms': 30.0, 'memory_mib': 100.0,
           'srun_p50_ms': 15.0, 'srun_p95_ms': 25.0, 'salloc_p50_ms': 10.0, 'steps': 3.0, 'output_mb_per_s': 200.0,
           'launch_ratio': 1.5, 'shepherd_pss_mib': 6.0, 'idle_ms_per_s': 0.0}


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument('--build', default=here.parent / 'build/release', help='build folder with bin/ and libexec/')
    parser.add_argument('--no-slurm', action='store_true', help='measure Gangway alone')
    parser.add_argument('--nodes', type=int, default=4)
    parser.add_argument('--cpus', type=int, default=112, help="CPUs of a Slurm node (dgx-h100 has 112 cores)")
    parser.add_argument('--jobs', type=int, default=1000, help='jobs of a throughput run')
    parser.add_argument('--parallel', type=int, default=8, help='submitters at a time')
    parser.add_argument('--repeat', type=int, default=5, help='throughput runs of each side, in turn')
    parser.add_argument('--latency-runs', type=int, default=30)
    parser.add_argument('--interactive-runs', type=int, default=100)
    parser.add_argument('--steps', type=int, default=100, help='steps inside one allocation')
    parser.add_argument('--output-mb', type=int, default=1000, help='output of one task')
    parser.add_argument('--launch-tasks', type=int, default=1000, help='of one step; at most nodes times CPUs')
    parser.add_argument('--memory-jobs', type=int, default=10000)
    parser.add_argument('--rounds', type=int, default=20, help='kill -9 rounds of Gangway')
    parser.add_argument('--slurm-rounds', type=int, default=3, help='kill -9 rounds of Slurm')
    parser.add_argument('--stream', type=float, nargs=2, default=(4.0, 9.0), help='seconds before a kill: least, most')
    parser.add_argument('--calm', type=float, default=0.3, help='wait for a share of busy cores below this before a run')
    parser.add_argument('--calm-wait', type=float, default=20.0, help='seconds to wait for that; then run all the same')
    parser.add_argument('--json', help='append the JSON lines to this file too')
    parser.add_argument('--keep', action='store_true', help='keep the clusters\' folder (logs)')
    parser.add_argument('parts', nargs='*', metavar='PART', help=' '.join(PARTS))
    options = parser.parse_args()
    unknown = [p for p in options.parts if p not in PARTS]
    if unknown:
        parser.error(f'no such part: {unknown[0]} (parts: {" ".join(PARTS)})')
    options.parts = options.parts or list(PARTS)
    return options


class Report:
    """Prints and keeps the results: JSON lines with the load that each measurement began under."""

    def __init__(self, options):
        self.options = options
        self.results = []

    def calm(self):
        """Waits a bounded time until other work leaves the machine; the share of cores busy then."""
        end = time.monotonic() + self.options.calm_wait
        busy = workloads.cpu_busy()
        while busy > self.options.calm and time.monotonic() < end:
            busy = workloads.cpu_busy(1.0)
        return {'load1': round(os.getloadavg()[0], 2), 'busy_before': busy, 'runnable_before': workloads.runnable()}

    def add(self, bench, peer, result, load=None):
        """Keeps and prints one result."""
        line = {'bench': bench, 'peer': peer, **result, **(load or {})}
        self.results.append(line)
        text = json.dumps(line)
        print(text, flush=True)
        if self.options.json:
            with open(self.options.json, 'a', encoding='utf-8') as file:
                file.write(text + '\n')

    def values(self, bench, peer, key):
        """All values of `key` in the results of one measurement of one peer."""
        return [r[key] for r in self.results if r['bench'] == bench and r['peer'] == peer]


def measure_throughput(clusters, root, report, options):
    """Submission, held jobs to completion and the exec ceiling, in turn."""
    for _ in range(options.repeat):
        load = report.calm()
        report.add('ceiling', 'bare', workloads.exec_ceiling(root, options.jobs, options.parallel), load)
        for peer in clusters:
            load = report.calm()
            submitted, ran = workloads.run_held(peer, options.jobs, options.parallel)
            report.add('submit', peer.name, submitted, load)
            report.add('throughput', peer.name, ran, load)


def measure_latency(clusters, report, options):
    """Start of single jobs; Slurm with the tuning that starts them soonest."""
    for peer in clusters:
        peer.prepare_latency()
        load = report.calm()
        report.add('latency', peer.name, workloads.latency(peer, options.latency_runs), load)
        peer.prepare_throughput()


def measure_interactive(clusters, root, report, options):
    """srun and salloc, in turn; Slurm with the tuning that starts them soonest."""
    for peer in clusters:
        peer.prepare_latency()
    for _ in range(options.repeat):
        for peer in clusters:
            load = report.calm()
            result = {**interactive.commands(peer, options.interactive_runs), **interactive.steps(peer, root, options.steps),
                      **interactive.output(peer, options.output_mb), **interactive.footprint(peer)}
            report.add('interactive', peer.name, result, load)
    for peer in clusters:
        peer.prepare_throughput()


def measure_launch(clusters, report, options):
    """One step of many tasks, in turn."""
    tasks = min(options.launch_tasks, options.nodes * options.cpus)
    for _ in range(options.repeat):
        for peer in clusters:
            load = report.calm()
            report.add('launch', peer.name, interactive.launch(peer, tasks, 5), load)


def measure_durability(clusters, report, options):
    """kill -9 of the controllers in the middle of a stream of submissions."""
    for peer in clusters:
        rounds = options.rounds if peer.name == 'gangway' else options.slurm_rounds
        load = report.calm()
        total = workloads.durability(peer, rounds, 4, options.stream,
                                     lambda result, name=peer.name: report.add('durability_round', name, result))
        report.add('durability', peer.name, total, load)


def measure(clusters, root, report, options):
    """All chosen parts. Memory comes last but one: it wants a fresh Gangway, which main() gives it."""
    if 'throughput' in options.parts:
        measure_throughput(clusters, root, report, options)
    if 'latency' in options.parts:
        measure_latency(clusters, report, options)
    if 'interactive' in options.parts:
        measure_interactive(clusters, root, report, options)
    if 'launch' in options.parts:
        measure_launch(clusters, report, options)
    if 'durability' in options.parts:
        measure_durability(clusters, report, options)


def measure_memory(root, report, options):
    """The controller's memory, on a cluster of its own."""
    with contextlib.ExitStack() as stack:
        peer = started(stack, peers.Gangway(root / 'memory', options.nodes, options.cpus, options.build))
        load = report.calm()
        report.add('memory', peer.name, workloads.memory(peer, options.memory_jobs, options.parallel), load)


def started(stack, peer):
    """Starts a cluster and has the stack end it."""
    peer.root.mkdir(parents=True)
    stack.callback(peer.down)
    peer.up()
    return peer


def spread(values, unit=''):
    """Median, and least to most where there is more than one value."""
    median = f'{statistics.median(values):g}{unit}'
    return f'{median} ({min(values):g} to {max(values):g})' if len(values) > 1 else median


def verdict(holds):
    """The table's word for a target."""
    return 'met' if holds else 'missed'


def rate_rows(report):
    """Table rows of submission and throughput: ratios of medians."""
    rows = []
    median = statistics.median
    for bench, what in (('submit', 'jobs submitted per second'), ('throughput', 'held jobs run to completion per second')):
        ours, theirs = report.values(bench, 'gangway', 'per_s'), report.values(bench, 'slurm', 'per_s')
        if not ours:
            continue
        ratio = median(ours) / median(theirs) if theirs else 0
        met, goal = ratio >= TARGETS[bench], f'>= {TARGETS[bench]:g}x Slurm'
        shown = f'{ratio:.2f}x Slurm' if theirs else '-'
        if bench == 'throughput':
            share = median(ours) / median(report.values('ceiling', 'bare', 'per_s'))
            shown += f', {share:.0%} of the exec ceiling'
            goal += f' or {TARGETS["ceiling"]:.0%} of the ceiling'
            met = met or share >= TARGETS['ceiling']
        rows.append((what, spread(ours), spread(theirs) if theirs else '-', shown, goal, verdict(met)))
    for key, what in (('client_cpu_ms', 'CPU of a submission: sbatch, ms'),
                      ('daemon_cpu_ms', 'CPU of a submission: controller and munged, ms')):
        ours, theirs = report.values('submit', 'gangway', key), report.values('submit', 'slurm', key)
        if ours and theirs:
            rows.append((what, spread(ours), spread(theirs), f'{median(ours) / max(median(theirs), 1e-9):.2f}x', '', ''))
    ceiling = report.values('ceiling', 'bare', 'per_s')
    if ceiling:
        rows.append(('exec ceiling, runs per second', spread(ceiling), '', '', '', ''))
    return rows


def launch_rows(report):
    """Table row of one large step: the medians over the runs of each side, against bare processes."""
    ours, theirs = report.values('launch', 'gangway', 'launch_ratio'), report.values('launch', 'slurm', 'launch_ratio')
    if not ours:
        return []
    tasks = report.values('launch', 'gangway', 'tasks')[0]
    mine, other = statistics.median(ours), statistics.median(theirs) if theirs else None
    return [(f'a step of {tasks} tasks, against as many bare processes', f'{mine:g}x', f'{other:g}x' if theirs else '-',
             f'{mine / other:.2f}x' if theirs else '-', f'<= {TARGETS["launch_ratio"]:g}x of bare',
             verdict(mine <= TARGETS['launch_ratio']))]


def interactive_rows(report):
    """Table rows of interactive commands: medians over the runs of each side."""
    rows = []
    for key, what, unit in (('srun_p50_ms', 'srun -n1 true, median', ' ms'), ('srun_p95_ms', 'the same, p95', ' ms'),
                            ('salloc_p50_ms', 'salloc -n1 true, median', ' ms'),
                            ('steps_s', 'steps one after the other inside an allocation', ' s'),
                            ('output_mb_per_s', 'output of a task through srun', ' MB/s'),
                            ('shepherd_pss_mib', 'memory of what looks after a step (PSS)', ' MiB'),
                            ('idle_ms_per_s', 'processor time a second of it and its client while nothing happens', ' ms')):
        ours, theirs = report.values('interactive', 'gangway', key), report.values('interactive', 'slurm', key)
        if not ours:
            continue
        mine = statistics.median(ours)
        ratio = f'{mine / statistics.median(theirs):.2f}x' if theirs and statistics.median(theirs) else '-'
        if key == 'steps_s':
            target = f'>= {TARGETS["steps"]:g}x as fast'
            holds = bool(theirs) and statistics.median(theirs) / mine >= TARGETS['steps']
        elif key == 'output_mb_per_s':
            target, holds = f'>= {TARGETS[key]:g}{unit}', mine >= TARGETS[key]
        else:
            target, holds = f'<= {TARGETS[key]:g}{unit}', mine <= TARGETS[key]
        rows.append((what, f'{mine:g}{unit}', f'{statistics.median(theirs):g}{unit}' if theirs else '-', ratio, target,
                     verdict(holds)))
    return rows


def other_rows(report):
    """Table rows of latency, memory and durability."""
    rows = []
    ours, theirs = report.values('latency', 'gangway', 'p50_ms'), report.values('latency', 'slurm', 'p50_ms')
    if ours:
        ratio = f'{theirs[0] / ours[0]:.0f} times sooner' if theirs else '-'
        rows.append(('submission to first instruction, median', f'{ours[0]:g} ms', f'{theirs[0]:g} ms' if theirs else '-',
                     ratio, f'<= {TARGETS["latency_ms"]:g} ms', verdict(ours[0] <= TARGETS['latency_ms'])))
    memory = report.values('memory', 'gangway', 'rss_mib')
    if memory:
        rows.append(('controller\'s resident memory, after the jobs', f'{memory[0]:g} MiB', '-', '-',
                     f'<= {TARGETS["memory_mib"]:g} MiB', verdict(memory[0] <= TARGETS['memory_mib'])))
    for key, what in (('lost', 'acknowledged jobs lost by kill -9'), ('ids_used_twice', 'job ids used twice')):
        ours, theirs = report.values('durability', 'gangway', key), report.values('durability', 'slurm', key)
        if ours:
            counts = [f'{values[0]} of {report.values("durability", name, "acknowledged")[0]}' if values else '-'
                      for name, values in (('gangway', ours), ('slurm', theirs))]
            rows.append((what, *counts, '-', '0', verdict(ours[0] == 0)))
    return rows


def print_table(report, versions):
    """The Markdown table, with where and when."""
    print(f'\n{datetime.date.today()}, {platform.node()}: {os.cpu_count()} cores, Linux {platform.release()}; '
          f'{", ".join(versions)}; command: `{" ".join(sys.argv)}`\n')
    print('| figure | Gangway | Slurm | ratio | target | |\n|---|---|---|---|---|---|')
    for row in rate_rows(report) + interactive_rows(report) + launch_rows(report) + other_rows(report):
        print(f'| {" | ".join(row)} |')


def check_programs(options):
    """Whether all programs are there; exits with a remedy."""
    if not (pathlib.Path(options.build) / 'bin/gangway').exists():
        sys.exit(f'beside_slurm: no programs in {options.build}/bin: build first, or name the folder with --build')
    if not options.no_slurm and not all(shutil.which(p, path='/usr/sbin:/usr/bin')
                                        for p in ('slurmctld', 'slurmd', 'sbatch', 'munged')):
        sys.exit('beside_slurm: no Slurm: apt-get install --no-install-recommends munge slurmctld slurmd slurm-client '
                 'slurm-wlm-basic-plugins, or leave it out with --no-slurm')


def run_all(options, root):
    """Starts the clusters, measures, prints the table."""
    report = Report(options)
    with contextlib.ExitStack() as stack:
        clusters = []
        if not options.no_slurm:
            clusters.append(started(stack, peers.Slurm(root / 'slurm', options.nodes, options.cpus)))
        clusters.append(started(stack, peers.Gangway(root / 'gangway', options.nodes, options.cpus, options.build)))
        versions = [peer.version() for peer in clusters]
        measure(clusters, root, report, options)
    if 'memory' in options.parts:
        measure_memory(root, report, options)
    print_table(report, versions)


def in_child(body):
    """Runs body() in a child process and reaps the orphans of both clusters meanwhile; the child's exit status."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
        sys.exit(body())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.kill(child, signal.SIGTERM))
    status = 1
    with contextlib.suppress(ChildProcessError):
        ended = 0
        while ended != child:
            ended, raw = os.waitpid(-1, 0)
            status = os.waitstatus_to_exitcode(raw) if ended == child else status
    return status


def main():
    """Runs all; 1 and a message when something did not work."""
    options = parse_arguments()
    check_programs(options)
    root = pathlib.Path(tempfile.mkdtemp(prefix='gw-bench-'))
    root.chmod(0o755)
    try:
        run_all(options, root)
    except (peers.BenchError, OSError, subprocess.SubprocessError) as error:
        print(f'beside_slurm: {error}', file=sys.stderr)
        return 1
    finally:
        if not options.keep:
            shutil.rmtree(root, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(in_child(main))
