#!/usr/bin/python3
"""Tests of the command `gangway simulate`: exit codes, messages, output files. Usage: simulate_test.py PATH_OF_GANGWAY."""

import csv
import json
import os
import pty
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

GANGWAY = str(Path(sys.argv.pop(1)).resolve())

GOOD = 'nodes: [{name: n0, gpus: 8}]\njobs: [{name: a, gpus_per_task: 8, run_time: 1h}]\nexpect: {a: {ended_at: 1h}}\n'
UNMET = GOOD.replace('ended_at: 1h', 'ended_at: 2h')
WRONG = GOOD.replace('run_time', 'runtime')
QUOTA = GOOD + 'qos: [{name: team, guaranteed: {gpu: 9}}]\n'
CLUSTER = 'nodes: [{name: "n[0-1]", gpus: 8}]\n'
TWO = ('nodes: [{name: n0, gpus: 8}]\njobs:\n- {name: long, user: ann, gpus_per_task: 8, time_limit: 2h}\n'
       '- {name: short, user: bob, gpus_per_task: 8, time_limit: 1h}\n')
SHORTEST = 'policy: {order: shortest}\n'
TRACE = 'job_id,submit_s,duration_s,gpus,qos\na,0,3600,8,x\nb,10,60,1,y\n"c,d",20,7200,16,x\n'

# files, arguments, exit code, words of standard output, words of standard error
CASES = [
    ({'s.yaml': GOOD}, ['--scenario', 's.yaml'], 0, ['s.yaml:1: scenario: as expected'], []),
    ({'s.yaml': UNMET}, ['--scenario', 's.yaml'], 1, ['s.yaml:3:10: a: ended_at: expected 2h, got 1h'], []),
    ({'s.yaml': WRONG}, ['--scenario', 's.yaml'], 2, [], ['s.yaml:2:36: unknown key "runtime" (did you mean "run_time"?)']),
    ({'s.yaml': QUOTA}, ['--scenario', 's.yaml'], 0, ['as expected'], ['warning: s.yaml:1:1: the guarantees below cluster']),
    ({'s.yaml': GOOD, 't.yaml': UNMET}, ['--scenario', 's.yaml', 't.yaml'], 1, ['s.yaml:1', 't.yaml:1'], []),
    ({'s.yaml': GOOD, 't.yaml': WRONG}, ['--scenario', 's.yaml', '--scenario', 't.yaml'], 2, ['s.yaml:1'], ['t.yaml:2']),
    ({'s.yaml': GOOD + '---\n' + UNMET}, ['--scenario', 's.yaml'], 1, ['s.yaml:1: ', 's.yaml:5: '], []),
    ({}, ['--scenario', 'none.yaml'], 2, [], ['cannot read none.yaml']),
    ({}, ['--scenario', '.'], 2, [], ['. is a folder']),
    ({'s.yaml': ''}, ['--scenario', 's.yaml'], 2, [], ['s.yaml:1:1: no scenario']),
    ({'s.yaml': 'nodes: [{name: n, topology: dgx-h10}]'}, ['--scenario', 's.yaml'], 2, [],
     ['s.yaml:1:29: there is no topology named "dgx-h10"', 'did you mean "dgx-h100"?']),
    ({'s.yaml': 'nodes: [{name: n, topology: live}]'}, ['--scenario', 's.yaml'], 2, [], ['does not look at this machine']),
    ({'s.yaml': 'nodes: [{name: n, topology: ./m.xml}]', 'm.xml': '<x/>'}, ['--scenario', 's.yaml'], 2, [], ['m.xml']),
    ({'s.yaml': TWO, 'n.yaml': SHORTEST}, ['--scenario', 's.yaml', '--compare', 'n.yaml'], 0,
     ['2 jobs: 1 gain, 1 lose, 0 stay as they are', 'worst losers', 'long (user ann, QOS -, 8 GPUs): 1h later'], []),
    ({'s.yaml': TWO, 'n.yaml': 'policy: {order: shortes}\n'}, ['--scenario', 's.yaml', '--compare', 'n.yaml'], 2, [],
     ['n.yaml laid over s.yaml:', 'did you mean']),
    ({'s.yaml': TWO + '---\n' + TWO, 'n.yaml': SHORTEST}, ['--scenario', 's.yaml', '--compare', 'n.yaml'], 2, [],
     ['--compare takes a file with one scenario']),
    ({'s.yaml': TWO}, ['--scenario', 's.yaml', '--compare', 'none.yaml'], 2, [], ['cannot read none.yaml']),
    ({'c.yaml': CLUSTER, 't.csv': TRACE, 'n.yaml': 'nodes: [{name: "n[0-1]", gpus: 16}]\n'},
     ['--cluster', 'c.yaml', '--trace', 't.csv', '--compare', 'n.yaml'], 0, ['3 jobs: 1 gain, 0 lose, 2 stay'], []),
    ({'x': 'no snapshot'}, ['--from-live', 'x'], 2, [], ['this is no snapshot of a controller']),
    ({}, ['--from-live', '-'], 2, [], ['this is no snapshot of a controller']),
    ({'x': 'no snapshot'}, ['--from-live=x', '--scenario', 'x'], 2, [], ['goes with neither']),
    ({}, ['--forward', '--scenario', 'x'], 2, [], ['--forward needs --from-live']),
    ({}, ['--help'], 0, ['--scenario=FILE', '--trace-format=NAME', 'Exit codes:'], []),
    ({}, ['--scenarios', 'x'], 2, [], ['did you mean "--scenario"?']),
    ({}, [], 2, [], ['nothing to simulate']),
    ({}, ['x.yaml'], 2, [], ['what is x.yaml?']),
    ({}, ['--trace', 't.csv'], 2, [], ['--trace needs --cluster']),
    ({}, ['--cluster', 't.csv'], 2, [], ['--cluster needs --trace']),
    ({}, ['--scenario', 's', '--trace', 't'], 2, [], ['two different things']),
    ({'c.yaml': CLUSTER, 't.csv': TRACE}, ['--cluster', 'c.yaml', '--trace', 't.csv', '--sweep', 'nodes=2..4:2'], 0,
     ['NODES', 'longest wait', '      2       16 ', '      4       32 '], []),
    ({'c.yaml': CLUSTER, 't.csv': TRACE}, ['--cluster', 'c.yaml', '--trace', 't.csv', '--sweep', 'nodes=1..2'], 0,
     ['      1        8 '], ['warning: 1 node: job c,d can never run']),
    ({'c.yaml': CLUSTER + 'network: [{switch: s, nodes: "n[0-1]"}]\n', 't.csv': TRACE},
     ['--cluster', 'c.yaml', '--trace', 't.csv', '--sweep', 'nodes=2..3'], 2, [], ['--sweep: 3 nodes wanted', 'largest cluster']),
    ({}, ['--sweep', '2..3'], 2, [], ['"2..3" is not a range of cluster sizes (write nodes=40..60']),
    ({'s.yaml': GOOD}, ['--scenario', 's.yaml', '--sweep', 'nodes=2..3'], 2, [], ['give --cluster FILE and --trace FILE']),
    ({}, ['--cluster', 'c', '--trace', 't', '--sweep', 'nodes=2..3', '--out', 'x'], 2, [], ['--sweep prints alone']),
    ({'c.yaml': CLUSTER, 't.csv': TRACE},
     ['--cluster', 'c.yaml', '--trace', 't.csv', '--order', 'multifactor', '--order-weights', 'age=1,size=2.5'], 0, ['order multifactor'], []),
    ({'c.yaml': CLUSTER, 't.csv': TRACE},
     ['--cluster', 'c.yaml', '--trace', 't.csv', '--order', 'multifactor', '--order-weights', 'agee=1'], 2, [],
     ['--order-weights: unknown weight agee (did you mean "age"?)']),
    ({}, ['--order-weights', 'age'], 2, [], ['"age" is not a name and a number (write age=1000']),
    ({}, ['--order-weights', 'age=1,age=2'], 2, [], ['age stands twice']),
    ({'s.yaml': GOOD}, ['--scenario', 's.yaml', '--order-weights', 'age=1'], 2, [], ['--order-weights goes with --trace']),
    ({}, ['--scale-time', '-1'], 2, [], ['"-1" is not a number above 0']),
    ({}, ['--preempt-cost', '30'], 2, [], ['"30" is not a length of time (write it with its unit']),
    ({}, ['--map', 'x=y'], 2, [], ['no column "x"']),
    ({'c.yaml': CLUSTER, 't.csv': TRACE}, ['--cluster', 'c.yaml', '--trace', 't.csv'], 0,
     ['3 jobs on 2 nodes with 16 GPUs', 'mean completion', 'finish-time fairness'], []),
    ({'c.yaml': 'nodes: [n0]\njobs: []\n', 't.csv': TRACE}, ['--cluster', 'c.yaml', '--trace', 't.csv'], 2, [],
     ['c.yaml:2:1: unknown key "jobs"']),
    ({'c.yaml': CLUSTER, 't.csv': TRACE + 'x,y\n'}, ['--cluster', 'c.yaml', '--trace', 't.csv'], 2, [],
     ['t.csv:5: 2 fields, where there are 5 columns', '--skip-bad']),
    ({'c.yaml': CLUSTER, 't.csv': TRACE + 'x,y\n'}, ['--cluster', 'c.yaml', '--trace', 't.csv', '--skip-bad'], 0,
     ['1 bad row left out'], []),
    ({'c.yaml': CLUSTER, 't.csv': TRACE + 'huge,5,5,99,x\n'}, ['--cluster', 'c.yaml', '--trace', 't.csv'], 0,
     ['4 jobs', '4, 1 of them unfinished'], ['warning: job huge can never run']),
    ({'c.yaml': CLUSTER, 't.csv': TRACE, 'file': ''}, ['--cluster', 'c.yaml', '--trace', 't.csv', '--out', 'file/x'], 1, [],
     ['cannot make the folder file/x']),
]


class SimulateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, files: dict):
        for name, text in files.items():
            (self.folder / name).write_text(text)

    def run_it(self, *args: str, **env: str):
        return subprocess.run([GANGWAY, 'simulate', *args], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              env={'PATH': '/usr/bin:/bin', **env})

    def test_exit_codes_and_messages(self):
        for files, args, code, out, err in CASES:
            with self.subTest(args=args, files=files):
                self.write(files)
                result = self.run_it(*args)
                self.assertEqual(result.returncode, code, result.stdout + result.stderr)
                for words in out:
                    self.assertIn(words, result.stdout)
                for words in err:
                    self.assertIn(words, result.stderr)
                if not err:
                    self.assertEqual(result.stderr, '')

    def test_scenarios_as_json(self):
        self.write({'s.yaml': GOOD, 't.yaml': UNMET})
        result = self.run_it('--scenario', 's.yaml', 't.yaml', '--json')
        self.assertEqual(result.returncode, 1)
        data = json.loads(result.stdout)
        self.assertEqual(data['schema_version'], 1)
        self.assertFalse(data['ok'])
        self.assertEqual([s['ok'] for s in data['scenarios']], [True, False])
        self.assertEqual(data['scenarios'][0]['jobs'][0]['ended_s'], 3600)
        self.assertEqual(len(data['scenarios'][1]['failures']), 1)

    def replay(self, out: str, *more: str, **env: str) -> dict:
        self.write({'c.yaml': CLUSTER, 't.csv': TRACE})
        result = self.run_it('--cluster', 'c.yaml', '--trace', 't.csv', '--out', out, '--json', *more, **env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_replay_writes_what_it_says(self):
        data = self.replay('deep/out')
        self.assertAlmostEqual(data['summary']['mean_completion_s'], (3600 + 60 + (3600 - 20) + 7200) / 3, places=3)
        self.assertEqual(set(data['by_qos']), {'x', 'y'})
        out = self.folder / 'deep/out'
        self.assertEqual(json.loads((out / 'summary.json').read_text()), data)
        with open(out / 'jobs.csv', newline='', encoding='utf-8') as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([r['job_id'] for r in rows], ['a', 'b', 'c,d'])
        self.assertEqual([float(r['completion_s']) for r in rows], [3600, 60, 10780])
        for name in ('utilisation.svg', 'completion.svg', 'wait_by_size.svg'):
            root = xml.etree.ElementTree.fromstring((out / name).read_text())
            self.assertTrue(root.tag.endswith('svg'))
            texts = [t.text for t in root.iter('{http://www.w3.org/2000/svg}text')]
            self.assertGreater(len(texts), 8, 'title, axis titles, ticks')

    def sweep_on_a_terminal(self, jobs):
        rows = ''.join(f'j{i},{i},{3 + i % 90},{1 + i % 7}\n' for i in range(jobs))
        self.write({'c.yaml': CLUSTER, 't.csv': 'job_id,submit_s,duration_s,gpus\n' + rows})
        ours, theirs = pty.openpty()
        child = subprocess.Popen([GANGWAY, 'simulate', '--cluster', 'c.yaml', '--trace', 't.csv', '--sweep', 'nodes=2..3'], cwd=self.folder,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        told = b''
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break  # the other end is closed
            if not part:
                break
            told += part
        os.close(ours)
        out = child.communicate(timeout=60)[0].decode()
        self.assertEqual(child.returncode, 0, told)
        self.assertEqual(len(out.splitlines()), 3, 'a line of titles and one for each size')
        return told

    def test_a_terminal_is_told_how_far_it_is(self):
        jobs = 6000
        told = self.sweep_on_a_terminal(jobs)
        while not told and jobs < 1_000_000:  # a run that is over at once shows nothing
            jobs *= 4
            told = self.sweep_on_a_terminal(jobs)
        self.assertRegex(told.decode(), rf'[23] nodes: \d+ of {jobs} jobs done \(\d+ %\), after \d')
        self.assertTrue(told.endswith(b'\r\x1b[K'), 'nothing of it stays')

    def test_equal_input_gives_equal_bytes(self):
        self.replay('one', TZ='America/New_York')
        self.replay('two', TZ='Asia/Kolkata', LC_ALL='C')
        for path in sorted((self.folder / 'one').iterdir()):
            self.assertEqual(path.read_bytes(), (self.folder / 'two' / path.name).read_bytes(), path.name)

    def test_topology_files_are_relative_to_the_scenario(self):
        (self.folder / 'sub').mkdir()
        machine = subprocess.run([GANGWAY, 'topo', '--generate', 'l40s'], capture_output=True, text=True, check=True).stdout
        self.write({'sub/m.xml': machine, 'sub/s.yaml': 'nodes: [{name: n0, topology: m.xml}]\n'
                    'jobs: [{name: a, gpus_per_task: 8, gpu_type: l40s}]\nexpect: {a: {state: running}}\n'})
        self.assertEqual(self.run_it('--scenario', 'sub/s.yaml').returncode, 0)


if __name__ == '__main__':
    unittest.main()
