#!/usr/bin/python3
"""Breaks the product on purpose, one breakage at a time, and looks whether the tests notice.

    tests/mutation/run.py [--only TEXT,...] [--list] [--build FOLDER] [--here] [--known-good] [--second-chance]
                          [--json FILE]

Each breakage of mutants/*.yaml says what it means, which text of which file it replaces by what (by its words, not by
its line, so that it survives changes around it), what to build and which tests should fail; these alone are built, by
the dev preset, and run. What they miss may get a second chance: the same programs without their filters. The run ends
with the score, "N of M noticed", and names those that were not. Exit status 0 if all were noticed; 1 if some were not,
or are stale (their text is gone: the breakage must be written anew for the code as it is); 2 for a list that cannot be
read.

Invariants: it works in a copy of the tree (a git worktree of HEAD), so that the tree itself is never broken, unless it
is told that this tree is the copy (--here); the copy is whole again after each breakage; the tests run first without
any breakage, and must pass.
"""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import time

import yaml

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
LIMIT = 600  # seconds for the tests of one breakage; one that makes them hang is noticed


class Mutant:
    """One breakage. Fields: name, means, file, find, replace, build (targets), tests (list of command lines)."""

    def __init__(self, entry, origin):
        wanted = {"name", "means", "file", "find", "replace", "build", "tests"}
        if set(entry) != wanted:
            raise ValueError(f"{origin}: {entry.get('name')}: the keys must be {', '.join(sorted(wanted))}")
        self.name, self.means, self.file = entry["name"], entry["means"], entry["file"]
        self.find, self.replace = entry["find"].strip("\n"), entry["replace"].strip("\n")
        self.build, self.tests = entry["build"], entry["tests"]

    def applied(self, text):
        """`text` with the breakage; None if its words are not there exactly once. Blanks and line ends count alike."""
        words = r"\s+".join(re.escape(word) for word in self.find.split())
        found = list(re.finditer(words, text))
        if len(found) != 1:
            return None
        return text[:found[0].start()] + self.replace + text[found[0].end():]


def read_mutants():
    mutants = []
    for path in sorted((HERE / "mutants").glob("*.yaml")):
        mutants += [Mutant(entry, path.name) for entry in yaml.safe_load(path.read_text())]
    names = [m.name for m in mutants]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two breakages have one name: {', '.join(sorted(twice))}")
    return mutants


class Copy:
    """The tree that is broken and built."""

    def __init__(self, folder):
        self.top = folder
        if folder == TOP:
            return
        if not (folder / ".git").exists():
            subprocess.run(["git", "-C", TOP, "worktree", "add", "-q", "--detach", folder, "HEAD"], check=True)
        head = subprocess.run(["git", "-C", TOP, "rev-parse", "HEAD"], check=True, capture_output=True,
                              text=True).stdout.strip()
        subprocess.run(["git", "-C", folder, "checkout", "-q", "--force", "--detach", head], check=True)
        if not (folder / "build" / "dev" / "build.ninja").exists():
            subprocess.run(["cmake", "--preset", "dev"], cwd=folder, check=True, capture_output=True)

    def build(self, targets):
        """The compiler's words if it fails; empty if all is built."""
        done = subprocess.run(["cmake", "--build", "--preset", "dev", "--target", *targets], cwd=self.top,
                              capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else done.stdout[-2000:] + done.stderr[-2000:]

    def whole_programs(self, tests):
        """The command lines without what chooses among their tests."""
        return sorted({re.sub(r" --gtest_filter=\S+", "", test) for test in tests})

    def without_tests(self, tests):
        """The command lines whose filter no test has: they would notice nothing."""
        listed = ((test, re.sub(r"( --gtest_brief=1)? --gtest_filter=", r" --gtest_list_tests --gtest_filter=", test))
                  for test in tests if "--gtest_filter=" in test)
        return [test for test, listing in listed
                if not subprocess.run(["sh", "-c", f"{listing} | grep '^  '"], cwd=self.top, capture_output=True, check=False).stdout]

    def first_failure(self, tests):
        """The first of the command lines that fails or hangs; empty if all pass."""
        for test in tests:
            try:
                done = subprocess.run(["sh", "-c", test], cwd=self.top, capture_output=True, timeout=LIMIT, check=False)
            except subprocess.TimeoutExpired:
                return test
            if done.returncode != 0:
                return test
        return ""


def run_one(copy, mutant, has_second_chance):
    """What became of a breakage: 'noticed', 'by others' (at the second chance), 'NOT NOTICED', 'stale', or 'does not
    build' (a breakage must compile)."""
    path = copy.top / mutant.file
    whole = path.read_text() if path.exists() else ""
    broken = mutant.applied(whole)
    if broken is None or broken == whole:
        return "stale"
    try:
        path.write_text(broken)
        if copy.build(mutant.build):
            return "does not build"
        if copy.first_failure(mutant.tests):
            return "noticed"
        if has_second_chance and copy.first_failure(copy.whole_programs(mutant.tests)):
            return "by others"
        return "NOT NOTICED"
    finally:
        path.write_text(whole)


def run_all(copy, mutants, options):
    """By name what became of each. Those of one file follow each other, so that less is built."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # the copy is made whole on the way out
    outcome = {}
    for m in sorted(mutants, key=lambda m: m.file):
        begun = time.monotonic()
        outcome[m.name] = run_one(copy, m, options.second_chance)
        print(f"{outcome[m.name]:14} {m.name} ({time.monotonic() - begun:.0f} s): {m.means}", flush=True)
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="those whose name or file has one of these texts, parted by commas")
    parser.add_argument("--list", action="store_true", help="print them, run none; stale ones are marked")
    parser.add_argument("--build", default=str(TOP / "build" / "mutation"), help="folder of the copy")
    parser.add_argument("--here", action="store_true", help="break this tree itself: it is a copy, and built")
    parser.add_argument("--known-good", action="store_true", help="do not run the tests without a breakage first")
    parser.add_argument("--second-chance", action="store_true", help="of programs that noticed nothing run all tests")
    parser.add_argument("--json", default="", help="write what became of each to this file")
    options = parser.parse_args()
    try:
        words = options.only.split(",")
        mutants = [m for m in read_mutants() if any(word in m.name or word in m.file for word in words)]
    except (ValueError, yaml.YAMLError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    if options.list:
        stale = [m for m in mutants if m.applied((TOP / m.file).read_text() if (TOP / m.file).exists() else "") is None]
        for m in mutants:
            print(f"{m.name:40} {'STALE ' if m in stale else ''}{m.means}")
        return 1 if stale else 0
    copy = Copy(TOP if options.here else pathlib.Path(options.build).resolve())
    wrong = copy.build(sorted({t for m in mutants for t in m.build}))
    empty = [] if wrong else copy.without_tests(sorted({t for m in mutants for t in m.tests}))
    if empty:
        wrong = "no test has these names:\n" + "\n".join(empty)
    if not options.known_good:
        wrong = wrong or copy.first_failure(sorted({t for m in mutants for t in m.tests}))
    if wrong:
        print(f"run.py: without any breakage this fails already:\n{wrong}", file=sys.stderr)
        return 2
    outcome = run_all(copy, mutants, options)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(outcome, indent=1) + "\n")
    missed = [name for name, what in outcome.items() if what not in ("noticed", "by others")]
    print(f"{len(outcome) - len(missed)} of {len(outcome)} noticed")
    for name in missed:
        print(f"  {outcome[name]}: {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
