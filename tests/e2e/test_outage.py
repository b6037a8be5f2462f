"""The controller is away: for less or more than the lease, killed, ended in order or stopped, and back to the same
state, an older one or none (a stopped controller keeps its state).
No job is lost, none runs twice, none is ended that may continue, and no id is given twice."""

import os
import pathlib
import re
import shutil
import signal

import pytest
from cluster import is_alive, wait_for
from conftest import QUICK

LONG = 90  # seconds; a lease and the controller's margin are some, and the machine may be busy


@pytest.fixture
def make(make_cluster):
    def start(lease):
        cluster = make_cluster(nodes=2, config=QUICK + f"partition_defaults: {{lease: {lease}}}\n")
        return cluster

    return start


class Job:
    """Writes down each of its starts, and runs until it is told to end."""

    def __init__(self, cluster, name, *options):
        self.cluster, self.name = cluster, name
        self.starts_file, self.go = cluster.work / f"{name}.starts", cluster.work / f"{name}.go"
        script = (f"echo $SLURMD_NODENAME $$ >> {self.starts_file}\n"
                  f"while [ ! -e {self.go} ]; do sleep 0.05; done; exit 3")
        self.id = cluster.submit(script, "-N1", "--gpus-per-node=8", *options)

    def starts(self):
        text = self.starts_file.read_text() if self.starts_file.exists() else ""
        return [line.split() for line in text.splitlines() if len(line.split()) == 2]

    def wait_start(self, n=1):
        wait_for(lambda: len(self.starts()) == n, f"start {n} of {self.name}; {self.cluster.reason_text(self.id)}", LONG)
        return self

    def is_alive(self, n=0):
        return is_alive(int(self.starts()[n][1]))


def state_dir(cluster):
    text = ((cluster.dir / "run").resolve() / "gangway.yaml").read_text()
    return pathlib.Path(re.search(r"state_dir: *\"?([^\s\"]+)", text)[1])


def put_state(cluster, source):
    """The state folder holds the copy, or nothing."""
    folder = state_dir(cluster)
    for path in folder.glob("gangway.db*"):
        path.unlink()
    if source:
        shutil.copy2(source, folder / "gangway.db")


def backup(cluster):
    path = cluster.work / "copy.db"
    cluster.gangway("backup", path)
    return path


def back(cluster):
    cluster.start("gctld")
    wait_for(cluster.ping, "the controller answers again")
    wait_for(lambda: len(cluster.node_states()) == 2 and not any(s.endswith("*") for s in cluster.node_states().values()),
             "both nodes are back", LONG)


def take_away(cluster, how):
    pid = cluster.kill("gctld", signal.SIGKILL if how == "killed" else signal.SIGTERM)
    wait_for(lambda: not is_alive(pid), "the end of the controller", LONG)


def stop_and_go_on(cluster, condition):
    pid = cluster.kill("gctld", signal.SIGSTOP)
    try:
        wait_for(condition, "what happens while the controller is stopped", LONG)
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for(cluster.ping, "the controller answers again", LONG)


@pytest.mark.parametrize("how", ["killed", "ended", "stopped"])
def test_shorter_than_the_lease_to_the_same_state(make, how):
    cluster = make("1h")
    job = Job(cluster, "job").wait_start()
    if how != "stopped":
        take_away(cluster, how)
        back(cluster)
    else:
        stop_and_go_on(cluster, lambda: True)
    assert cluster.state(job.id) == "RUNNING" and job.is_alive()
    job.go.touch()
    cluster.wait_state(job.id, "FAILED")
    assert "ExitCode=3:0" in cluster.reason_text(job.id)
    assert len(job.starts()) == 1


@pytest.mark.parametrize("how", ["killed", "ended", "stopped"])
def test_longer_than_the_lease_to_the_same_state(make, how):
    cluster = make("5s")
    again, never = Job(cluster, "again", "--requeue").wait_start(), Job(cluster, "never", "--no-requeue").wait_start()
    if how != "stopped":
        take_away(cluster, how)
        wait_for(lambda: not again.is_alive() and not never.is_alive(), "the nodes end what has a lease", LONG)
        back(cluster)
    else:
        stop_and_go_on(cluster, lambda: not again.is_alive() and not never.is_alive())
    cluster.wait_state(never.id, "NODE_FAIL", deadline=LONG)
    assert "LeaseExpired" in cluster.reason_text(never.id) and len(never.starts()) == 1
    again.wait_start(2)
    assert "Restarts=1" in cluster.reason_text(again.id)
    assert "the lease is over on" in cluster.run("gcontrol", "show", "job", again.id, "--history").stdout


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_shorter_than_the_lease_to_no_state(make, how):
    cluster = make("1h")
    jobs = [Job(cluster, f"job{i}").wait_start() for i in range(2)]
    take_away(cluster, how)
    put_state(cluster, None)
    back(cluster)
    node = jobs[0].starts()[0][0]
    assert f"ForeignRuns={jobs[0].id}.1" in cluster.run("gcontrol", "show", "node", node).stdout
    assert "does not know" in cluster.run("ginfo", "-R").stdout
    assert "foreign=end" in cluster.gangway("doctor", check=False).stdout
    cluster.restart("gctld")  # who they are is known for more than one start
    back(cluster)
    fresh = Job(cluster, "fresh")
    assert fresh.id > jobs[1].id, "an id was given again"
    assert cluster.state(fresh.id) == "PENDING" and all(job.is_alive() for job in jobs)
    jobs[1].go.touch()  # one ends by itself
    fresh.wait_start()
    assert jobs[0].is_alive()
    fresh.go.touch()
    cluster.wait_state(fresh.id, "FAILED")
    cluster.run("gcontrol", "update", f"nodename={node}", "foreign=end")
    wait_for(lambda: not jobs[0].is_alive(), "the end of the last foreign run", LONG)
    cluster.wait_idle(LONG)
    refused = cluster.run("gcontrol", "update", f"nodename={node}", "foreign=end", check=False)
    assert refused.returncode == 1 and "no run that the state does not know" in refused.stderr


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_longer_than_the_lease_to_no_state(make, how):
    cluster = make("5s")
    job = Job(cluster, "job").wait_start()
    take_away(cluster, how)
    wait_for(lambda: not job.is_alive(), "the node ends what has a lease", LONG)
    put_state(cluster, None)
    back(cluster)
    cluster.wait_idle(LONG)
    fresh = Job(cluster, "fresh").wait_start()
    assert fresh.id > job.id and len(job.starts()) == 1


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_shorter_than_the_lease_to_an_older_state(make, how):
    cluster = make("1h")
    known = Job(cluster, "known").wait_start()
    waits = Job(cluster, "waits", "-H")
    copy = backup(cluster)
    cluster.run("gcontrol", "release", waits.id)
    waits.wait_start()
    take_away(cluster, how)
    put_state(cluster, copy)
    back(cluster)
    assert cluster.state(known.id) == "RUNNING" and known.is_alive()
    assert cluster.state(waits.id) == "PENDING" and waits.is_alive()
    assert "still lives on" in cluster.reason_text(waits.id), cluster.reason_text(waits.id)
    cluster.run("gcontrol", "release", waits.id)
    after = cluster.submit("exit 0", "-H")
    assert after > waits.id, "an id was given again"
    waits.go.touch()
    known.go.touch()
    for job in (waits, known):
        cluster.wait_state(job.id, "FAILED", deadline=LONG)
        assert "ExitCode=3:0" in cluster.reason_text(job.id) and len(job.starts()) == 1
    cluster.wait_idle(LONG)


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_longer_than_the_lease_to_an_older_state(make, how):
    cluster = make("5s")
    known = Job(cluster, "known", "--requeue").wait_start()
    copy = backup(cluster)
    later = Job(cluster, "later", "--requeue").wait_start()
    take_away(cluster, how)
    wait_for(lambda: not known.is_alive() and not later.is_alive(), "the nodes end what has a lease", LONG)
    put_state(cluster, copy)
    back(cluster)
    known.wait_start(2)
    assert len(later.starts()) == 1
    known.go.touch()
    cluster.wait_state(known.id, "FAILED", deadline=LONG)
    cluster.wait_idle(LONG)
