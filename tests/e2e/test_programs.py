"""Prolog and epilog of the nodes: around every job on every node, with a limit, and a node that fails them is drained."""

import os
import shlex
import subprocess

import pytest

from cluster import Cluster, is_alive, processes_with, wait_for
from conftest import QUICK

# Each run of it is a line of `log`. With a file `fail.KIND.NODE` it fails, with `hang.KIND.NODE` it hangs, and leaves its
# pid and that of a child of another session.
PROGRAM = """#!/bin/sh
cd {folder} || exit 9
kind=${{SLURM_SCRIPT_CONTEXT%_slurmd}}
echo "$kind $SLURMD_NODENAME $SLURM_JOB_ID" >> log
env > "env.$kind.$SLURMD_NODENAME"
if [ -e "hang.$kind.$SLURMD_NODENAME" ]; then
  setsid sleep 1000 < /dev/null > /dev/null 2>&1 &
  child=$!
  echo "$$ $child" > "pids.$kind.$SLURMD_NODENAME.part"
  mv "pids.$kind.$SLURMD_NODENAME.part" "pids.$kind.$SLURMD_NODENAME"
  trap '' TERM
  while [ -e "hang.$kind.$SLURMD_NODENAME" ]; do sleep 0.05; done
  kill $child
fi
if [ -e "fail.$kind.$SLURMD_NODENAME" ]; then
  echo "looking at the disk"
  echo "the disk is broken"
  exit 3
fi
"""


class Programs:
    """The folder of the programs, and the cluster whose nodes run them."""

    def __init__(self, limit):
        self.cluster = Cluster(nodes=2)
        self.folder = self.cluster.root / "programs"
        self.folder.mkdir()
        self.path = self.folder / "program"
        self.path.write_text(PROGRAM.format(folder=shlex.quote(str(self.folder))))
        self.path.chmod(0o755)
        self.cluster.overlay.write_text(
            QUICK + f"node_daemon: {{prolog: {self.path}, epilog: {self.path}, program_limit: {limit}}}\n")

    def lines(self, job):
        log = self.folder / "log"
        return [line.rsplit(" ", 1)[0] for line in log.read_text().splitlines() if line.endswith(f" {job}")]

    def env(self, kind, node):
        return dict(line.split("=", 1) for line in (self.folder / f"env.{kind}.{node}").read_text().splitlines())

    def hang(self, kind, node):
        (self.folder / f"hang.{kind}.{node}").touch()

    def go_on(self, kind, node):
        (self.folder / f"hang.{kind}.{node}").unlink()

    def hung(self, kind, node):
        """The pids of a program that hangs, and of its child."""
        path = self.folder / f"pids.{kind}.{node}"
        wait_for(path.exists, f"{kind} on {node} runs")
        pids = [int(word) for word in path.read_text().split()]
        path.unlink()
        return pids

    def fail(self, kind, node):
        (self.folder / f"fail.{kind}.{node}").touch()

    def mend(self, kind, node):
        (self.folder / f"fail.{kind}.{node}").unlink()
        self.cluster.run("gcontrol", "update", f"nodename={node}", "state=resume")

    def drained(self, node):
        """The reason of a node that was drained."""
        wait_for(lambda: self.cluster.node_states().get(node, "").startswith("drain"), f"{node} is drained")
        return self.cluster.run("ginfo", "-h", "-R", "-n", node, "-o", "%E").stdout.strip()


@pytest.fixture(scope="module")
def programs():
    one = Programs("60s")
    one.cluster.up()
    yield one
    one.cluster.down()


@pytest.fixture(autouse=True)
def both_nodes_work(request):
    yield
    if "programs" in request.fixturenames:
        programs = request.getfixturevalue("programs")
        for path in [*programs.folder.glob("fail.*"), *programs.folder.glob("hang.*")]:
            path.unlink()
        programs.cluster.run("gcontrol", "update", "nodename=ALL", "state=resume")
        programs.cluster.wait_idle()


def test_around_a_gang_on_each_of_its_nodes(programs):
    cluster = programs.cluster
    job = cluster.submit(f"cat {programs.folder}/log", "-N2", "--gpus-per-node=2", "-J", "gang", "--comment=of mine")
    cluster.wait_state(job, "COMPLETED")
    output = (cluster.work / f"gangway-{job}.out").read_text()
    before = [line for line in output.splitlines() if line.endswith(f" {job}")]
    assert sorted(before) == [f"prolog n0 {job}", f"prolog n1 {job}"], "before the script, on both"
    wait_for(lambda: len(programs.lines(job)) == 4, "the epilogs")
    assert sorted(programs.lines(job)) == ["epilog n0", "epilog n1", "prolog n0", "prolog n1"]
    for kind in ("prolog", "epilog"):
        env = programs.env(kind, "n1")
        assert env["SLURM_JOB_ID"] == env["GANGWAY_JOB_ID"] == str(job)
        assert env["SLURM_JOB_NODELIST"] == "n[0-1]" and env["SLURM_NODEID"] == "1"
        assert env["SLURM_JOB_NAME"] == "gang" and env["SLURM_JOB_COMMENT"] == "of mine"
        assert len(env["SLURM_JOB_GPUS"].split(",")) == 2 and env["CUDA_VISIBLE_DEVICES"] == env["SLURM_JOB_GPUS"]
        assert env["SLURM_JOB_USER"] == (cluster.user or "root")
        assert not [name for name in env if name in ("HOME", "USER", "LD_PRELOAD")], "nothing of the submission"


def test_an_allocation_has_them_and_its_steps_have_none(programs):
    cluster = programs.cluster
    done = cluster.run("galloc", "-N2", "sh", "-c", "grun -n2 true && grun -n2 true && echo $SLURM_JOB_ID")
    job = done.stdout.split()[-1]
    wait_for(lambda: len(programs.lines(job)) == 4, "the epilogs")
    assert sorted(programs.lines(job)) == ["epilog n0", "epilog n1", "prolog n0", "prolog n1"]


def test_a_prolog_that_fails_drains_its_node_and_the_job_goes_elsewhere(programs):
    programs.fail("prolog", "n0")
    job = programs.cluster.submit("true", "-N1", "--gpus-per-node=8")
    programs.cluster.wait_state(job, "COMPLETED")
    assert programs.drained("n0") == f"job {job}: prolog failed: exit code 3: the disk is broken"
    assert programs.cluster.rows(job, "%N") == ["n1"]
    assert programs.lines(job) == ["prolog n0", "epilog n0", "prolog n1", "epilog n1"]
    programs.mend("prolog", "n0")
    again = programs.cluster.submit("true", "-w", "n0")
    programs.cluster.wait_state(again, "COMPLETED")


def test_an_epilog_that_fails_drains_its_node_and_the_job_has_completed(programs):
    programs.fail("epilog", "n1")
    job = programs.cluster.submit("true", "-w", "n1")
    programs.cluster.wait_state(job, "COMPLETED")
    assert programs.drained("n1") == f"job {job}: epilog failed: exit code 3: the disk is broken"


def test_what_a_job_had_is_free_when_the_epilog_has_ended(programs):
    cluster = programs.cluster
    programs.hang("epilog", "n0")
    first = cluster.submit("true", "-w", "n0", "--gpus-per-node=8")
    second = cluster.submit("true", "-w", "n0", "--gpus-per-node=8")
    programs.hung("epilog", "n0")
    assert cluster.state(first) == "COMPLETING" and cluster.state(second) == "PENDING"
    programs.go_on("epilog", "n0")
    cluster.wait_state(second, "COMPLETED")
    assert cluster.state(first) == "COMPLETED"


def test_a_job_that_is_cancelled_in_its_prolog_waits_for_that_and_has_its_epilog(programs):
    cluster = programs.cluster
    programs.hang("prolog", "n0")
    job = cluster.submit("touch began", "-w", "n0")
    program, _ = programs.hung("prolog", "n0")
    assert cluster.state(job) == "CONFIGURING"
    cluster.run("gcancel", str(job))
    cluster.wait_state(job, "COMPLETING")
    assert is_alive(program), "it is never cut short"
    programs.go_on("prolog", "n0")
    cluster.wait_state(job, "CANCELLED")
    assert programs.lines(job) == ["prolog n0", "epilog n0"]
    assert not (cluster.work / "began").exists()


@pytest.mark.parametrize("kind", ["prolog", "epilog"])
def test_a_program_ends_with_its_daemon_and_the_epilog_follows(programs, kind):
    cluster = programs.cluster
    programs.hang(kind, "n0")
    job = cluster.submit("true", "-w", "n0")
    pids = programs.hung(kind, "n0")
    cluster.kill("gnoded.n0")
    wait_for(lambda: not any(is_alive(pid) for pid in pids), "it ends with the daemon, wherever it hid")
    programs.go_on(kind, "n0")
    cluster.start("gnoded.n0")
    cluster.wait_state(job, "COMPLETED")
    repeated = ["prolog n0", "epilog n0", "prolog n0"] if kind == "prolog" else ["prolog n0", "epilog n0"]
    wait_for(lambda: programs.lines(job) == repeated + ["epilog n0"], f"the programs again; {programs.lines(job)}")


def test_a_program_that_takes_too_long_is_killed_with_all_that_it_started():
    programs = Programs("1s")
    cluster = programs.cluster
    try:
        cluster.up()
        programs.hang("prolog", "n0")
        job = cluster.submit("true", "-N1")
        pids = programs.hung("prolog", "n0")
        cluster.wait_state(job, "COMPLETED")
        assert not any(is_alive(pid) for pid in pids)
        assert programs.drained("n0") == f"job {job}: prolog failed: exit code 124: killed: it took longer than 00:00:01"
        assert not processes_with(str(programs.folder))
    finally:
        cluster.down()


def test_a_program_that_cannot_be_executed_is_told_at_the_start():
    programs = Programs("60s")
    programs.path.chmod(0o644)
    cluster = programs.cluster
    try:
        cluster.up()
        words = cluster.command_of("gnoded.n0") + ["--check"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env={"PATH": os.environ["PATH"]})
        assert f"warning: node_daemon.prolog: {programs.path} cannot be executed" in done.stdout, done.stdout
    finally:
        cluster.down()
