#!/usr/bin/python3
"""Tests of how the property tests are run: ctest gives each a fixed seed; scripts/prop sees failures and stuck runs."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / 'scripts' / 'prop'


def run_script(programs: dict[str, str], *names: str) -> subprocess.CompletedProcess:
    """scripts/prop over shell scripts in place of the programs: two seeds, a second for each."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in programs.items():
            path = Path(folder) / f'prop_{name}'
            path.write_text('#!/bin/sh\n' + text + '\n')
            path.chmod(0o755)
        settings = {'GANGWAY_PROP_BIN': folder, 'GANGWAY_PROP_SEEDS': '2', 'GANGWAY_PROP_SECONDS': '1'}
        return subprocess.run([SCRIPT, *names], env=os.environ | settings, capture_output=True, text=True, check=False)


class Script(unittest.TestCase):
    def test_all_hold(self):
        done = run_script({'a': 'exit 0', 'b': 'exit 0'})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, '4 runs, 0 failed\n')

    def test_every_run_has_a_seed_of_its_own_and_a_failure_names_it(self):
        done = run_script({'a': 'echo "with $RC_PARAMS"; exit 1'})
        self.assertEqual(done.returncode, 1)
        self.assertIn('2 runs, 2 failed', done.stdout)
        told = [line.removeprefix('with ') for line in done.stdout.splitlines() if line.startswith('with ')]
        self.assertEqual(len(set(told)), 2)
        for params in told:
            self.assertIn(f'failed with status 1: RC_PARAMS="{params}" ', done.stdout)

    def test_a_stuck_run_is_a_failure(self):
        done = run_script({'stuck': 'exec sleep 1000'})
        self.assertEqual(done.returncode, 1)
        self.assertIn('not done after 1 s: RC_PARAMS="seed=', done.stdout)

    def test_unknown_names_are_refused(self):
        done = run_script({'a': 'exit 0'}, 'z')
        self.assertEqual(done.returncode, 2)
        self.assertIn('there is no property program', done.stderr)


class Ctest(unittest.TestCase):
    def test_gives_every_property_a_fixed_seed(self):
        listed = subprocess.run([CTEST, '--test-dir', BUILD, '-L', 'prop', '--show-only=json-v1'], capture_output=True,
                                text=True, check=True)
        tests = [t for t in json.loads(listed.stdout)['tests'] if '.' in t['name']]
        self.assertTrue(tests)
        for test in tests:
            environment = next((p['value'] for p in test['properties'] if p['name'] == 'ENVIRONMENT'), [])
            self.assertRegex(' '.join(environment), r'^RC_PARAMS=seed=\d+( |$)', test['name'])


if __name__ == '__main__':
    CTEST, BUILD = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
