"""kill -9 of each daemon with jobs running and pending: nothing is lost, nothing runs twice, nothing is left behind."""

import os
import signal
import time

import pytest
from cluster import ENDED, is_alive, wait_for

WAIT_FOR_FILE = "while [ ! -e {} ]; do sleep 0.05; done\n"


def counting(cluster, name):
    """A script that notes each of its starts and runs until the file `NAME.go` is there."""
    return f"echo start >> {cluster.work}/{name}.starts\n" + WAIT_FOR_FILE.format(cluster.work / f"{name}.go")


def starts(cluster, name):
    path = cluster.work / f"{name}.starts"
    return path.read_text().count("start") if path.exists() else 0


def let_go(cluster, *names):
    for name in names:
        (cluster.work / f"{name}.go").touch()


def test_controller_killed_with_jobs_running_and_pending(cluster):
    running = [cluster.submit(counting(cluster, f"r{i}"), "-N1", "--gpus-per-node=8") for i in range(2)]
    cluster.wait_state(running[0], "RUNNING")
    cluster.wait_state(running[1], "RUNNING")
    pending = [cluster.submit(counting(cluster, f"p{i}"), "-N1", "--gpus-per-node=8") for i in range(4)]
    held = cluster.submit("exit 0", "-H")
    for _ in range(3):
        cluster.restart("gctld")
        wait_for(cluster.ping, "the controller answers again")
        assert [cluster.state(j) for j in running] == ["RUNNING"] * 2
        assert [cluster.state(j) for j in pending + [held]] == ["PENDING"] * 5
    let_go(cluster, "r0", "r1", "p0", "p1", "p2", "p3")
    for job in running + pending:
        cluster.wait_state(job, "COMPLETED", deadline=60)
    assert [starts(cluster, n) for n in ("r0", "r1", "p0", "p1", "p2", "p3")] == [1] * 6
    assert cluster.state(held) == "PENDING"
    assert cluster.submit("exit 0") > held


def test_who_attends_an_allocation_for_longer_than_his_patience_attends_the_next_controller_too(cluster):
    script = WAIT_FOR_FILE.format(cluster.work / "old.go")
    client = cluster.popen("galloc", "-N1", "-J", "old", "sh", "-c", script, env={"GANGWAY_TIMEOUT": "1"})
    job = wait_for(lambda: cluster.run("gqueue", "-h", "-n", "old", "-t", "R", "-o", "%i").stdout.strip(), "the allocation runs")
    wait_for(lambda: cluster.detail(job)["RunTime"] >= "00:00:03", "the client has waited for longer than a second")
    for _ in range(2):
        cluster.kill("gctld")
        time.sleep(2)  # longer than it has patience
        cluster.start("gctld")
        wait_for(lambda: "wait_job" in cluster.run("gdiag").stdout, "the client is back, or its job would be ended after two minutes")
    assert client.poll() is None and cluster.state(job) == "RUNNING"
    let_go(cluster, "old")
    assert client.wait(60) == 0
    cluster.wait_state(job, "COMPLETED")


def test_job_that_ends_while_the_controller_is_dead(cluster):
    good = cluster.submit(counting(cluster, "good"))
    bad = cluster.submit(counting(cluster, "bad") + "exit 3")
    for job in (good, bad):
        cluster.wait_state(job, "RUNNING")
    wait_for(lambda: starts(cluster, "good") + starts(cluster, "bad") == 2, "both scripts started")
    cluster.kill("gctld")
    let_go(cluster, "good", "bad")
    cluster.start("gctld")
    cluster.wait_state(good, "COMPLETED")
    cluster.wait_state(bad, "FAILED")
    assert "3:0" in cluster.reason_text(bad)
    assert starts(cluster, "good") == starts(cluster, "bad") == 1


def test_acknowledged_submissions_survive_kill_in_the_middle_of_a_stream(cluster):
    script = cluster.work / "held.sh"
    script.write_text("#!/bin/sh\nexit 0\n")
    submitters = [cluster.popen("sh", "-c", f"while gbatch -H --parsable {script}; do :; done") for _ in range(4)]
    wait_for(lambda: len(cluster.run("gqueue", "-h", "-o", "%i", check=False).stdout.split()) > 40, "40 jobs")
    cluster.kill("gctld")
    for s in submitters:
        s.send_signal(signal.SIGTERM)  # Ends the shell's loop; its last gbatch continues until it is answered.
    cluster.start("gctld")
    acknowledged = [int(line) for s in submitters for line in s.communicate(timeout=60)[0].split()]
    wait_for(cluster.ping, "the controller answers again")
    there = [int(j) for j in cluster.run("gqueue", "-h", "-o", "%i").stdout.split()]
    assert len(acknowledged) == len(set(acknowledged)), "an id was given twice"
    assert set(acknowledged) <= set(there), "acknowledged jobs are lost"


def test_node_daemon_killed_job_continues(cluster):
    job = cluster.submit(counting(cluster, "j") + "exit 5", "-N2")
    cluster.wait_state(job, "RUNNING")
    wait_for(lambda: starts(cluster, "j") == 1, "the script started")
    cluster.restart("gnoded.n0")
    cluster.restart("gnoded.n1")
    assert cluster.state(job) == "RUNNING"
    cluster.kill("gnoded.n0")
    let_go(cluster, "j")
    wait_for(lambda: not [p for p in script_pids(cluster, job) if is_alive(p)], "the script ended by itself")
    cluster.start("gnoded.n0")
    cluster.wait_state(job, "FAILED")
    assert "5:0" in cluster.reason_text(job) and starts(cluster, "j") == 1
    cluster.wait_idle()


def script_pids(cluster, job):
    path = cluster.work / f"pid.{job}"
    return [int(path.read_text())] if path.exists() else []


@pytest.mark.parametrize("children", ["", "setsid sleep 1000 & echo $! > {work}/child\n"])
def test_shepherd_killed(cluster, children):
    script = (f"echo $$ > {cluster.work}/script; " + children.format(work=cluster.work) +
              f"echo $PPID > {cluster.work}/parent\nsleep 1000 & wait")
    job = cluster.submit(script, "--no-requeue")
    cluster.wait_state(job, "RUNNING")
    shepherd = int(wait_for(lambda: text_of(cluster.work / "parent"), "the script tells its parent"))
    os.kill(shepherd, signal.SIGKILL)
    assert cluster.wait_ended(job) in {"FAILED", "NODE_FAIL"}
    assert "shepherd" in cluster.reason_text(job).lower(), cluster.reason_text(job)
    for name in ("script", "child"):
        if text_of(cluster.work / name):
            pid = int(text_of(cluster.work / name))
            wait_for(lambda pid=pid: not is_alive(pid), f"{name} is gone")
    cluster.wait_idle()
    after = cluster.submit("exit 0", "-N2", "--gpus-per-node=8")
    cluster.wait_state(after, "COMPLETED")


def text_of(path):
    return path.read_text().strip() if path.exists() else ""


def test_gang_loses_its_node_daemons_and_controller_at_once(cluster):
    job = cluster.submit(counting(cluster, "g"), "-N2", "--gpus-per-node=8")
    cluster.wait_state(job, "RUNNING")
    wait_for(lambda: starts(cluster, "g") == 1, "the script started")
    for daemon in ("gctld", "gnoded.n0", "gnoded.n1"):
        cluster.kill(daemon)
    for daemon in ("gnoded.n1", "gnoded.n0", "gctld"):
        cluster.start(daemon)
    wait_for(cluster.ping, "the controller answers again")
    let_go(cluster, "g")
    cluster.wait_state(job, "COMPLETED")
    assert starts(cluster, "g") == 1
    assert cluster.state(job) in ENDED
    cluster.wait_idle()
