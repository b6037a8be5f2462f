"""The check that every test ends with notices what is left behind; and what broke it once."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys

import leaks
import pytest
from cluster import is_alive, processes_with, wait_for
from conftest import QUICK

HERE = pathlib.Path(__file__).parent


def test_what_a_run_leaves_is_noticed(cluster):
    footprint = leaks.Footprint(cluster)
    folder = footprint.folders["n0"] / "steps" / "77.1"
    folder.mkdir()
    with pytest.raises(AssertionError, match="steps/77.1"):
        leaks.check(footprint, deadline=0.1)
    folder.rmdir()
    leaks.check(footprint)


@contextlib.contextmanager
def noticed(footprint, text):
    """In between something is left that the check must find; afterwards all is well again."""
    yield
    with pytest.raises(AssertionError, match=text):
        leaks.check(footprint, deadline=0.1)


def test_what_a_job_leaves_is_noticed_after_a_crash_too(cluster):
    """Daemons that are away when the test ends keep nothing from being looked at."""
    footprint = cluster.footprint
    job = cluster.submit("sleep 600", "-N2")
    cluster.wait_state(job, "RUNNING")
    stray = subprocess.Popen(["sleep", "600"], env={"GANGWAY_CLUSTER_NAME": footprint.name}, start_new_session=True)
    with noticed(footprint, f"process {stray.pid}: .*sleep"):
        for daemon in ("gctld", "gnoded.n0", "gnoded.n1"):
            cluster.kill(daemon)
    stray.kill()
    stray.wait()
    leaks.check(footprint)
    assert cluster.state(job) == "CANCELLED"
    folder = footprint.folders["n1"] / "steps" / "77.1"
    with noticed(footprint, "steps/77.1"):
        folder.mkdir()
        cluster.kill("gnoded.n0")
    folder.rmdir()
    leaks.check(footprint)


def test_a_group_that_a_job_leaves_is_noticed(cluster):
    footprint = cluster.footprint
    cluster.wait_ended(cluster.submit("exit 0", "-w", "n0"))  # the node's own group is made with the first job
    tops = [top for part in ("", "*/") for top in pathlib.Path("/sys/fs/cgroup").glob(f"{part}gangway/{footprint.name}/n0")]
    if not tops:
        pytest.skip("there are no control groups here")
    group = tops[0] / "job_77.1"
    with noticed(footprint, "job_77.1"):
        group.mkdir()
    group.rmdir()
    leaks.check(footprint)


def test_what_a_test_leaves_in_a_shared_cluster_is_noticed_after_it(tmp_path):
    """By a test run of its own: of two tests that share a cluster the first leaves a run folder."""
    (tmp_path / "conftest.py").write_text("from e2e_conftest import *\n")
    shutil.copy(HERE / "conftest.py", tmp_path / "e2e_conftest.py")
    (tmp_path / "test_two.py").write_text(
        "def test_first(shared_cluster):\n"
        "    (shared_cluster.node_folders()['n0'] / 'runs' / '77.1.pb').mkdir()\n"
        "def test_second(shared_cluster):\n"
        "    shared_cluster.ping()\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path],
                          env={**os.environ, "PYTHONPATH": str(HERE), "GANGWAY_E2E_PATIENCE": "1"}, cwd=tmp_path,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1 and "2 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "ERROR test_two.py::test_first" in done.stdout and "runs/77.1.pb" in done.stdout, done.stdout


def test_what_a_daemon_leaves_is_noticed(cluster):
    footprint = leaks.Footprint(cluster)
    pid = footprint.daemons["gctld"]
    store = next(what for what in footprint.descriptors[pid] if "/state/" in what or what.startswith("/"))
    footprint.descriptors[pid].subtract({store: 1})
    leaks.LAZY, lazy = leaks.re.compile(r"^$"), leaks.LAZY
    try:
        with pytest.raises(AssertionError, match="gctld: descriptor of"):
            leaks.check(footprint, deadline=0.1)
    finally:
        leaks.LAZY = lazy


def test_fencing_leaves_no_thread(make_cluster):
    """A node that stays out of reach is fenced again and again; each attempt used to keep a thread's stack."""
    cluster = make_cluster(nodes=1, config=QUICK)
    log = cluster.work / "fenced"
    program = cluster.work / "fence"
    program.write_text(f"#!/bin/sh\necho $1 >>{log}\nexit 1\n")
    program.chmod(0o755)
    config = cluster.dir / "gangway.yaml"
    config.write_text(config.read_text().replace("links: {", f"links: {{fence_program: {program}, ", 1))
    cluster.run("gcontrol", "reconfigure", user=cluster.user)
    pid = cluster.pid("gctld")
    job = cluster.submit("sleep 600")
    cluster.wait_state(job, "RUNNING")
    cluster.kill("gnoded.n0")
    attempts = leaks.THREAD_STACKS_KEPT + 3
    wait_for(lambda: log.exists() and len(log.read_text().splitlines()) >= attempts, "fencing again and again", 120)
    assert leaks.spare_stacks(pid) <= leaks.THREAD_STACKS_KEPT
    assert len(os.listdir(f"/proc/{pid}/task")) < 40
    cluster.start("gnoded.n0")
    cluster.wait_state(job, "RUNNING")


def test_a_launcher_without_a_folder_leaves(make_cluster):
    cluster = make_cluster(nodes=1, config=QUICK)
    job = cluster.submit("sleep 600")
    cluster.wait_state(job, "RUNNING")
    spool = cluster.node_folders()["n0"]
    launchers = [pid for pid in processes_with(str(spool)) if pathlib.Path(f"/proc/{pid}/exe").resolve().name == "gstepd"]
    assert launchers
    cluster.kill("gctld")
    cluster.kill("gnoded.n0")
    shutil.rmtree(spool)
    wait_for(lambda: not [pid for pid in launchers if is_alive(pid)], "the end of the launcher and its steps")
