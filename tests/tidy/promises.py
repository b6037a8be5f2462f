#!/usr/bin/python3
"""Checks docs/promises.md: each of the promises has its section, and each test that is named there exists and is run; and that the tests
which SECURITY.md names do.

Usage: promises.py [ROOT], or promises.py --self, which holds the program itself against made-up pages. Prints one line a fault,
`page:line: what`, and exits 1 if there is one. How a test may be named stands in Tests.fault_of. Standard library only.
"""

import re
import sys
import tempfile
from pathlib import Path

PAGE = 'docs/promises.md'
ALSO = 'SECURITY.md'  # only its names are looked at
PROMISES = range(1, 9)
LEAST = 3
GTEST = re.compile(r'^(?:TEST|TEST_F|TEST_P|RC_GTEST_PROP)\(\s*(\w+),\s*(\w+)', re.MULTILINE)
MUTANT = re.compile(r'^- name: (\S+)', re.MULTILINE)
SKIPPED = re.compile(r'\bmark\.(?:skip|skipif|xfail)\b')


class Tests:
    """The tests of a tree, by the names that the page gives them."""

    def __init__(self, root: Path):
        self.root = root
        self.gtests = {f'{suite}.{name}' for text in self.texts('tests/**/*.cc') for suite, name in GTEST.findall(text)}
        self.mutants = {name for text in self.texts('tests/mutation/mutants/*.yaml') for name in MUTANT.findall(text)}

    def texts(self, pattern: str) -> list:
        return [path.read_text(encoding='utf-8') for path in sorted(self.root.glob(pattern))]

    def fault_of(self, name: str):
        """What is wrong with a test; '' if nothing is, None if this is no name of a test."""
        if match := re.fullmatch(r'mutant ([\w-]+)', name):
            return '' if match[1] in self.mutants else 'there is no such mutant'
        if match := re.fullmatch(r'(tests/e2e/test_\w+\.py)::(test_\w+)', name):
            return self.fault_of_e2e(*match.groups())
        if re.fullmatch(r'tests/(?:scenario/\w+\.yaml|[\w/]+\.cc)', name):
            return '' if (self.root / name).is_file() else 'there is no such file'
        if match := re.fullmatch(r'([A-Z]\w*)\.(\w+)', name):
            return self.fault_of_gtest(*match.groups())
        return None

    def fault_of_gtest(self, suite: str, name: str) -> str:
        forms = {f'{suite}.DISABLED_{name}', f'DISABLED_{suite}.{name}'} & self.gtests
        if forms or 'DISABLED_' in suite + name:
            return 'this test is disabled'
        return '' if f'{suite}.{name}' in self.gtests else 'there is no such test'

    def fault_of_e2e(self, path: str, name: str) -> str:
        file = self.root / path
        lines = file.read_text(encoding='utf-8').split('\n') if file.is_file() else []
        at = next((k for k, line in enumerate(lines) if line.startswith(f'def {name}(')), None)
        if at is None:
            return 'there is no such test'
        above = lines[max((k + 1 for k in range(at) if not lines[k].strip()), default=0):at]
        return 'this test may be left out' if any(SKIPPED.search(line) for line in above) else ''


def faults_of_names(page: str, tests: Tests) -> list:
    named = ((number, name) for number, line in enumerate(page.split('\n'), 1) for name in re.findall(r'`([^`]+)`', line))
    return [(number, f'{name}: {fault}') for number, name in named if (fault := tests.fault_of(name))]


def check(page: str, tests: Tests) -> tuple:
    """The faults as (line, what), and the names of all tests."""
    faults, heads, named, section, is_list = faults_of_names(page, tests), {}, {}, 0, False
    for number, line in enumerate(page.split('\n'), 1):
        if line.startswith('## '):
            match = re.match(r'## (\d+)\. \S', line)
            section, is_list = int(match[1]) if match else 0, False
            heads.setdefault(section, number)
        is_list |= line.startswith('*Held by*')
        names = [(name, tests.fault_of(name)) for name in re.findall(r'`([^`]+)`', line)]
        named.setdefault(section, set()).update(name for name, fault in names if fault is not None and not name.endswith('.cc'))
        if is_list and line.startswith('* ') and (not line.startswith('* `') or names[0][1] is None):
            faults.append((number, 'what holds a promise begins with the name of a test'))
    for promise in PROMISES:
        if promise not in heads:
            faults.append((1, f'promise {promise} has no section'))
        elif len(named[promise]) < LEAST:
            faults.append((heads[promise], f'promise {promise} names {len(named[promise])} tests, fewer than {LEAST}'))
    return sorted(faults), set().union(*named.values())


def test_itself() -> int:
    files = {'tests/unit/a_test.cc': 'TEST(A, One) {\nTEST_P(B, Two) {\nRC_GTEST_PROP(C, Three, ()) {\nTEST(A, DISABLED_Off) {\n// TEST(A, Gone) {\n',
             'tests/e2e/test_a.py': '@needs_root\ndef test_one():\n\n\n@pytest.mark.skipif(X,\n  reason="")\ndef test_off():\n',
             'tests/scenario/a.yaml': '', 'tests/mutation/mutants/a.yaml': '- name: a-b\n'}
    good = ('`A.One`', '`B.Two`', '`C.Three`', '`tests/e2e/test_a.py::test_one`', '`tests/scenario/a.yaml`', '`mutant a-b`', '`tests/unit/a_test.cc`')
    whole = ''.join(f'## {k}. Text\n*Held by*\n' + ''.join(f'* {name} does.\n' for name in good) for k in PROMISES)
    bad = {'`A.Three`': 'there is no such test', '`A.Off`': 'disabled', '`A.Gone`': 'no such test', '`mutant a`': 'no such mutant',
           '`tests/e2e/test_a.py::test_off`': 'left out', '`tests/e2e/test_b.py::test_one`': 'no such test',
           '`tests/scenario/b.yaml`': 'no such file', '`tests/sim/b.cc`': 'no such file', '`gqueue`': 'begins with', 'Text': 'begins with'}
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_text(text, encoding='utf-8')
        tests = Tests(Path(folder))
        assert check(whole, tests) == ([], {name.strip('`') for name in good[:-1]})
        for name, words in bad.items():
            faults, _ = check(whole + f'* {name} does.\n', tests)
            assert len(faults) == 1 and faults[0][0] == whole.count('\n') + 1 and words in faults[0][1], (name, faults)
        assert check(whole.replace('## 3.', '## Third:'), tests)[0] == [(1, 'promise 3 has no section')]
        few = '## 8. Text\n*Held by*\n* `A.One`, `A.One` and `tests/unit/a_test.cc` do.\n'
        assert check(whole[:whole.index('## 8.')] + few, tests)[0][0][1] == 'promise 8 names 1 tests, fewer than 3'
    print('promises: as expected')
    return 0


def main() -> int:
    if '--self' in sys.argv[1:]:
        return test_itself()
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
    page = root / PAGE
    tests = Tests(root)
    faults, named = check(page.read_text(encoding='utf-8') if page.is_file() else '', tests)
    others = faults_of_names((root / ALSO).read_text(encoding='utf-8'), tests)
    for where, found in ((PAGE, faults), (ALSO, others)):
        for line, what in found:
            print(f'{where}:{line}: {what}')
    if not faults and not others:
        print(f'promises: {len(named)} tests named')
    return 1 if faults or others else 0


if __name__ == '__main__':
    sys.exit(main())
