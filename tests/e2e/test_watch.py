"""gangway watch: each thing that happens to a job is told as it comes, once, and the end says how it ended."""

import json
import os
import signal
import subprocess

from cluster import wait_for
from terminal import Terminal


def lines_of(path):
    return path.read_text().splitlines()


def test_from_its_wait_to_its_end(cluster, tmp_path):
    job = cluster.submit("sleep 1", "--hold", "-N1", "--gpus-per-node=1", "-t", "5")
    out = tmp_path / "out"
    with open(out, "w") as to:
        watch = cluster.popen("gangway", "watch", job, stdout=to)
    wait_for(lambda: any("held by its owner" in line for line in lines_of(out)), "why it waits")
    cluster.run("gcontrol", "release", job)
    assert watch.wait(timeout=120) == 0
    lines = lines_of(out)
    kinds = [line.split()[1] for line in lines]
    assert kinds[0] == "PENDING" and kinds[-1] != "PENDING", lines
    for word in ("submitted", "placed", "COMPLETED"):
        assert sum(word in line.split("  ", 1)[1] for line in lines) >= 1, (word, lines)
    assert len(lines) == len(set(lines)), "each once"


def test_how_it_ended_is_the_exit_code(cluster):
    failed = cluster.submit("exit 3")
    cluster.wait_ended(failed)
    done = cluster.run("gangway", "watch", failed, check=False)
    assert done.returncode == 1 and "FAILED" in done.stdout, done
    done = cluster.run("gangway", "watch", "--json", failed, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(one.keys() == {"schema_version", "time_us", "kind", "text"} for one in told)
    assert told[0]["kind"] == "FAILED" and [one["kind"] for one in told].count("submitted") == 1
    done = cluster.run("gangway", "watch", "999999", check=False)
    assert done.returncode == 1 and "999999" in done.stderr
    done = cluster.run("gangway", "watch", check=False)
    assert done.returncode == 1 and "this runs in no job" in done.stderr


def test_it_outlives_the_controller_and_ends_by_ctrl_c(cluster, tmp_path):
    job = cluster.submit("sleep 600", "-t", "20")
    cluster.wait_state(job, "RUNNING")
    out = tmp_path / "out"
    with open(out, "w") as to:
        watch = cluster.popen("gangway", "watch", job, stdout=to, stderr=subprocess.DEVNULL)
    wait_for(lambda: any("RUNNING" in line for line in lines_of(out)), "its state")
    before = len(lines_of(out))
    cluster.restart("gctld")
    cluster.run("gcontrol", "update", f"JobId={job}", "Comment=watched")
    cluster.run("gcontrol", "suspend", job)
    wait_for(lambda: any("SUSPENDED" in line for line in lines_of(out)), "what came afterwards")
    lines = lines_of(out)
    assert len(lines) > before and len(lines) == len(set(lines))
    watch.send_signal(signal.SIGINT)
    assert watch.wait(timeout=60) != 0
    assert cluster.state(job) == "SUSPENDED", "nothing is done to the job"
    cluster.run("gcancel", job)


def test_gbatch_that_waits_shows_how_it_stands(cluster):
    """On a screen alone: one line that changes, and is gone when the job has ended."""
    env = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", **cluster.env}
    t = Terminal([*cluster.prefix, "gbatch", "--wait", "--hold", "-t", "5", "--wrap", "sleep 1; exit 3"], env, cluster.work, columns=60)
    try:
        t.wait("held by its owner")
        job = cluster.run("gqueue", "-h", "-o", "%i").stdout.strip()
        assert f"job {job}  PENDING  0" in t.text()
        assert len(t.text().splitlines()) == 2, "the number of the job, and how it stands"
        cluster.run("gcontrol", "release", job)
        assert t.wait_exit() == 3
        assert t.text().startswith(f"Submitted batch job {job}\ngbatch: job {job} ended FAILED"), t.text()
        assert "RUNNING" not in t.text() and "PENDING" not in t.text()
    finally:
        t.close()
    quiet = cluster.run("gbatch", "--wait", "-t", "5", "--wrap", "sleep 1")
    assert "job " not in quiet.stderr, "where nobody looks on nothing is shown"
