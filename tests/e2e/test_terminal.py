"""Shells and full-screen programs on a node, through a real terminal."""

import os
import time

import pytest

from cluster import wait_for
from terminal import Terminal

# Draws a frame again whenever the terminal has another size, as an editor does, and shows the last key.
EDITOR = r"""
import os, shutil, signal, sys, termios, tty
def draw(*_):
    size = os.get_terminal_size(0)
    sys.stdout.write("\x1b[2J\x1b[1;1Htop %dx%d" % (size.columns, size.lines))
    sys.stdout.write("\x1b[%d;1Hbottom" % size.lines)
    sys.stdout.flush()
signal.signal(signal.SIGWINCH, draw)
old = termios.tcgetattr(0)
tty.setraw(0)
sys.stdout.write("\x1b[?1049h")
draw()
while True:
    key = os.read(0, 1)
    if key == b"q":
        break
    sys.stdout.write("\x1b[3;5Hkey %d " % key[0])
    sys.stdout.flush()
sys.stdout.write("\x1b[?1049l")
termios.tcsetattr(0, termios.TCSADRAIN, old)
"""


@pytest.fixture
def terminal(shared_cluster):
    opened = []

    def start(*argv, **options):
        env = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", "PS1": "$ ", **shared_cluster.env}
        for name in [n for n in env if n.startswith("SLURM_")]:
            del env[name]
        opened.append(Terminal([str(word) for word in argv], env, shared_cluster.work, **options))
        return opened[-1]

    yield start
    for one in opened:
        one.close()
    shared_cluster.wait_idle()


def test_a_shell_on_a_node(terminal):
    t = terminal("grun", "--pty", "bash", "--norc", rows=30, columns=90)
    t.wait("$")
    t.type("stty size; echo on $SLURMD_NODENAME\n")
    t.wait("30 90")
    t.wait("on n0")
    t.resize(20, 60)
    t.type("clear\n")
    wait_for(lambda: "clear" not in t.text(), "a clear screen")
    t.type("stty size\n")
    t.wait("20 60")
    t.type("sleep 1000\n")
    t.wait("sleep 1000")
    t.type("\x1a")
    t.wait("Stopped")
    t.type("fg\n")
    t.wait("sleep 1000", 3)
    t.type("\x03")
    t.wait("^C")
    t.type("exit 5\n")
    assert t.wait_exit() == 5


def test_a_terminal_that_changes_while_the_step_waits(terminal, shared_cluster):
    blocker = shared_cluster.submit("sleep 1000", "-N2", "--exclusive", "-t", "60")
    shared_cluster.wait_state(blocker, "RUNNING")
    t = terminal("grun", "--pty", "sh", "-c", "stty size; read line", rows=24, columns=80)
    t.wait("queued and waiting for resources")
    t.resize(30, 90)
    shared_cluster.run("gcancel", blocker)
    t.wait("30 90")
    t.type("\n")
    assert t.wait_exit() == 0


@pytest.mark.parametrize("delay", [0, 0.01, 0.03, 0.1])
def test_a_terminal_that_changes_as_the_command_starts(terminal, delay):
    t = terminal("grun", "--pty", "sh", "-c", 'until [ "$(stty size)" = "30 90" ]; do sleep 0.1; done; echo now', rows=24)
    time.sleep(delay)
    t.resize(30, 90)
    t.wait("now")
    assert t.wait_exit() == 0


def test_a_full_screen_program(terminal, shared_cluster):
    (shared_cluster.work / "editor.py").write_text(EDITOR)
    t = terminal("bash", "--norc", rows=24, columns=80)
    t.wait("$")
    before = t.modes()
    t.type("grun --pty python3 editor.py\n")
    t.wait("top 80x24")
    assert t.screen.display[23].startswith("bottom")
    t.type("x")
    t.wait("key 120")
    t.type("\x03")
    t.wait("key 3 ")
    t.resize(30, 100)
    t.wait("top 100x30")
    assert t.screen.display[29].startswith("bottom")
    t.type("q")
    t.wait("$")
    t.type("echo back\n")
    t.wait("back", 2)
    assert t.modes()[:4] == before[:4], "the terminal is as it was"
    t.type("exit\n")
    assert t.wait_exit() == 0


def test_control_c_shows_and_then_ends(terminal):
    t = terminal("grun", "-n2", "sh", "-c", "echo up; exec sleep 1000", rows=60)
    t.wait("up", 2)
    t.type("\x03")
    t.wait("tasks 0-1: running")
    # One more within a second ends it; on a busy machine that may take more than one try.
    while "sending Ctrl-C" not in t.text():
        before = t.text().count("one more within")
        t.type("\x03")
        wait_for(lambda: "sending Ctrl-C" in t.text() or t.text().count("one more within") > before, "an answer to ctrl-C")
    assert t.wait_exit() == 130


def test_an_allocation_with_a_shell(terminal, shared_cluster):
    t = terminal("galloc", "-N2", "--gpus-per-node=1", "bash", "--norc")
    t.wait("Granted job allocation")
    t.wait("$")
    t.type("grun -n2 -l printenv SLURMD_NODENAME | sort\n")
    t.wait("0: n0")
    t.wait("1: n1")
    t.type("sleep 1000\n")
    t.wait("sleep 1000")
    t.type("\x03")
    t.wait("^C")
    job = shared_cluster.run("gqueue", "-h", "-o", "%i").stdout.strip()
    t.type("exit 3\n")
    assert t.wait_exit() == 3
    assert "Relinquishing" in t.text()
    assert shared_cluster.wait_ended(int(job)) and shared_cluster.state(int(job)) == "FAILED"


def test_an_allocation_in_the_background_leaves_the_terminal_alone(terminal):
    t = terminal("bash", "--norc", "-i")
    t.wait("$")
    t.type("galloc -Q -N1 sh -c 'echo in; sleep 1' &\n")
    t.wait("in", 2)
    t.type("wait; echo still here\n")
    t.wait("still here", 2)
    t.type("exit\n")
    assert t.wait_exit() == 0


def test_an_allocation_that_waits_says_why_and_can_be_cancelled(terminal, shared_cluster):
    blocker = shared_cluster.submit("sleep 1000", "-N2", "--exclusive", "-t", "60")
    shared_cluster.wait_state(blocker, "RUNNING")
    t = terminal("galloc", "-N2", "--exclusive")
    t.wait("queued and waiting for resources")
    t.type("\x03")
    assert t.wait_exit() == 130
    shared_cluster.run("gcancel", blocker)


def test_an_allocation_that_is_cancelled_takes_its_shell_along(terminal, shared_cluster):
    t = terminal("galloc", "-N1", "bash", "--norc")
    t.wait("$")
    job = shared_cluster.run("gqueue", "-h", "-o", "%i").stdout.strip()
    shared_cluster.run("gcancel", job)
    t.wait("has been revoked")
    assert t.wait_exit() != 0
