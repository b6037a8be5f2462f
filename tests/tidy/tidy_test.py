#!/usr/bin/python3
"""Tests of tidy.py: a small clean tree passes, and every rule catches a tree that breaks it."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))
import cpp_scan  # noqa: E402
import tidy  # noqa: E402

CLEAN = {
    'lib/base/a.h': '// A.\n#pragma once\nenum class E { kOne, kTwo = 2 };\n',
    'lib/base/a.cc': '// A.\n#include "base/a.h"\n#include <vector>\nint f() { return 1; }\n',
    'lib/store/s.cc': '// S.\n#include <sqlite3.h>\n#include "model/m.h"\nauto q = "SELECT a "\n "FROM t";\n',
    'ctld/core/c.cc': '// C.\n#include "lib/store/rows.h"\n#include "ctld/core/d.h"\n#include "sched/plan.h"\n',
    'scripts/go': '#!/bin/sh\n# Goes.\n',
    'tests/tidy/x.py': '"""X."""\n',
}


def long_function(lines: int) -> str:
    return 'void f() {\n' + 'g();\n' * (lines - 2) + '}\n'


# rule, path, content (a string gets a comment line on top), words of the finding
BAD = [
    ('include', 'lib/base/b.cc', '#include "model/job.h"\n', 'base may not include "model/job.h"'),
    ('include', 'lib/sched/b.cc', '#include "wire/job.pb.h"\n', 'sched may not include'),
    ('include', 'lib/auth/b.cc', '#include "lib/io/loop.h"\n', 'auth may not include'),
    ('include', 'lib/config/b.cc', '#include "store/store.h"\n', 'config may not include'),
    ('include', 'lib/client/b.cc', '#include "store/store.h"\n', 'client may not include'),
    ('include', 'lib/sim/b.cc', '#include "topo/load.h"\n', 'sim may not include'),
    ('include', 'lib/sched/b.cc', '#include "sim/engine.h"\n', 'sched may not include'),
    ('include', 'ctld/core/b.cc', '#include "store/store.h"\n', 'ctld/core may not include'),
    ('include', 'ctld/core/b.cc', '#include "ctld/shell/x.h"\n', 'ctld/core may not include'),
    ('include', 'ctld/shell/b.cc', '#include "noded/core/x.h"\n', 'ctld may not include'),
    ('include', 'noded/shell/b.cc', '#include "cmds/x.h"\n', 'noded may not include'),
    ('include', 'cmds/b.cc', '#include "ctld/core/x.h"\n', 'cmds may not include'),
    ('include', 'lib/odd/b.cc', '#include "base/x.h"\n', 'no row in the include table'),
    ('home', 'lib/base/b.cc', '#include <event2/event.h>\n', 'belongs to lib/io'),
    ('home', 'ctld/shell/b.cc', '#include <sqlite3.h>\n', 'belongs to lib/store'),
    ('home', 'cmds/b.cc', '#include <munge.h>\n', 'belongs to lib/auth'),
    ('home', 'cmds/b.cc', '#include <sodium.h>\n', 'belongs to lib/auth'),
    ('home', 'cmds/b.cc', '#include <yaml-cpp/yaml.h>\n', 'belongs to lib/config'),
    ('home', 'noded/shell/b.cc', '# include <hwloc.h>\n', 'belongs to lib/topo'),
    ('home', 'lib/io/b.cc', '#include <spdlog/spdlog.h>\n', 'belongs to lib/program'),
    ('home', 'tests/unit/io/b_test.cc', '#include <sqlite3.h>\n', 'belongs to lib/store'),
    ('pure', 'lib/sched/b.cc', '#include <chrono>\n', 'without side effects'),
    ('pure', 'lib/sim/b.cc', '#include <fstream>\n', 'without side effects'),
    ('pure', 'ctld/core/b.cc', '#include <sys/socket.h>\n', 'without side effects'),
    ('pure', 'noded/core/b.h', '#pragma once\n#include <mutex>\n', 'without side effects'),
    ('casts', 'lib/sched/b.cc', 'auto* a = reinterpret_cast<int*>(b);\n', 'where sanitizers look for none'),
    ('casts', 'tests/unit/sched/b_test.cc', 'auto* a = reinterpret_cast<int*>(b);\n', 'where sanitizers look for none'),
    ('size', 'lib/base/b.cc', long_function(71), 'function of 71 lines'),
    ('size', 'tests/e2e/b.py', '"""B."""\ndef f():\n' + '    g()\n' * 70, 'function of 71 lines'),
    ('size', 'lib/base/b.cc', 'int a;\n' * 801, '802 lines'),
    ('size', 'lib/base/b.cc', 'int a;\n' * 401, 'at most a tenth'),
    ('median', 'cmds/b.cc', long_function(13), 'median function has 13 lines'),
    ('name', 'lib/base/BadName.cc', '', 'snake_case'),
    ('name', 'lib/base/bad-name.h', '#pragma once\n', 'snake_case'),
    ('name', 'lib/base/b.cc', 'enum E : int { kGood, BAD };\n', 'enumerator BAD'),
    ('header', 'lib/base/b.h', 'int a;\n', 'needs #pragma once'),
    ('comment', 'lib/base/b.cc', None, 'opens with a comment'),
    ('comment', 'scripts/b.sh', '#!/bin/sh\nexit 0\n', 'opens with a comment'),
    ('word', 'lib/base/b.cc', '// TO' 'DO: later\n', 'forbidden word'),
    ('word', 'docs/b.md', 'A HA' 'CK.\n', 'forbidden word'),
    ('word', 'scripts/b.sh', '#!/bin/sh\n# B.\ncd /wor' 'k/x\n', 'path of one machine'),
    ('word', 'lib/base/b.cc', 'int a;  // NO' 'LINT\n', 'needs its reason'),
    ('word', 'lib/base/b.cc', 'int a;  // NO' 'LINTNEXTLINE(bugprone-x)\n', 'needs its reason'),
    ('word', 'tests/unit/base/b_test.cc', 'GTEST_' 'SKIP();\n', 'no test'),
    ('word', 'tests/unit/base/b_test.cc', 'std::this_thread::sleep_' 'for(x);\n', 'must not sleep'),
    ('sql', 'lib/store/b.cc', 'auto q = "SELECT a FROM t WHERE b=" + b;\n', 'SQL built of parts'),
    ('sql', 'lib/store/b.cc', 'auto q = "WITH x " "DELETE FROM t " + b;\n', 'SQL built of parts'),
    ('sql', 'lib/store/b.cc', 'auto q = prefix + "UPDATE t SET a=1";\n', 'SQL built of parts'),
    ('sql', 'lib/store/b.cc', 'auto q = fmt::format("INSERT INTO t VALUES({})", v);\n', 'SQL built of parts'),
    ('sql', 'lib/store/b.cc', 'auto q = fmt::format("SELECT {} FROM t", kA, table);\n', 'SQL built of parts'),
    ('made', 'ctld/core/b.cc', 'void f() { out.write(store::PutJobStatus{row}); }\n', 'rows of jobs'),
    ('made', 'ctld/core/b.cc', 'void f() { feed.tell(sched::EndExpected{id, when}); }\n', 'through the ledger'),
    ('made', 'ctld/core/tables/b.cc', 'std::string f() { return row.SerializeAsString(); }\n', 'equal messages have equal rows'),
    ('include', 'ctld/core/jobs/b.cc', '#include "ctld/core/api/cancel.h"\n', 'lies below ctld/core/api'),
    ('include', 'ctld/core/corner/b.cc', '#include "ctld/core/tables/ledger.h"\n', 'no place in the order'),
    ('class', 'ctld/core/b.h', '#pragma once\nclass B {\n' + '  void f(int a, std::map<int, int> b = {});\n' * 41 + '};\n',
     'B has 41 methods and 0 members'),
    ('class', 'noded/core/b.h', '#pragma once\nclass B {\n  void f() { g(); }\n private:\n  std::map<int, int> a;\n' +
     '  int b = 0, c{1};\n' * 10 + '};\n', 'B has 1 methods and 21 members'),
    ('class', 'lib/base/b.h', '#pragma once\nclass B {\n  void f();\n private:\n  bool a_ = false, b_ = false;\n' +
     '  bool c_, d_;\n};\n', '4 of them booleans'),
    ('include', 'lib/sched/units/b.cc', '#include "sched/place/place.h"\n', 'lies below lib/sched/place'),
    ('place', 'docs/code-tour.md', '1. `lib/base/none.cc` does it.\n', 'lib/base/none.cc is not there'),
    ('place', 'docs/code-tour.md', '| x | `f()` in `docs/code-tour.md` |\n', 'f() is in none of the files'),
    ('page', 'docs/adr/0099-b.md', '# ADR 99: B\n\n## Context\n\n## Decision\n\n## Consequences\n', 'has a line `Date'),
    ('page', 'docs/adr/0099-b.md', '# ADR 99: B\n\nDate: 2026-01-01. Status: accepted.\n\n## Decision\n', '## Context, ## Cons'),
    ('page', 'docs/b.md', '# B\n\nSomething.\n', 'will be able to do'),
    ('word', 'lib/base/b.h', '#pragma once\nint mis' 'fit;\n', 'has another word'),
    ('stray', 'docs/b.txt', 'x' * (1 << 20) + 'x\n', 'bytes, more than'),
    ('stray', 'docs/b.bin', 'a\0b', 'binary'),
]

GOOD = {
    'comments and literals': 'const char* t = "TO{";\n/* enum X { bad }; */\nchar c = \'{\';\nint n = 1\'000;\n',
    'raw string': 'auto t = R"x(" } void f() { )x";\nint f() { return 1; }\n',
    'reasoned suppression': 'int a;  // NO' 'LINT(bugprone-x): the library wants it\n',
    'long table': 'const T kTable[] = {\n' + '{1, 2},\n' * 80 + '};\n',
    'long class': 'class C {\n' + 'void f() { g(); }\n' * 80 + '};\n',
    'class within limits': 'class D {\n public:\n  using T = std::map<int, int>;\n  static constexpr int kMost = 2;\n' +
                           '  int f();\n' * 40 + '  int a_;\n' * 20 + '};\n',
    'record': 'struct R {\n  bool a = false, b = false, c = false, d = false;\n' + '  int e;\n' * 30 + '  int f() const;\n};\n',
    'seventy lines': long_function(70) + 'void g() {}\n' * 3,
    'words within words': 'int TO' 'DOS_like, XX' 'XX; // mktemp a.XX' 'XXXX\n',
}


class TidyTest(unittest.TestCase):
    def findings(self, files: dict) -> list:
        with tempfile.TemporaryDirectory() as folder:
            for path, content in files.items():
                target = Path(folder) / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(content)
            return tidy.check_tree(Path(folder))

    def test_clean_tree(self):
        self.assertEqual(self.findings(CLEAN), [])

    def test_every_rule_catches(self):
        for rule, path, content, words in BAD:
            text = 'int a;\n' if content is None else content
            if content is not None and path.endswith(('.cc', '.h')):
                text = '// B.\n' + content
            with self.subTest(path=path, content=text[:60]):
                found = [f for f in self.findings({path: text}) if f.rule == rule]
                self.assertTrue(any(words in f.what for f in found), found)

    def test_types_by_one_name(self):
        header = ('// B.\n#pragma once\nnamespace gw::{} {{\ninline int f() {{\n  return 1;\n}}\nstruct A;\n'
                  'struct A {{ int a; }};\n}}  // namespace\n')
        files = {'lib/base/b.h': header.format('base'), 'lib/model/b.h': header.format('model')}
        self.assertEqual(self.findings(files), [])
        found = self.findings({**files, 'lib/base/c.h': header.format('base')})
        self.assertEqual([(f.path, f.line, f.what, f.rule) for f in found],
                         [('lib/base/c.h', 8, 'gw::base::A is also in lib/base/b.h', 'twice')])

    def test_folders_and_circles_of_a_core(self):
        def unit(name: str, *used: str) -> dict:
            lines = ''.join(f'#include "ctld/core/{other}.h"\n' for other in used)
            return {f'ctld/core/{name}.h': '// B.\n#pragma once\n', f'ctld/core/{name}.cc': '// B.\n' + lines}

        straight = {**unit('a', 'jobs/b', 'a'), **unit('jobs/b', 'c'), **unit('c')}
        self.assertEqual(self.findings(straight), [])
        found = self.findings({**straight, **unit('c', 'a')})
        self.assertEqual([(f.what, f.rule) for f in found],
                         [('a circle of units: ctld/core/a -> ctld/core/jobs/b -> ctld/core/c -> ctld/core/a', 'circle')])
        full = {path: text for k in range(26) for path, text in unit(f'jobs/f{k}').items()}
        self.assertEqual([(f.path, f.rule) for f in self.findings(full)], [('ctld/core/jobs', 'folder')])

    def test_every_rule_is_tested(self):
        source = Path(tidy.__file__).read_text()
        for rule in {'include', 'home', 'pure', 'casts', 'size', 'median', 'name', 'header', 'comment', 'word', 'sql', 'made', 'stray',
                     'twice', 'class', 'folder', 'circle'}:
            self.assertIn(f"'{rule}')", source)
            self.assertIn(rule, {bad[0] for bad in BAD} | {'twice', 'folder', 'circle'})

    def test_no_false_alarm(self):
        for name, text in GOOD.items():
            with self.subTest(name):
                self.assertEqual(self.findings({'bench/b.cc': '// B.\n' + text}), [])
        constant = '// B.\nauto q = fmt::format("SELECT {} FROM t", kColumns);\n'
        self.assertEqual(self.findings({'lib/store/b.cc': constant}), [])


class ScanTest(unittest.TestCase):
    def lengths(self, text: str) -> list:
        return [f.length for f in cpp_scan.functions(cpp_scan.scan(text).code)]

    def test_finds_functions(self):
        cases = [
            ('void f() {\n}\n', [2]),
            ('namespace a::b {\nclass C final : public D {\n public:\n  int f() const {\n  }\n};\n}\n', [2]),
            ('C::C(int a) : a_{a}, b_(a) {\n}\n', [2]),
            ('C::C(int a)\n    : a_(a) {}\n', [2]),
            ('template <typename T = int>\nauto f(T t) -> X<T> {\n}\n', [3]),
            ('bool operator==(const C& o) const { return a == o.a; }\n', [1]),
            ('struct [[nodiscard]] E { int a; };\nextern "C" {\nint f() { return 1; }\n}\n', [1]),
            ('void f(int a = {}, S s = {.x = 1}) {\n}\n', [2]),
            ('const auto kF = [](int a) {\n};\n', [2]),
            ('void f() {\n  if (a) {\n  }\n  auto g = [] {\n  };\n}\n', [6]),
            ('TEST(A, B) {\n}\n', [2]),
            ('#define M(x) void x() { \\\n  }\nint a = 1;\n', []),
            ('std::vector<int> v{1, 2};\nint w[] = {f(1), {2}};\nenum E { kA };\n', []),
            ('void f() {  // }\n  g("}");\n  h(\'}\');\n}\n', [4]),
        ]
        for text, lengths in cases:
            with self.subTest(text):
                self.assertEqual(self.lengths(text), lengths)

    def test_keeps_places(self):
        text = 'int a; // x\nauto s = R"(\n)";\n/* \n */ "b"\n'
        scan = cpp_scan.scan(text)
        self.assertEqual(len(scan.code), len(text))
        self.assertEqual(scan.code.count('\n'), text.count('\n'))
        self.assertEqual([literal.text for literal in scan.literals], ['R"(\n)"', '"b"'])


if __name__ == '__main__':
    unittest.main()
