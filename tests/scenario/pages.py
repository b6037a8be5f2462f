"""Examples on the pages of docs/: their blocks, and whether an excerpt of an output is true to the output."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def blocks(page: str, language: str) -> list:
    """The texts of a page's fenced blocks of this language."""
    return re.findall(rf'(?ms)^```{language}\n(.*?)^```$', (ROOT / page).read_text(encoding='utf-8'))


def commands(page: str) -> list:
    """(command, what the page says that it prints), of its blocks for the console."""
    asked = [one for block in blocks(page, 'console') for one in re.split(r'(?m)^\$ ', block)[1:]]
    return [tuple(one.split('\n', 1)) for one in asked]


def is_true(excerpt: str, output: str) -> bool:
    """A line `...` stands for any lines, and `...` at the end of a line for the rest of it."""
    pattern = ''
    for line in excerpt.splitlines():
        if line == '...':
            pattern += r'(?:.*\n)*?'
        else:
            pattern += re.escape(line.removesuffix('...')) + ('.*' if line.endswith('...') else '') + r'\n'
    return re.fullmatch(pattern, output) is not None
