"""The cable between a node and the controller is cut, and joined again: a job is neither lost nor run twice."""

import os
import signal

import pytest
from cable import CableCluster, why_not
from cluster import is_alive, wait_for
from conftest import QUICK
from terminal import Terminal

REASON = why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

SLOW = 90  # seconds; a node tries to come back every half minute at worst


@pytest.fixture
def make():
    """A function that starts a cluster with a cable."""
    made = []

    def start(config=QUICK):
        made.append(CableCluster(config))
        return made[-1].up()

    yield start
    for one in made:
        one.down()


class Run:
    """A job on n0 that writes down each of its starts and runs until it is told to end. Each start also writes whether
    the process of the start before it still lives."""

    def __init__(self, cluster, code):
        self.cluster = cluster
        self.starts_file, self.go = cluster.work / "starts", cluster.work / "go"
        script = (f"before=$(tail -n 1 {self.starts_file} 2>/dev/null | cut -d ' ' -f 2)\n"
                  f"twice=no; [ -n \"$before\" ] && kill -0 $before 2>/dev/null && twice=twice\n"
                  f"echo $SLURMD_NODENAME $$ $twice >> {self.starts_file}\n"
                  f"while [ ! -e {self.go} ]; do sleep 0.05; done; exit {code}")
        cluster.run("gcontrol", "update", "nodename=n1", "state=drain", "reason=first n0")
        self.job = cluster.submit(script, "-N1", "--requeue")
        cluster.wait_state(self.job, "RUNNING")
        cluster.run("gcontrol", "update", "nodename=n1", "state=resume")
        wait_for(self.starts_file.exists, "the script started")
        wait_for(self.starts, "the first start is written")

    def starts(self):
        """[node, pid, "twice" or "no"] of each start."""
        return [line.split() for line in self.starts_file.read_text().splitlines() if len(line.split()) == 3]

    def runs_on(self):
        return self.cluster.show(self.job, "%T %N")


def back(cluster):
    cluster.mend()
    wait_for(lambda: cluster.node_states().get("n0", "*").rstrip("*") == cluster.node_states().get("n0", "*"),
             "n0 is back", SLOW)


@pytest.mark.parametrize("when", ["while cut off", "after it is back"])
def test_job_outlives_a_cut(make, when):
    cluster = make()
    run = Run(cluster, 4)
    cluster.cut()
    cluster.wait_out_of_reach()
    other = cluster.submit("exit 0", "-N1")  # by the time that this has run the controller had time for a mistake
    cluster.wait_state(other, "COMPLETED")
    assert run.runs_on() == "RUNNING n0"
    assert "n0" in cluster.reason_text(run.job) and "out of reach" in cluster.reason_text(run.job)
    if when == "while cut off":
        run.go.touch()
        wait_for(lambda: not is_alive(int(run.starts()[0][1])), "the script has ended")
        assert run.runs_on() == "RUNNING n0"  # nobody could have told
    back(cluster)
    if when == "after it is back":
        assert run.runs_on() == "RUNNING n0"
        assert "out of reach" not in cluster.reason_text(run.job)
        run.go.touch()
    cluster.wait_state(run.job, "FAILED", deadline=SLOW)
    assert "ExitCode=4:0" in cluster.reason_text(run.job) and "Restarts=0" in cluster.reason_text(run.job)
    assert len(run.starts()) == 1
    cluster.wait_idle()


def goes_on_elsewhere(run):
    """The job was queued again and runs on n1, after its first run."""
    cluster = run.cluster
    wait_for(lambda: run.runs_on() == "RUNNING n1", "the job runs on n1", SLOW)
    wait_for(lambda: len(run.starts()) == 2, "the second start")
    assert [start[0] for start in run.starts()] == ["n0", "n1"]
    assert "Restarts=1" in cluster.reason_text(run.job)


def ends_once(run):
    """The node comes back; nothing that it says of its earlier run touches the later one."""
    cluster = run.cluster
    back(cluster)
    wait_for(lambda: not is_alive(int(run.starts()[0][1])), "the end of the first run's process", SLOW)
    assert run.runs_on() == "RUNNING n1"
    run.go.touch()
    cluster.wait_state(run.job, "COMPLETED")
    assert len(run.starts()) == 2
    assert "Restarts=1" in cluster.reason_text(run.job)


@pytest.mark.parametrize("daemon", ["lives", "is dead"])
def test_lease_ends_the_job_on_both_sides(make, daemon):
    cluster = make()
    cluster.change_config(r"unlimited: true\}", "unlimited: true, lease: 4s}")
    run = Run(cluster, 0)
    cluster.cut()
    if daemon == "is dead":  # then the job's shepherd keeps the lease by itself
        cluster.kill("gnoded.n0")
    goes_on_elsewhere(run)
    assert run.starts()[1][2] == "no", "the first run lived when the second began"
    if daemon == "is dead":
        cluster.start("gnoded.n0")
    ends_once(run)
    cluster.wait_idle(SLOW)


def test_lease_is_kept_up_while_the_cable_holds(make):
    cluster = make()
    cluster.change_config(r"unlimited: true\}", "unlimited: true, lease: 2s}")
    run = Run(cluster, 0)
    for _ in range(3):  # each takes a second and more: together longer than the lease
        cluster.wait_state(cluster.submit("sleep 1.2", "-N1"), "COMPLETED")
    assert run.runs_on() == "RUNNING n0"
    run.go.touch()
    cluster.wait_state(run.job, "COMPLETED")
    assert len(run.starts()) == 1


def test_administrator_declares_the_node_dead(make):
    cluster = make()
    run = Run(cluster, 0)
    refused = cluster.run("gcontrol", "update", "nodename=n0", "state=down", "dead=yes", check=False)
    assert refused.returncode == 1 and "it is not dead" in refused.stderr
    cluster.cut()
    cluster.wait_out_of_reach()
    assert run.runs_on() == "RUNNING n0"
    cluster.run("gcontrol", "update", "nodename=n0", "state=down", "dead=yes", "reason=on fire")
    goes_on_elsewhere(run)
    ends_once(run)  # the administrator was wrong: the node ends what it still has
    cluster.run("gcontrol", "update", "nodename=n0", "state=resume")
    cluster.wait_idle()


def test_fencing_program_proves_death(make):
    cluster = make()
    program, calls, verdict = (cluster.work / name for name in ("fence", "fenced", "verdict"))
    program.write_text(f"#!/bin/sh\necho $1 >> {calls}\n[ -e {verdict} ] || {{ echo no power switch; exit 1; }}\n")
    program.chmod(0o755)
    text = ((cluster.dir / "run").resolve() / "gangway.yaml").read_text()
    assert "fence_program" not in text
    cluster.change_config(r"node_timeout: 3s", f"node_timeout: 3s, fence_program: {program}")
    run = Run(cluster, 0)
    cluster.cut()
    wait_for(lambda: calls.exists() and len(calls.read_text().split()) >= 2, "the program is asked again after a failure")
    assert set(calls.read_text().split()) == {"n0"}
    assert run.runs_on() == "RUNNING n0"  # a failed attempt proves nothing
    assert "no power switch" in cluster.logs()
    os.kill(int(run.starts()[0][1]), 9)  # what cutting the power does
    verdict.touch()
    goes_on_elsewhere(run)
    assert run.starts()[1][2] == "no"
    ends_once(run)
    cluster.wait_idle()


def test_a_session_outlives_a_cut_and_the_client_it_had(make):
    """What was typed while nothing got through arrives when it does; and who comes back finds the shell as it was."""
    cluster = make()
    env = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", "PS1": "$ ", **cluster.env}
    terminals = []

    def terminal(*words):
        terminals.append(Terminal([*cluster.prefix, *words], env, cluster.work))
        return terminals[-1]

    try:
        first = terminal("grun", "-w", "n0", "--keep", "--pty", "bash", "--norc")
        first.type("mine=kept; echo r''eady\n")
        first.wait("ready")
        cluster.cut()
        first.type("echo af''ter the cut\n")
        cluster.mend()
        first.wait("after the cut")
        job = cluster.run("gqueue", "-h", "-o", "%i").stdout.strip()
        cluster.cut()
        os.kill(first.pid, signal.SIGKILL)
        first.wait_exit()
        cluster.mend()
        second = terminal("gattach", job)
        second.wait("after the cut")  # the screen as it was
        second.type("echo it is $mine; exit 3\n")
        second.wait("it is kept")
        assert second.wait_exit() == 3
        wait_for(lambda: cluster.state(job) == "FAILED", "the job ends with its shell")
    finally:
        for one in terminals:
            one.close()
