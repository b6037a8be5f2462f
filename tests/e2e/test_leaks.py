"""The check that every test ends with notices what is left behind; and what broke it once."""

import os
import pathlib
import shutil

import leaks
import pytest
from cluster import is_alive, processes_with, wait_for
from conftest import QUICK


def test_what_a_run_leaves_is_noticed(cluster):
    footprint = leaks.Footprint(cluster)
    folder = footprint.nodes["n0"] / "steps" / "77.1"
    folder.mkdir()
    with pytest.raises(AssertionError, match="steps/77.1"):
        leaks.check(footprint, deadline=0.1)
    folder.rmdir()
    leaks.check(footprint)


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
    spool = leaks.state_folder(cluster, "gnoded.n0")
    launchers = [pid for pid in processes_with(str(spool)) if pathlib.Path(f"/proc/{pid}/exe").resolve().name == "gstepd"]
    assert launchers
    cluster.kill("gctld")
    cluster.kill("gnoded.n0")
    shutil.rmtree(spool)
    wait_for(lambda: not [pid for pid in launchers if is_alive(pid)], "the end of the launcher and its steps")
