"""What users type wrongly is refused, in the very words of refusals.txt, which a person can read and judge; and nothing
comes of it. Where a text changed, the failure prints the case as it would have to stand in that file."""

import dataclasses
import difflib
import pathlib
import re
import shlex

import leaks
import pytest

from cluster import Cluster
from conftest import QUICK, needs_root

pytestmark = needs_root  # to be an ordinary user: administrators are not held to all limits

TABLE = pathlib.Path(__file__).with_name("refusals.txt")
USER = "daemon"
LEAST = 60  # so many cases there are at least
CONFIG = QUICK + """
licenses: [matlab:2]
nodes:
  - {name: "n[0-1]", features: [h100, ib], gres: ["fpga:2"], tmp_disk: 100G}
  - {name: "n[2-3]", features: [l40s], tmp_disk: 100G}
network:
  - {switch: leaf0, nodes: "n[0-1]"}
  - {switch: leaf1, nodes: "n[2-3]"}
  - {switch: block0, switches: "leaf[0-1]"}
partitions:
  - {name: main, nodes: "n[0-3]", default: true, default_time: 30m, max_time: 8h}
  - {name: debug, nodes: n0, default_time: 5m, max_time: 30m, max_nodes: 1}
  - {name: small, nodes: "n[2-3]", default_time: 30m, max_time: 1d, allow_qos: [normal]}
  - {name: closed, nodes: n3, default_time: 30m, max_time: 1d, allow_users: [root]}
  - {name: drained, nodes: n3, default_time: 30m, max_time: 1d, state: drain}
qos:
  - {name: normal}
  - {name: research, limit: {gpu: 8}}
  - {name: vision, parent: research, limit: {gpu: 4}, max_wall: 2h, users: [daemon]}
  - {name: secret, users: [root]}
"""


@dataclasses.dataclass
class Case:
    """A command line, who types it ("user" or "root"), and what comes of it."""
    who: str
    line: str
    code: int = 0
    text: str = ""

    def block(self):
        """As it stands in the file."""
        return f"{self.who}$ {self.line}\nexit {self.code}\n{self.text}"


class Table:
    """The file: sections of cases, and the files that users have in their folder."""

    def __init__(self, text):
        self.sections, self.files = {}, {}
        for block in re.split(r"\n{2,}", text.strip()):
            head, _, rest = block.partition("\n")
            if head.startswith("#"):
                continue
            if head.startswith("== "):
                assert not rest, f"an empty line is missing below {head}"
                section = self.sections.setdefault(head.removeprefix("== "), [])
            elif head.startswith("file "):
                lines = rest.splitlines()
                assert all(line == "|" or line.startswith("| ") for line in lines), head
                self.files[head.removeprefix("file ")] = "".join(line[2:] + "\n" for line in lines)
            else:
                section.append(self.case(head, rest))

    @staticmethod
    def case(head, rest):
        who, _, line = head.partition("$ ")
        code, _, text = rest.partition("\n")
        assert who in ("user", "root") and re.fullmatch(r"exit \d+", code), f"not a case: {head}"
        return Case(who, line, int(code.removeprefix("exit ")), text)

    def cases(self):
        return [case for section in self.sections.values() for case in section]


table = Table(TABLE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def cluster():
    """Four nodes of two kinds. Job 1 is root's, jobs 2 and 3 are the user's, and 3 waits for 2; all are held."""
    one = Cluster(nodes=4, topology="dgx-h100,dgx-h100,l40s,l40s", config=CONFIG)
    try:
        one.up()
        for name, text in table.files.items():
            (one.work / name).write_text(text)
        jobs = [one.submit("true", "--hold", "-t", "10", "-J", "mine", *words, user=who)
                for who, words in ((None, []), (USER, []), (USER, ["-d", "afterok:2"]))]
        assert jobs == [1, 2, 3], "the file calls them so"
        whole, one.footprint = one.footprint, leaks.Footprint(one, kept=jobs)
        one.run("gcontrol", "create", "ReservationName=course", "Nodes=n3", "StartTime=2100-01-01", "Duration=60", "Users=root")
        yield one
        one.footprint = whole  # its end is looked at with the rest
    finally:
        one.down()


@pytest.fixture(scope="module", autouse=True)
def before(cluster):
    return picture(cluster)


def picture(cluster):
    """All that the requests could have changed."""
    shown = ["partition", "reservation", "job"]
    waits = re.compile(r"\n *WaitedFor=.*")  # which goes on
    return {"daemons": cluster.daemon_pids(), "nodes": cluster.node_states(),
            "queue": cluster.run("gqueue", "-h", "-t", "all", "-o", "%i %u %T %r").stdout,
            **{kind: waits.sub("", cluster.run("gcontrol", "show", kind).stdout) for kind in shown}}


def answer(cluster, case):
    """What is said now to the case's command line, as a case, and its output."""
    words = [word.replace("{long}", "x" * 17000) for word in shlex.split(case.line)]
    done = cluster.run(*words, user=USER if case.who == "user" else None, check=False)
    text = done.stderr.replace(cluster.cluster_name(), "{cluster}").rstrip("\n")
    return Case(case.who, case.line, done.returncode, text), done.stdout


def command_of(case):
    return next(word for word in shlex.split(case.line) if word != "env" and "=" not in word)


def faults(case, now, output):
    """What is wrong with an answer, for people."""
    found = []
    if now.code == 0:
        found.append("it was not refused")
    if output:
        found.append(f"standard output: {output!r}")
    if now.code != 0 and not all(re.match(rf"{command_of(case)}( \w+)*: (error: |Try )\S", line) for line in now.text.split("\n")):
        found.append("a line does not begin with the name of the command")
    if now != case:
        changed = difflib.unified_diff(case.block().split("\n"), now.block().split("\n"), "refusals.txt", "now", lineterm="", n=0)
        found.append("\n".join(changed) + "\n\nIf that is right, it stands in refusals.txt as:\n\n" + now.block())
    return [f"\n--- {case.who}$ {case.line}\n{fault}\n" for fault in found]


def test_the_table_is_one():
    lines = [(case.who, case.line) for case in table.cases()]
    assert len(lines) >= LEAST
    assert len(set(lines)) == len(lines), "a command line stands there twice"
    assert all(case.code != 0 for case in table.cases()), "what is not refused does not belong there"


@pytest.mark.parametrize("section", table.sections)
def test_it_is_refused_in_these_words(cluster, section):
    wrong = []
    for case in table.sections[section]:
        wrong += faults(case, *answer(cluster, case))
    assert not wrong, "".join(wrong)


def test_nothing_came_of_it(cluster, before):
    """No job, no change, and the daemons are the same and answer. The next job has the next number."""
    assert picture(cluster) == before
    assert cluster.ping()
    job = cluster.submit("true", user=USER)
    cluster.wait_state(job, "COMPLETED")
    assert job == 4, "a refused request made a job"
