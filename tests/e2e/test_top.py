"""gangway top in a real terminal: what it shows at 80x24 and without colours, and what its keys do to jobs. TERM is one that
the emulator of the tests knows whole."""

import json
import os
import re
import signal

import pytest

from cluster import wait_for
from conftest import QUICK
from terminal import Terminal


COLOUR = re.compile(rb"\x1b\[(?:\d+;)*3[1-7](?:;\d+)*m")


@pytest.fixture
def cluster(make_cluster):
    return make_cluster(nodes=2, config=QUICK + "qos: [{name: vision, guaranteed: {gpu: 8}}]\n")


@pytest.fixture
def top(cluster):
    """Starts it, and ends what is left of it."""
    open_ones = []

    def start(*options, rows=24, columns=80, argv=None, **env):
        terminal = Terminal(argv or [str(cluster.bin / "gangway"), "top", *options],
                            {**os.environ, **cluster.env, "TERM": "linux", "LC_ALL": "C.UTF-8", **env},
                            cwd=cluster.dir, rows=rows, columns=columns)
        open_ones.append(terminal)
        return terminal
    yield start
    for terminal in open_ones:
        terminal.close()


def test_a_job_from_its_submission_to_its_cancellation(cluster, top):
    terminal = top()
    terminal.wait("There are none.")
    job = cluster.submit("sleep 600", "-J", "watched", "-N1", "--gpus-per-node=2", "-t", "10")
    terminal.wait("watched of")  # the controller says that there is something new
    cluster.wait_state(job, "RUNNING")
    terminal.wait(" R ")
    terminal.wait("2 in use")
    held = cluster.submit("true", "-J", "kept", "--hold")
    terminal.wait("kept")
    terminal.type("j")
    terminal.wait("kept of")
    terminal.type("r")
    terminal.wait(f"job {held} is released")
    cluster.wait_ended(held)
    wait_for(lambda: "kept" not in terminal.text(), lambda: terminal.text())
    terminal.type("c")
    terminal.wait("has gone")  # the one that was chosen: nobody meant the next one
    terminal.type("c")
    terminal.wait(f"Cancel job {job}?")
    terminal.type("y")
    cluster.wait_ended(job)
    terminal.wait("There are none.")
    terminal.type("q")
    assert terminal.wait_exit() == 0


def test_why_a_job_waits_and_where_each_gpu_is(cluster, top):
    job = cluster.submit("sleep 600", "-J", "gang", "-N2", "--gpus-per-node=8", "--exclusive", "-t", "10")
    cluster.wait_state(job, "RUNNING")
    waits = cluster.submit("true", "-J", "next", "-N2", "--gpus-per-node=8", "-t", "5")
    terminal = top("--filter", "next")
    terminal.wait("It waits:")
    terminal.type("w")
    terminal.wait(f"Job {waits}")
    terminal.wait("waits")
    terminal.type("q")  # the page
    terminal.type("2")
    terminal.wait("Nothing fits.")
    terminal.type("\x1b")
    terminal.wait("[aaaa aaaa]", count=2)
    terminal.wait("a  job %s gang" % job)
    terminal.type("\r")
    terminal.wait("Node n0")
    terminal.type("q3")
    terminal.wait("16/16")
    terminal.type("4")
    terminal.wait("vision")
    terminal.type("q")
    assert terminal.wait_exit() == 0


def test_it_needs_no_colours_and_no_letters_beyond_ascii(cluster, top):
    cluster.submit("sleep 600", "-J", "plain", "-t", "10")
    for env in ({"TERM": "vt100"}, {"NO_COLOR": "1"}, {"LC_ALL": "C"}):
        terminal = top(**env)
        terminal.wait("plain of")
        terminal.type("2")
        terminal.wait("MEMORY MiB")
        terminal.type("q")
        assert terminal.wait_exit() == 0
        if "LC_ALL" not in env:
            assert not COLOUR.findall(terminal.seen), env
        else:
            assert all(byte < 0x80 for byte in terminal.seen)
    terminal = top("--view=nodes")
    terminal.wait("[.... ....]")
    assert COLOUR.findall(terminal.seen)
    terminal.type("\x03")
    assert terminal.wait_exit() == 0


def test_keys_that_mean_nothing_do_nothing(cluster, top):
    job = cluster.submit("sleep 600", "-J", "kept", "--hold", "-t", "10")
    terminal = top()
    terminal.wait("kept of")
    for keys in ("\x1bh", "\x1br", "\x1b[15~" * 150, "\x1b[200~", "\x1bOZ", "\x1b[1;5D"):  # with Alt, F5, what a paste begins with
        terminal.type(keys)
    terminal.type("/zzz\x1b")
    wait_for(lambda: "/zzz" not in terminal.text(), lambda: terminal.text())
    assert "kept of" in terminal.text() and "MEMORY MiB" not in terminal.text()
    assert cluster.show(job, "%r") == "JobHeldUser"
    terminal.type("q")
    assert terminal.wait_exit() == 0


def test_holding_a_key_asks_the_controller_for_nothing(cluster, top):
    for _ in range(5):
        cluster.submit("true", "-J", "many", "--hold")
    terminal = top()
    terminal.wait("many of")

    def asked():
        """Lists of jobs that anybody has asked for."""
        rows = json.loads(cluster.run("gdiag", "--json").stdout)["statistics"]["rpcs_by_message_type"]
        return sum(row["count"] for row in rows if row["message_type"] == "list_jobs")

    before = asked()
    for i in range(60):
        terminal.type("j" if i % 10 < 5 else "k")
        terminal.pump(0.02)
    assert asked() <= before + 5, "each key is no question"
    terminal.type("q")
    assert terminal.wait_exit() == 0


def test_the_terminal_is_as_before_and_may_change_its_size(cluster, top):
    terminal = top(rows=30, columns=120)
    before = terminal.modes()
    terminal.wait("PARTITION")
    assert terminal.modes() != before, "it reads single keys"
    for rows, columns in ((24, 80), (8, 30), (50, 200)):
        terminal.resize(rows, columns)
        os.kill(terminal.pid, signal.SIGWINCH)
        terminal.wait("40x10 at least" if rows < 10 else "JOBID")
    terminal.type("\x1c")  # ctrl-\\
    assert terminal.wait_exit() == 0
    assert b"\x1b[?25h" in terminal.seen[-200:], "its cursor is seen again"
    assert terminal.modes() == before


def test_the_controller_goes_and_comes_back(cluster, top):
    job = cluster.submit("sleep 600", "-J", "stays", "-t", "10")
    cluster.wait_state(job, "RUNNING")
    terminal = top()
    terminal.wait("stays of")
    cluster.kill("gctld", signal.SIGKILL)
    terminal.wait("the controller is not reached")
    assert "stays" in terminal.text(), "what was known last"
    cluster.start("gctld")
    wait_for(lambda: "not reached" not in terminal.text(), lambda: terminal.text())
    terminal.type("q")
    assert terminal.wait_exit() == 0


def test_what_is_wrong_is_said_before_the_screen_is_taken(cluster, top):
    done = cluster.run("gangway", "top", check=False)
    assert done.returncode == 1 and "this takes a terminal" in done.stderr
    for options, text in ((("--view=jbos",), "there is no jbos"), (("--filter", "colour:red"), "unknown key colour"),
                          (("now",), "what is now?")):
        done = cluster.run("gangway", "top", *options, check=False)
        assert done.returncode == 1 and text in done.stderr, done
    for term, text in (("no-such-terminal", "is not known here"), ("dumb", "cannot place its cursor")):
        terminal = top(TERM=term)
        assert terminal.wait_exit() == 1
        assert f"TERM={term}" in terminal.text() and text in terminal.text()


def shown(cluster, top, *argv, **options):
    """The bytes and the lines of a command on a terminal."""
    terminal = top(argv=[str(cluster.bin / argv[0]), *argv[1:]], **options)
    assert terminal.wait_exit() == 0
    return terminal.seen, terminal.text()


def test_tables_use_the_colours_and_the_width_of_a_terminal(cluster, top):
    cluster.submit("sleep 600", "-J", "a-name-that-is-long", "-t", "10")
    waits = cluster.submit("true", "-J", "held", "--hold", "-d", "singleton")
    wait_for(lambda: "JobHeldUser" in cluster.run("gqueue", "-j", waits).stdout, "why it waits")
    seen, text = shown(cluster, top, "gqueue")
    assert COLOUR.search(seen) and b"\x1b[1m" in seen
    assert all(len(line) <= 80 for line in seen.decode().replace("\r", "").split("\n") if "\x1b" not in line)
    assert "a-name-that-is-long" not in text
    assert "a-name-that-is-long" in shown(cluster, top, "gqueue", columns=140)[1], "where there is room for it"
    for command in ("ginfo", "gshare"):
        seen, text = shown(cluster, top, command)
        assert max(map(len, text.splitlines())) <= 80 and (command == "gshare" or COLOUR.search(seen))
        assert not COLOUR.search(shown(cluster, top, command, NO_COLOR="1")[0])
    assert not COLOUR.search(shown(cluster, top, "gqueue", TERM="dumb")[0])
    squeue = shown(cluster, top, str(cluster.bin.parent / "libexec/gangway/slurm/squeue"))[0]
    assert b"\x1b" not in squeue, "Slurm's names look as Slurm does"
    assert b"\x1b" not in shown(cluster, top, str(cluster.bin.parent / "libexec/gangway/slurm/squeue"), "--help", rows=200)[0]
    assert "\x1b" not in cluster.run("gqueue").stdout + cluster.run("ginfo").stdout
    for columns in (60, 80, 140):
        seen, text = shown(cluster, top, "gbatch", "--help", columns=columns, rows=400)
        lines = text.splitlines()
        assert max(map(len, lines)) <= min(columns, 100), max(lines, key=len)
        assert b"\x1b[1m" in seen
