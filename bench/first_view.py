#!/usr/bin/env python3
"""The first view of the web page of a large cluster: bytes over the wire and seconds until a browser shows it.

Usage: bench/first_view.py [--build build/release] [--nodes 10000] [--runs 10]. A controller, processes that play the nodes
(bench_swarm), gwebd, and a real browser without a screen, all on this machine; a gang holds the GPUs of every node. Each run is a
page of its own, whose browser has nothing in store. Prints one JSON line. Targets: 200 KB, one second.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from peers import copy_programs, free_ports
from swarm import start
from swarm_gang import Cluster
from workloads import percentile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tests/e2e'))


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build/release')
    parser.add_argument('--nodes', type=int, default=10_000)
    parser.add_argument('--topology', default='dgx-h100')
    parser.add_argument('--processes', type=int, default=os.cpu_count())
    parser.add_argument('--runs', type=int, default=10)
    return parser.parse_args()


def views(address, runs):
    """Seconds and bytes of each first view."""
    import browser as browsers
    seconds, sizes = [], []
    browser = browsers.Browser()
    try:
        for _ in range(runs + 1):
            page = browser.page()
            page.call('Network.setCacheDisabled', cacheDisabled=True)
            browser.events.clear()
            begin = time.monotonic()
            page.go(f'http://{address}/')
            page.wait("document.querySelectorAll('.node').length > 0")
            seconds.append(time.monotonic() - begin)
            sizes.append(sum(event['params']['encodedDataLength'] for event in browser.events
                             if event.get('method') == 'Network.loadingFinished'))
            page.close()
            browser.pages.clear()
    finally:
        browser.close()
    return seconds[1:], sizes[1:]  # in the first the programs are read


def main():
    """Measures and prints."""
    options = parse_arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix='gw-view-', dir='/dev/shm') as root:
        root = pathlib.Path(root)
        root.chmod(0o755)
        cluster = Cluster(options, root, copy_programs(options.build, root / 'programs'))
        web = None
        try:
            cluster.wait(lambda: cluster.nodes_up() == options.nodes)
            subprocess.run(['gbatch', '-Q', '-N', str(options.nodes), '--gpus-per-node=3', '-t', '60', '-o', '/dev/null', '--wrap', 'true'],
                           env=cluster.env, check=True, cwd='/')
            cluster.wait(lambda: cluster.jobs('running') == 1)
            port = free_ports(1)
            with open(cluster.config, 'a', encoding='utf-8') as config:
                config.write(f'web: {{listen: "127.0.0.1:{port}", open_to_read: true, user: nobody}}\n')
            with open(root / 'gwebd.log', 'w', encoding='utf-8') as log:
                web = start([options.build / 'bin/gwebd', '--config', cluster.config], log)
            cluster.wait(lambda: 'serves at' in (root / 'gwebd.log').read_text())
            seconds, sizes = views(f'127.0.0.1:{port}', options.runs)
            print(json.dumps({'bench': 'first_view', 'nodes': options.nodes, 'runs': options.runs, 'kilobytes': round(max(sizes) / 1000, 1),
                              'p50_s': round(percentile(sorted(seconds), 50), 3), 'max_s': round(max(seconds), 3)}))
        finally:
            if web is not None:
                web.terminate()
                web.wait()
            cluster.end()


if __name__ == '__main__':
    main()
