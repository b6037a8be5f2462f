#!/usr/bin/python3
"""Tests that the examples of docs/quotas.md are scenarios that run, and print what the page says. Usage: pages_test.py PATH_OF_GANGWAY."""

import shlex
import subprocess
import sys
import unittest
from pathlib import Path

import pages

GANGWAY = str(Path(sys.argv.pop(1)).resolve())
PAGE = 'docs/quotas.md'
FILES = {path.relative_to(pages.ROOT).as_posix(): path.read_text(encoding='utf-8')
         for path in pages.ROOT.glob('tests/scenario/quota_question_*.yaml')}


class PagesTest(unittest.TestCase):
    maxDiff = None

    def test_scenarios_of_the_page_are_the_files(self):
        shown = [block for block in pages.blocks(PAGE, 'yaml') if '\njobs:\n' in block]
        self.assertEqual(sorted(shown), sorted(FILES.values()))

    def test_they_print_what_the_page_says(self):
        run = {command: excerpt for command, excerpt in pages.commands(PAGE) if command.startswith('gangway simulate ')}
        self.assertEqual(sorted(run), sorted(f'gangway simulate --scenario {name}' for name in FILES))
        for command, excerpt in run.items():
            with self.subTest(command):
                result = subprocess.run([GANGWAY, *shlex.split(command)[1:]], cwd=pages.ROOT, stdin=subprocess.DEVNULL,
                                        capture_output=True, text=True, timeout=60, check=False)
                self.assertTrue(pages.is_true(excerpt, result.stdout), f'the page:\n{excerpt}\nit prints:\n{result.stdout}{result.stderr}')

    def test_an_excerpt_is_true_or_not(self):
        output = 'first\nsecond line\nthird\n'
        for excerpt in (output, 'first\n...\n', '...\nthird\n', 'first\nsecond ...\nthird\n', 'first\n...\nsecond line\nthird\n'):
            self.assertTrue(pages.is_true(excerpt, output), excerpt)
        for excerpt in ('first\n', 'first\nthird\n', 'first\nsecond\nthird\n', '...\nsecond line\n', '...\nfourth\n...\n', ''):
            self.assertFalse(pages.is_true(excerpt, output), excerpt)


if __name__ == '__main__':
    unittest.main()
