"""Reads C++ far enough for tidy.py: blanks comments, literals and directives, finds functions and enumerators.

It is a scanner, not a parser: it balances brackets and tells a function by the text before its opening brace.
"""

import re
from typing import Iterator, NamedTuple

TOKEN = re.compile(
    r'//(?:\\\n|[^\n])*'
    r'|/\*.*?(?:\*/|\Z)'
    r'|(?:u8|[uUL])?R"(?P<tag>[^\s()\\"]{0,16})\((?:.*?)\)(?P=tag)"'
    r'|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])(?:u8|[uUL])?'(?:\\.|[^'\\\n])*'"
    r'|(?m:^)[ \t]*\#(?:\\\n|/\*.*?\*/|"[^"\n]*"|[^\n/]|/(?![/*]))*',
    re.DOTALL)


class Literal(NamedTuple):
    start: int
    end: int
    text: str


class Function(NamedTuple):
    line: int
    length: int
    head: str


class Class(NamedTuple):
    """A class or struct: how many methods it declares, how many members of its own an object has, how many of these are
    booleans, and whether some of it is private."""
    line: int
    name: str
    methods: int
    members: int
    booleans: int
    is_closed: bool


class Scan(NamedTuple):
    code: str
    literals: list


def blank(text: str) -> str:
    return re.sub(r'[^\n]', ' ', text)


def scan(text: str) -> Scan:
    """`code` has the length and lines of `text`; literals keep their quotes, everything else hidden is spaces."""
    parts, literals, at = [], [], 0
    for m in TOKEN.finditer(text):
        parts.append(text[at:m.start()])
        token = m.group(0)
        if token.startswith('/') or token.lstrip().startswith('#'):
            parts.append(blank(token))
        else:
            literals.append(Literal(m.start(), m.end(), token))
            parts.append('"' + blank(token[1:-1]) + '"')
        at = m.end()
    parts.append(text[at:])
    return Scan(''.join(parts), literals)


def strip_groups(head: str, pairs: str) -> str:
    """Empties every balanced group of one kind of bracket."""
    out, depth = [], 0
    for c in head:
        if c == pairs[1]:
            depth = max(depth - 1, 0)
        if depth == 0:
            out.append(c)
        if c == pairs[0]:
            depth += 1
    return ''.join(out)


SCOPE = re.compile(r'^(?:(?:inline|typedef|static|constexpr|const|export)\s+)*'
                   r'(?:(namespace|class|struct|union|enum)\b|extern\s*"\s*"$)')
SIGNATURE_END = re.compile(r'(?:\(\)|\)\s*->[^=]*)\s*'
                           r'(?:(?:const|noexcept(?:\s*\(\))?|override|final|mutable|volatile|try|&&?|->[^=;]*|'
                           r'requires\b[^;]*)\s*)*$')
MEMBER_INIT = re.compile(r'\(\)\s*(?:noexcept(?:\s*\(\))?\s*)?:(?!:)')
CONTROL = re.compile(r'^(?:\}?\s*else\s+)?(?:if|for|while|switch|catch|do|return)\b')


def drop_parameters(head: str) -> str:
    """`head` without the `template <...>` at its front."""
    depth = 0
    for at, c in enumerate(head):
        depth += {'<': 1, '>': -1}.get(c, 0)
        if c == '>' and depth == 0:
            return head[at + 1:].strip()
    return ''


def kind_of(head: str) -> str:
    """What the brace after `head` opens, outside of functions: 'scope', 'enum', 'function', 'member' or 'other'."""
    flat = strip_groups(head, '()')
    plain = re.sub(r'\[\[.*?\]\]', ' ', flat).strip()
    plain = re.sub(r'^(?:public|private|protected)\s*:\s*(?!:)', '', plain)
    while plain.startswith('template'):
        plain = re.sub(r'^requires\s*\(\)\s*', '', drop_parameters(plain))
    scope = SCOPE.match(plain)
    if scope and not re.search(r'[\w>]\s+[\w:~]+\s*\(\)\s*\w*$', plain):
        return 'enum' if scope.group(1) == 'enum' else 'scope'
    if MEMBER_INIT.search(plain):
        return 'member' if re.search(r'[\w>]$', plain) else 'function'
    if CONTROL.match(plain):
        return 'other'
    return 'function' if SIGNATURE_END.search(plain) else 'other'


def matching(code: str, at: int) -> int:
    """Index of the brace that closes the one at `at`; the end of the text if none does."""
    depth = 0
    for m in re.compile(r'[{}]').finditer(code, at):
        depth += 1 if m.group(0) == '{' else -1
        if depth == 0:
            return m.start()
    return len(code)


def open_blocks(code: str) -> Iterator[tuple]:
    """(kind, start of head, opening brace, closing brace) of each block that is not inside a function or initializer."""
    head_start, at = 0, 0
    parens = 0
    while at < len(code):
        c = code[at]
        if c in '()':
            parens += 1 if c == '(' else -1
        elif c == ';' and parens <= 0 or c == '}':
            head_start, parens = at + 1, 0
        elif c == '{':
            kind = 'other' if parens > 0 else kind_of(code[head_start:at])
            close = matching(code, at)
            yield kind, head_start, at, close
            if kind == 'scope':
                head_start, parens = at + 1, 0
            else:
                at = close
                if kind in ('function', 'enum'):
                    head_start = at + 1
        at += 1


def line_of(text: str, at: int) -> int:
    return text.count('\n', 0, at) + 1


def functions(code: str) -> Iterator[Function]:
    """Every function and method with a body; its length counts from the first line of its head to the closing brace."""
    for kind, head_start, _, close in open_blocks(code):
        if kind != 'function':
            continue
        head = code[head_start:close]
        label = re.match(r'\s*(?:(?:public|private|protected)\s*:(?!:))?\s*', head)
        start = head_start + label.end()
        yield Function(line_of(code, start), line_of(code, close) - line_of(code, start) + 1,
                       ' '.join(code[start:start + 120].split('{')[0].split()))


def enumerators(code: str) -> Iterator[tuple]:
    """(line, name) of every enumerator, wherever its enum stands."""
    for m in re.finditer(r'\benum\b(?:\s+(?:class|struct))?[^;{}()]*\{', code):
        close = matching(code, m.end() - 1)
        body = strip_groups(strip_groups(code[m.end():close], '()'), '{}')
        at = m.end()
        for entry in body.split(','):
            name = re.match(r'\s*(?:\[\[.*?\]\]\s*)?([A-Za-z_]\w*)', entry)
            if name:
                yield line_of(code, at + name.start(1)), name.group(1)
            at += len(entry) + 1


CLASS_HEAD = re.compile(r'(?:^|\s)(?:class|struct)\s+(?:\[\[.*?\]\]\s*)?(\w+)[^()]*$')
NO_MEMBER = re.compile(r'^(?:using|friend|typedef|static_assert|static|constexpr|template\s*<[^;]*>\s*(?:class|struct))\b|'
                       r'^(?:class|struct|union|enum)\b')
LABEL = re.compile(r'\b(?:public|private|protected)\s*:(?!:)')


def declarations(body: str) -> Iterator[str]:
    """Each declaration of a class's body, without what stands in braces and in angle brackets."""
    flat = LABEL.sub(' ', strip_groups(body, '{}'))
    for part in re.split(r';|(?<=\{\})(?!\s*[;,=)])', flat):
        text = strip_groups(re.sub(r'<=>|<<|>>=|->', ' ', part), '<>').strip()
        if text:
            yield text


def classes(code: str) -> Iterator[Class]:
    for kind, head_start, at, close in open_blocks(code):
        head = CLASS_HEAD.search(code[head_start:at].strip()) if kind == 'scope' else None
        if not head:
            continue
        methods = members = booleans = 0
        for text in declarations(code[at + 1:close]):
            before_value = re.split(r'(?<![=!<>])=(?!=)', text)[0]
            if '(' in before_value or 'operator' in text:
                methods += not text.startswith(('friend', 'static_assert', 'using'))
            elif not NO_MEMBER.match(text):
                named = strip_groups(text, '()').count(',') + 1
                members += named
                booleans += named if re.match(r'(?:mutable\s+)?bool\b', text) else 0
        is_closed = re.search(r'\b(?:private|protected)\s*:(?!:)', strip_groups(code[at + 1:close], '{}')) is not None
        yield Class(line_of(code, at), head.group(1), methods, members, booleans, is_closed)
