"""The controller's disk fills up, and then there is room again."""

import sqlite3
import subprocess

import pytest
from cluster import Cluster, wait_for
from conftest import QUICK, needs_root

pytestmark = needs_root


@pytest.fixture
def small_disk():
    """A cluster whose state lies on a file system of 6 MB."""
    one = Cluster(nodes=2)
    disk = one.root / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m,mode=0700", "tmpfs", disk], check=False).returncode != 0:
        one.down()
        pytest.skip("mounting a tmpfs is not permitted here")
    one.overlay.write_text(QUICK + f"controller: {{state_dir: {disk}}}\n")
    try:
        yield one.up(), disk
        one.check_leaks()  # later there is neither state nor controller
    finally:
        one.gangway("dev", "down", "--dir", one.dir, check=False, timeout=180)
        subprocess.run(["umount", disk], check=False)
        one.down()


def fill(disk):
    path = disk / "filler"
    with open(path, "ab", buffering=0) as out:
        for size in (65536, 4096, 512):
            try:
                while True:
                    out.write(b"x" * size)
            except OSError:
                pass
    return path


def test_full_disk_refuses_work_and_loses_none(small_disk):
    cluster, disk = small_disk
    go = cluster.work / "go"
    script = f"echo start >> {cluster.work}/starts; while [ ! -e {go} ]; do sleep 0.05; done"
    running = cluster.submit(script, "--gpus-per-node=8", "-w", "n0")
    cluster.wait_state(running, "RUNNING")
    pending = [cluster.submit("exit 0", "-H") for _ in range(5)]
    filler = fill(disk)

    def refused():
        # The request whose commit fails is held until there is room; those after it are refused with the reason.
        done = cluster.run("gbatch", "--wrap", "exit 0 # " + "x" * 20000, check=False, env={"GANGWAY_TIMEOUT": "2"})
        return done.returncode != 0 and any(word in done.stderr for word in ("disk", "full", "space"))

    wait_for(refused, "a submission is refused, and the message names the disk", 60)
    assert cluster.pid("gctld")
    go.touch()  # The job ends while nothing can be written.
    shown = cluster.run("gqueue", check=False, env={"GANGWAY_TIMEOUT": "2"})
    assert shown.returncode == 0 or "error" in shown.stderr  # Nobody is shown what a crash could take back.
    filler.unlink()
    wait_for(lambda: cluster.run("gbatch", "-H", "--wrap", "exit 0", check=False,
                                 env={"GANGWAY_TIMEOUT": "5"}).returncode == 0, "submissions are taken again", 60)
    cluster.wait_state(running, "COMPLETED", deadline=60)
    assert (cluster.work / "starts").read_text().count("start") == 1
    cluster.restart("gctld")
    wait_for(cluster.ping, "the controller answers again")
    assert [cluster.state(j) for j in pending] == ["PENDING"] * 5
    assert cluster.state(running) == "COMPLETED"


def test_kill_while_full(small_disk):
    cluster, disk = small_disk
    jobs = [cluster.submit("exit 0", "-H") for _ in range(5)]
    filler = fill(disk)
    cluster.kill("gctld")
    filler.unlink()
    cluster.start("gctld")
    wait_for(cluster.ping, "the controller answers again")
    assert [cluster.state(j) for j in jobs] == ["PENDING"] * 5
    assert cluster.submit("exit 0") > jobs[-1]


def test_backup_of_a_running_controller_and_restore(cluster):
    jobs = [cluster.submit("exit 0", "-H", "-J", f"kept{i}") for i in range(3)]
    copy = cluster.work / "copy.db"
    cluster.run("gangway", "backup", copy)
    again = cluster.run("gangway", "backup", copy, check=False)
    assert again.returncode == 1 and "exists" in again.stderr
    cluster.run("gcancel", *jobs)
    later = cluster.submit("exit 0", "-H")
    cluster.kill("gctld")
    state = cluster.dir / "state"
    for old in state.glob("gangway.db*"):
        old.unlink()
    (state / "gangway.db").write_bytes(copy.read_bytes())
    cluster.start("gctld")
    wait_for(cluster.ping, "the controller answers again")
    assert [cluster.state(j) for j in jobs] == ["PENDING"] * 3
    assert cluster.show(later) == ""


def test_submissions_go_on_during_backups(cluster):
    """A backup is taken again and again while jobs come in; each copy is whole."""
    first = cluster.submit("exit 0", "-H")
    copies = [cluster.popen("sh", "-ec", f"for i in 1 2 3 4 5; do gangway backup {cluster.work}/copy$i.db; done")]
    jobs = [first]
    while copies[0].poll() is None:
        jobs.append(cluster.submit("exit 0", "-H"))
    out, err = copies[0].communicate()
    assert copies[0].returncode == 0, err
    assert len(jobs) > 2
    for i in range(1, 6):
        db = sqlite3.connect(cluster.work / f"copy{i}.db")
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert first in [row[0] for row in db.execute("SELECT id FROM jobs")]
        db.close()
