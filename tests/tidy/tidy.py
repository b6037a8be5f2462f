#!/usr/bin/python3
"""Checks the rules of the tree that no compiler checks: who includes whom, sizes, names, forbidden words, SQL, stray files.

Usage: tidy.py [ROOT]. Prints one line a finding, `path:line: what (rule)`, and exits 1 if there is one. The include table
below is the one of docs/architecture.md. Standard library only.
"""

import ast
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

sys.dont_write_bytecode = True
import cpp_scan  # noqa: E402

# ---- The include table

LIB_LAYERS = {
    'base': set(),
    'model': {'base'},
    'sched': {'base', 'model'},
    'wire': {'base', 'model'},
    'bind': {'base', 'model', 'wire'},
    'config': {'base', 'model'},
    'store': {'base', 'model'},
    'topo': {'base', 'model'},
    'forecast': {'base', 'model', 'sched'},
    'sim': {'base', 'model', 'sched', 'config', 'forecast'},
    'snapshot': {'base', 'model', 'sched', 'wire', 'auth'},
    'plugin': {'base', 'model', 'sched'},
    'auth': {'base'},
    'io': {'base'},
    'http': {'base', 'io'},
    'program': {'base', 'io'},
    'link': {'base', 'model', 'wire', 'auth', 'io'},
    'peer': {'base', 'auth', 'io', 'wire'},
    'stream': {'base', 'auth', 'io', 'wire'},
    'client': {'base', 'model', 'wire', 'auth', 'io', 'link', 'config'},
    'attach': {'base', 'model', 'wire', 'auth', 'io', 'link', 'config', 'client', 'stream'},
}
ALL_LIB = set(LIB_LAYERS)
PROGRAM_LAYERS = {
    'ctld/core': {'base', 'model', 'sched', 'wire', 'forecast'},
    'ctld/gscriptd': {'base', 'model', 'wire', 'config', 'io', 'client', 'program'},
    'ctld': ALL_LIB | {'ctld/core', 'plugins'},
    'noded/core': {'base', 'model', 'wire', 'bind'},
    'noded/step': ALL_LIB - {'sched', 'store', 'client'},
    'noded/pmix': {'base', 'auth', 'io', 'wire', 'peer', 'attach'},
    'noded': ALL_LIB | {'noded/core', 'noded/step', 'plugins'},
    'webd/core': {'base', 'model', 'wire', 'client', 'cmds'},
    'webd': ALL_LIB | {'webd/core', 'cmds'},
    'cmds': ALL_LIB,
    'plugins/contain': {'base', 'model', 'noded/step'},
    'plugins': {'base', 'model', 'sched'},
}
# The folders of a layer, from below: each may include those before it, and the layer's own files that lie above none.
FOLDER_ORDER = {
    'ctld/core': ('tables', 'rows', 'shared', 'jobs', 'steps', 'nodes', 'cluster', 'admission', 'api'),
    'lib/attach': ('local', 'control', 'step'),
    'lib/client': ('conn', 'options', 'show', 'why', 'records', 'json'),
    'lib/sched': ('policy', 'units', 'ledger', 'place', 'queue', 'quota', 'view', 'cycle'),
    'noded/step': ('proc', 'state', 'contain', 'start', 'tasks', 'bcast', 'shepherd'),
}
# Single headers that a layer may use of another one.
EXTRA_HEADERS = {'ctld/core': {'store/rows.h'}}
PURE = ('webd/core', 'lib/sched', 'lib/forecast', 'lib/sim', 'ctld/core', 'noded/core', 'plugins/order', 'plugins/share', 'plugins/rate', 'plugins/filter')
# What the sanitizers do not look for in all of it, since it has none (gw_without_casts in cmake/gangway.cmake).
NO_CASTS = ('lib/sched', 'lib/model', 'lib/forecast', 'lib/sim', 'lib/config', 'lib/snapshot', 'lib/store', 'lib/client', 'ctld/core',
            'noded/core', 'webd/core', 'cmds', 'tests/prop', 'tests/sim/parts',
            *(f'tests/unit/{name}' for name in ('model', 'sched', 'forecast', 'sim', 'ctld_core', 'ctld_gangs', 'ctld_shell', 'noded_core',
                                                'client', 'cmds', 'config')))
# But for these, in which they look for all.
CASTS = ('lib/client/conn/', 'cmds/gangway/dev/', 'cmds/queue/', 'tests/prop/stream_prop.cc')
IMPURE_HEADER = re.compile(
    r'^(?:thread|mutex|shared_mutex|condition_variable|future|chrono|random|fstream|iostream|filesystem|ctime|csignal|'
    r'time\.h|signal\.h|unistd\.h|fcntl\.h|poll\.h|netdb\.h|pthread\.h|(?:sys|netinet|arpa|net)/.*|spdlog/.*)$')
# Third-party headers and the folders that may see them.
HOMES = [
    (re.compile(r'^event2?(/|\.h)'), ('lib/io',)),
    (re.compile(r'^(microhttpd|zlib)\.h'), ('lib/http',)),
    (re.compile(r'^sqlite3'), ('lib/store', 'tests/sim/disk')),  # a disk that forgets what was not synced
    (re.compile(r'^(munge\.h|sodium(/|\.h))'), ('lib/auth',)),
    (re.compile(r'^yaml-cpp/'), ('lib/config',)),
    (re.compile(r'^hwloc(/|\.h)'), ('lib/topo',)),
    (re.compile(r'^pmix(_\w+)?\.h'), ('noded/pmix',)),
    (re.compile(r'^spdlog/'), ('lib/program', 'ctld/shell', 'ctld/gscriptd', 'noded/shell', 'webd/shell')),
]

# ---- Limits

MAX_FUNCTION = 70
MAX_MEDIAN = 12
MAX_FILE = 800
LONG_FILE = 400
MAX_LONG_SHARE = 0.10
MAX_BYTES = 1 << 20
# The daemons' cores, which are small machines over tables: no circles of units.
CORES = ('ctld/core', 'noded/core')
# Of the product: methods, members and booleans of a class, sources of a folder.
MAX_METHODS = 40
MAX_MEMBERS = 20
MAX_BOOLEANS = 3
MAX_FOLDER = 25
# A record is open and has some small helpers at most: a table of fields, which grouping would only give longer names.
RECORD_METHODS = 5
CPP = ('.h', '.cc')
CODE = CPP + ('.py', '.sh', '.proto')
TOUR = 'docs/code-tour.md'
WORD_LISTS = ('docs/glossary.md', 'CHANGELOG.md')
PRODUCT = ('lib', 'ctld', 'noded', 'webd', 'cmds', 'plugins')
SNAKE = re.compile(r'^[a-z0-9_]+(\.[a-z0-9]+)+$')
# Written so that this file does not hold the words that it forbids.
WORDS = re.compile(r'\b(' + '|'.join(('TO' 'DO', 'FIX' 'ME', 'X' 'XX', 'HA' 'CK')) + r')\b')
# What docs/glossary.md has better words for; an alias that users may have written down says that it is the older name.
OLD_WORDS = re.compile(r'\b(' + '|'.join(('tak' 'ers?', 'gue' 'sts?', 'cens' 'us', 'claus' 'es?', 'misf' 'its?', 'Quota' 'Book',
                                          r'(?:stands?|stood|standing) st' 'ill')) + r')\b', re.IGNORECASE)
ADR_HEADINGS = ('## Context', '## Decision', '## Consequences')
PLACE = re.compile(r'(?<![\w.-])/wor' r'k/')
SUPPRESSION = re.compile(r'NO' r'LINT\w*(?!\w)(?!(?:\([^)]*\))?\s*:\s*\w{3})')
SKIPPED_TEST = re.compile(r'\bGTEST_' r'SKIP\b')
SLEEP = re.compile(r'\b(sleep_' r'for|sleep_until|usleep|nanosleep)\b')
SQL = re.compile(r'\b(SELECT|INSERT|UPDATE|DELETE)\s')
FORMAT_CALL = re.compile(r'\b(?:format|format_to|s?n?printf)\s*\($')
CONSTANT_ARGUMENTS = re.compile(r'^(?:,\s*k[A-Z]\w*\s*)+\)')


class Finding(NamedTuple):
    path: str
    line: int
    what: str
    rule: str

    def __str__(self) -> str:
        return f'{self.path}:{self.line}: {self.what} ({self.rule})'


class Source:
    """One file: its text (empty for a binary), and for C++ its scan."""

    def __init__(self, root: Path, path: str):
        self.path = path
        raw = (root / path).read_bytes()
        self.size = len(raw)
        self.is_binary = b'\0' in raw
        self.text = '' if self.is_binary else raw.decode('utf-8', 'replace')
        self.lines = self.text.splitlines()
        self.suffix = Path(path).suffix
        self.is_cpp = self.suffix in CPP
        self.is_test = path.startswith('tests/')
        self.is_script = self.text.startswith('#!')
        self.is_code = self.suffix in CODE or self.is_script
        self.scan = cpp_scan.scan(self.text) if self.is_cpp else cpp_scan.Scan('', [])

    def find(self, line: int, what: str, rule: str) -> Finding:
        return Finding(self.path, line, what, rule)

    def is_in(self, *folders: str) -> bool:
        return any(self.path.startswith(folder + '/') for folder in folders)


def list_files(root: Path) -> list:
    """Tracked files, and untracked ones that git does not ignore; without git every file outside build folders."""
    command = ['git', '-c', f'safe.directory={root}', '-C', str(root), 'ls-files', '-z', '--cached', '--others',
               '--exclude-standard']
    try:
        names = subprocess.run(command, check=True, capture_output=True).stdout.decode().split('\0')
    except (OSError, subprocess.CalledProcessError):
        names = [str(p.relative_to(root)) for p in root.rglob('*')]
        names = [n for n in names if not re.match(r'(\.git|build|\.cache)/|.*__pycache__/', n)]
    return sorted({n for n in names if n and (root / n).is_file() and not (root / n).is_symlink()})


# ---- Rules of one file


def layer_of(path: str) -> str:
    """The row of the include table for a path, written as includes are ("base", "ctld/core", ...); empty if it has none."""
    parts = path.split('/')
    if parts[0] == 'lib' and len(parts) > 2:
        return parts[1]
    if parts[0] in ('ctld', 'noded', 'cmds', 'plugins'):
        two = '/'.join(parts[:2])
        return two if two in PROGRAM_LAYERS else parts[0]
    return ''


def target_layer(include: str) -> str:
    first = include.split('/')[0]
    return first if first in LIB_LAYERS and '/' in include else layer_of(include)


def check_project_include(source: Source, line: int, include: str):
    layer = layer_of(source.path)
    target = target_layer(include)
    if not layer or not target or target == layer:
        return
    if layer not in LIB_LAYERS and layer not in PROGRAM_LAYERS:
        yield source.find(1, f'folder lib/{layer} has no row in the include table', 'include')
    elif include not in EXTRA_HEADERS.get(layer, ()):
        if target not in (LIB_LAYERS.get(layer) if layer in LIB_LAYERS else PROGRAM_LAYERS[layer]):
            yield source.find(line, f'{layer} may not include "{include}"', 'include')


def folder_within(layer: str, path: str):
    """The folder of a layer that a file or an include lies in; None: it lies above all folders, or elsewhere."""
    found = re.match(re.escape(layer) + r'/(\w+)/', path) or re.match(re.escape(layer.removeprefix('lib/')) + r'/(\w+)/', path)
    return found[1] if found else None


def check_folder_order(source: Source, line: int, include: str):
    """Within a layer a folder looks down, never up."""
    for layer, order in FOLDER_ORDER.items():
        here = folder_within(layer, source.path) if source.is_in(layer) else None
        there = folder_within(layer, include)
        if not here or not there or source.path.endswith('main.cc'):
            continue
        unknown = [folder for folder in (here, there) if folder not in order]
        if unknown:
            yield source.find(line, f'folder {layer}/{unknown[0]} has no place in the order of folders', 'include')
        elif order.index(there) > order.index(here):
            yield source.find(line, f'{layer}/{here} lies below {layer}/{there}, so it may not include "{include}"', 'include')


def check_home(source: Source, line: int, include: str):
    if source.path.split('/')[0] not in PRODUCT + ('tests', 'bench'):
        return
    for header, homes in HOMES:
        allowed = homes + tuple(home.replace('lib/', 'tests/unit/') for home in homes)
        if header.match(include) and not any(source.is_in(home) for home in allowed):
            yield source.find(line, f'<{include}> belongs to {" and ".join(homes)} alone', 'home')


def check_includes(source: Source):
    for number, line in enumerate(source.lines, 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line) if source.is_cpp else None
        if not match:
            continue
        include = match.group(1).removeprefix('lib/')
        if not source.is_test and not source.is_in('bench'):
            yield from check_project_include(source, number, include)
            yield from check_folder_order(source, number, include)
        yield from check_home(source, number, include)
        if any(source.is_in(folder) for folder in PURE) and IMPURE_HEADER.match(include):
            yield source.find(number, f'<{include}> in a folder without side effects', 'pure')


def check_casts(source: Source):
    if not source.is_cpp or not source.is_in(*NO_CASTS) or source.path.startswith(CASTS):
        return
    for number, line in enumerate(source.lines, 1):
        if 'reinterpret_cast' in line:
            yield source.find(number, 'a reinterpret_cast where sanitizers look for none', 'casts')


def python_functions(source: Source):
    try:
        tree = ast.parse(source.text)
    except SyntaxError as error:
        yield cpp_scan.Function(error.lineno or 1, MAX_FUNCTION + 1, 'unreadable Python')
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield cpp_scan.Function(node.lineno, node.end_lineno - node.lineno + 1, node.name)


def functions_of(source: Source) -> list:
    if source.is_cpp:
        return list(cpp_scan.functions(source.scan.code))
    is_python = source.suffix == '.py' or (source.is_script and 'python' in source.lines[0])
    return list(python_functions(source)) if is_python else []


def check_sizes(source: Source):
    if not source.is_code:
        return
    if len(source.lines) > MAX_FILE:
        yield source.find(1, f'{len(source.lines)} lines, more than {MAX_FILE}', 'size')
    for function in functions_of(source):
        if function.length > MAX_FUNCTION:
            what = f'function of {function.length} lines, more than {MAX_FUNCTION}: {function.head[:60]}'
            yield source.find(function.line, what, 'size')


def opens_with_comment(source: Source) -> bool:
    lines = source.lines[1:] if source.is_script else source.lines
    first = lines[0] if lines else ''
    if source.is_cpp or source.suffix == '.proto':
        return first.startswith(('//', '/*'))
    return first.startswith(('#', '"""', "'''", '//'))


def check_names(source: Source):
    name = source.path.rsplit('/', 1)[-1]
    if source.suffix in CODE and not SNAKE.match(name):
        yield source.find(1, 'the name of a source file is snake_case', 'name')
    if source.suffix == '.h' and '#pragma once' not in source.lines:
        yield source.find(1, 'a header needs #pragma once', 'header')
    is_corpus = source.path.startswith('tests/fuzz/corpus/')  # inputs, whatever they look like
    if source.is_code and source.lines and not is_corpus and not opens_with_comment(source):
        yield source.find(1, 'a file opens with a comment: its purpose and its invariants', 'comment')
    for line, enumerator in cpp_scan.enumerators(source.scan.code):
        if not re.match(r'^k[A-Z0-9]', enumerator):
            yield source.find(line, f'enumerator {enumerator} is not kName', 'name')


def check_words(source: Source):
    for number, line in enumerate(source.lines, 1):
        if match := WORDS.search(line):
            yield source.find(number, f'forbidden word {match.group(1)}', 'word')
        if source.path not in WORD_LISTS and 'older name' not in line and (match := OLD_WORDS.search(line)):
            yield source.find(number, f'{match.group(1)}: docs/glossary.md has another word', 'word')
        if PLACE.search(line):
            yield source.find(number, 'a path of one machine', 'word')
        if source.is_cpp and SUPPRESSION.search(line):
            yield source.find(number, 'a suppressed warning needs its reason: ...(check): reason', 'word')
        if source.is_test and source.is_cpp and SKIPPED_TEST.search(line):
            yield source.find(number, 'a test that cannot fail is no test', 'word')
        if source.is_test and source.is_cpp and SLEEP.search(line):
            yield source.find(number, 'a test must not sleep: wait for the event', 'word')


def check_pages(source: Source):
    """Decisions have one form, and a page says at once what it is good for."""
    path = Path(source.path)
    if path.parent == Path('docs/adr') and path.suffix == '.md':
        if not re.search(r'(?m)^Date: \d{4}-\d\d-\d\d\. Status: ', source.text):
            yield source.find(1, 'a decision has a line `Date: YYYY-MM-DD. Status: ...`', 'page')
        if missing := [h for h in ADR_HEADINGS if h not in source.lines]:
            yield source.find(1, f'a decision has the parts {", ".join(missing)}', 'page')
    elif path.parent == Path('docs') and path.suffix == '.md':
        if not re.search(r'With this page|[Yy]ou (can|will)', ' '.join(source.lines[1:6])):
            yield source.find(1, 'a page opens with what its reader will be able to do', 'page')


def check_sql(source: Source):
    """Statements are literals, or formatted of constants (kName) alone; values are bound."""
    if not source.is_in('lib/store'):
        return
    code = source.scan.code
    blanked = list(code)
    for literal in source.scan.literals:
        blanked[literal.start:literal.end] = ' ' * (literal.end - literal.start)
    gaps = ''.join(blanked)
    for literal in source.scan.literals:
        if not SQL.search(literal.text):
            continue
        before, after = gaps[:literal.start].rstrip(), gaps[literal.end:].lstrip()
        is_formatted = FORMAT_CALL.search(before) and not CONSTANT_ARGUMENTS.match(after)
        if before.endswith('+') or after.startswith('+') or is_formatted:
            yield source.find(cpp_scan.line_of(code, literal.start), 'SQL built of parts: bind values instead', 'sql')


# Values of the controller's core that one file alone makes, so that nobody pairs or repeats them by hand.
MADE_IN = (
    (re.compile(r'\bstore::(?:PutJob|PutJobStatus|EndJob|PutRunNode|DropRunNode|DropRun|PutStep|DropStep)\{'),
     'ctld/core/tables/row_marks.cc', 'rows of jobs, runs and steps are marked, not made'),
    (re.compile(r'\bsched::(?:JobPlaced|GpuOwned|ShareReleased|EndExpected|NodeSet|NodeRemoved|PartitionSet|PartitionRemoved|NetworkSet)\{'),
     'ctld/core/tables/ledger.cc', 'what is held changes through the ledger, which tells the scheduler'),
    (re.compile(r'\bSerializeAsString\('), 'lib/wire/row_bytes.h', 'equal messages have equal rows by wire::row_bytes() alone'),
)


def check_made(source: Source):
    if not source.is_in('ctld/core') or not source.is_cpp:
        return
    for pattern, home, what in MADE_IN:
        if source.path == home:
            continue
        for match in pattern.finditer(source.scan.code):
            yield source.find(cpp_scan.line_of(source.scan.code, match.start()), f'{what} ({home})', 'made')


def check_stray(source: Source):
    if source.size > MAX_BYTES:
        yield source.find(1, f'{source.size} bytes, more than {MAX_BYTES}', 'stray')
    if source.is_binary:
        yield source.find(1, 'binary file', 'stray')


def check_classes(source: Source):
    if not source.is_cpp or not source.is_in(*PRODUCT):
        return
    for found in cpp_scan.classes(source.scan.code):
        is_record = not found.is_closed and found.methods <= RECORD_METHODS
        over = (found.methods > MAX_METHODS, not is_record and found.members > MAX_MEMBERS,
                not is_record and found.booleans > MAX_BOOLEANS)
        if any(over):
            what = (f'{found.name} has {found.methods} methods and {found.members} members, {found.booleans} of them '
                    f'booleans: at most {MAX_METHODS}, {MAX_MEMBERS} and {MAX_BOOLEANS}')
            yield source.find(found.line, what, 'class')


FILE_RULES = (check_includes, check_casts, check_sizes, check_names, check_words, check_sql, check_made, check_classes, check_stray, check_pages)

# ---- Rules of the whole tree


def check_medians(sources: list):
    lengths: dict = {}
    for source in sources:
        if source.is_cpp and '/' in source.path:
            folder = source.path.split('/')[0]
            lengths.setdefault(folder, []).extend(f.length for f in functions_of(source))
    for folder, values in sorted(lengths.items()):
        if values and statistics.median(values) > MAX_MEDIAN:
            what = f'the median function has {statistics.median(values):g} lines, more than {MAX_MEDIAN}'
            yield Finding(folder, 1, what, 'median')


def long_files(sources: list) -> list:
    return [s for s in sources if s.is_code and len(s.lines) > LONG_FILE]


def check_long_share(sources: list):
    code, long = [s for s in sources if s.is_code], long_files(sources)
    if code and len(long) > MAX_LONG_SHARE * len(code):
        what = f'{len(long)} of {len(code)} files have more than {LONG_FILE} lines: at most a tenth may'
        yield Finding('.', 1, what, 'size')


def types_of(source: Source):
    """(name with its namespace, line) of each type that a header defines outside of others."""
    inside = []
    for number, line in enumerate(source.scan.code.splitlines(), 1):
        if opened := re.match(r'namespace ([\w:]+) \{', line):
            inside.append(opened[1])
        elif source.lines[number - 1].startswith('}  // namespace') and inside:
            inside.pop()
        elif defined := re.match(r'(?:struct|class|union|enum(?: class)?)\s+(\w+)\b[^;]*\{', line):
            yield '::'.join(inside + [defined[1]]), number


def check_twice(sources: list):
    """Two types by one name: the linker takes either's functions for both."""
    homes: dict = {}
    for source in sources:
        if source.suffix != '.h':
            continue
        for name, line in types_of(source):
            first = homes.setdefault(name, source)
            if first is not source:
                yield source.find(line, f'{name} is also in {first.path}', 'twice')


def check_folders(sources: list):
    counts: dict = {}
    for source in sources:
        if source.suffix == '.cc' and source.is_in(*PRODUCT):
            folder = source.path.rsplit('/', 1)[0]
            counts[folder] = counts.get(folder, 0) + 1
    for folder, count in sorted(counts.items()):
        if count > MAX_FOLDER:
            yield Finding(folder, 1, f'{count} sources, more than {MAX_FOLDER}', 'folder')


def units_used(sources: list, core: str) -> dict:
    """Of each unit of a core, which is a header with its source: the other units that it includes."""
    uses: dict = {}
    for source in sources:
        if not source.is_cpp or not source.is_in(core):
            continue
        unit = source.path.rsplit('.', 1)[0]
        included = re.findall(r'(?m)^#include "(' + core + r'/[\w/]+)\.h"', source.text)
        uses.setdefault(unit, set()).update(set(included) - {unit})
    return uses


def find_cycle(uses: dict) -> list:
    """Units of which each uses the next, and the last the first; empty if there are none."""
    done: set = set()

    def visit(unit: str, path: list) -> list:
        if unit in path:
            return path[path.index(unit):]
        if unit in done:
            return []
        for other in sorted(uses.get(unit, ())):
            if cycle := visit(other, path + [unit]):
                return cycle
        done.add(unit)
        return []

    return next((cycle for unit in sorted(uses) if (cycle := visit(unit, []))), [])


def check_cycles(sources: list):
    """A machine calls those below it; to those above it goes by events, so that no call comes back to its caller."""
    for core in CORES:
        if cycle := find_cycle(units_used(sources, core)):
            yield Finding(cycle[0], 1, 'a circle of units: ' + ' -> '.join(cycle + cycle[:1]), 'circle')


def check_places(sources: list):
    """Each file that the code tour names is there, and each function is in a file that its row or paragraph names."""
    texts = {s.path: s.text for s in sources if s.path != TOUR}
    for tour in (s for s in sources if s.path == TOUR):
        files: list = []
        for number, line in enumerate(tour.lines, 1):
            if not line or re.match(r'\d+\.|\|', line):
                files = []
            names = re.findall(r'`([\w-]+/[\w./-]*)`', line)
            for name in names:
                if not any(path == name or path.startswith(name.rstrip('/') + '/') for path in texts):
                    yield tour.find(number, f'{name} is not there', 'place')
            files += names
            for function in re.findall(r'`(\w+)\(\)`', line):
                if not any(re.search(rf'\b{function}\(', texts.get(name, '')) for name in files):
                    yield tour.find(number, f'{function}() is in none of the files named: {", ".join(files)}', 'place')


TREE_RULES = (check_medians, check_long_share, check_twice, check_folders, check_cycles, check_places)


def check_tree(root: Path) -> list:
    sources = [Source(root, path) for path in list_files(root)]
    findings = [f for source in sources for rule in FILE_RULES for f in rule(source)]
    return findings + [f for rule in TREE_RULES for f in rule(sources)]


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
    findings = check_tree(root)
    for finding in findings:
        print(finding)
    for source in long_files([Source(root, path) for path in list_files(root)]):
        print(f'note: {source.path} has {len(source.lines)} lines', file=sys.stderr)
    print(f'tidy: {len(findings)} findings')
    return 1 if findings else 0


if __name__ == '__main__':
    sys.exit(main())
