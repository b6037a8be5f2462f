"""gstat: what running steps use, asked of the nodes that they run on."""

import json
import subprocess

import pytest
from cluster import ENDED, wait_for
from conftest import needs_root

ALICE, BOB = "daemon", "games"  # Ordinary users that every Debian has.
# Holds 100 MB, then spends processor time without end.
HUNGRY = "import time; x = bytearray(b'x' * 100_000_000); time.sleep(0)\nwhile True: pass"


@pytest.fixture
def cluster(shared_cluster):
    yield shared_cluster
    for user in ("root", ALICE):
        shared_cluster.run("gcancel", "-u", user, check=False)
    shared_cluster.wait_idle()


def stat(cluster, *words):
    return json.loads(cluster.run("gstat", "--json", *words).stdout)["steps"]


def is_hungry(tasks):
    return tasks and all(t["rss"] > 100_000_000 and t["cpu_us"] >= 1_000_000 for t in tasks)


def test_a_batch_script_and_its_step(cluster):
    (cluster.work / "hungry.py").write_text(HUNGRY)
    job = cluster.submit("grun -n2 python3 hungry.py", "-N1", "-n2")

    def has_eaten():
        output = cluster.work / f"gangway-{job}.out"
        assert cluster.state(job) not in ENDED, output.read_text() if output.exists() else ""
        steps = {step["step_id"]: step for step in (stat(cluster, job) if cluster.state(job) == "RUNNING" else [])}
        return steps if f"{job}.0" in steps and is_hungry(steps[f"{job}.0"]["nodes"][0]["tasks"]) else None
    steps = wait_for(has_eaten, "two tasks that use memory and time")
    assert sorted(steps) == [f"{job}.0", f"{job}.batch"]
    tasks = steps[f"{job}.0"]["nodes"][0]["tasks"]
    assert [t["task"] for t in tasks] == [0, 1]
    assert all(t["peak_rss"] >= t["rss"] and t["vm"] >= t["rss"] for t in tasks)
    script = steps[f"{job}.batch"]["nodes"][0]["tasks"]
    assert len(script) == 1 and script[0]["rss"] < 100_000_000, "what its step uses is not the script's"
    text = cluster.run("gstat", "-n", "-P", "-o", "JobID,NTasks,MaxRSSTask,AveRSS", f"{job}.0").stdout
    assert text.startswith(f"{job}.0|2|") and int(text.strip().split("|")[3].rstrip("K")) > 97_000


def test_a_script_by_itself(cluster):
    (cluster.work / "hungry.py").write_text(HUNGRY)
    job = cluster.submit("python3 hungry.py", "-N1")
    wait_for(lambda: cluster.state(job) == "RUNNING" and is_hungry(stat(cluster, f"{job}.batch")[0]["nodes"][0]["tasks"]),
             "the script with its child")


def test_what_goes_to_a_disk_is_told(cluster):
    script = "import os\nf = open('out', 'wb')\nf.write(b'x' * 8_000_000)\nf.flush()\nos.fsync(f.fileno())\nimport time\ntime.sleep(600)\n"
    (cluster.work / "writer.py").write_text(script)
    job = cluster.submit("grun -n1 python3 writer.py", "-N1")

    def fields():
        if cluster.state(job) != "RUNNING":
            return None
        text = cluster.run("sstat", "-nPj", f"{job}.0", "-o", "MaxDiskWrite,MaxDiskWriteTask,AveDiskWrite,AveDiskRead,AvePages,MaxPagesNode",
                           check=False).stdout.strip()
        return text.split("|") if text and (cluster.work / "out").exists() else None
    line = wait_for(fields, "figures of the step")
    assert len(line) == 6 and line[5] == "n0" and line[4].isdigit() and line[3].endswith("K"), line
    # A file in memory is on no disk.
    on_disk = subprocess.run(["stat", "-f", "-c", "%T", str(cluster.work)], capture_output=True, text=True).stdout.strip()
    if on_disk not in ("tmpfs", "ramfs", "overlayfs"):
        wait_for(lambda: int(fields()[0].rstrip("K")) >= 7_000, "what it has written")


def test_an_allocation_as_a_whole(cluster):
    (cluster.work / "hungry.py").write_text(HUNGRY)
    cluster.run("galloc", "--no-shell", "-N2")
    job = cluster.run("gqueue", "-h", "-o", "%i").stdout.strip()
    client = cluster.popen("grun", f"--jobid={job}", "-n2", "-N2", "python3", "hungry.py")

    def has_eaten():
        whole = [s for s in stat(cluster, job) if s["step_id"] == f"{job}.extern"]
        nodes = whole[0]["nodes"] if whole else []
        return len(nodes) == 2 and all(n["rss"] > 100_000_000 for n in nodes)
    wait_for(has_eaten, "the allocation with what runs in it")
    table = cluster.run("gstat", job).stdout.splitlines()
    assert table[0].split() == ["JobID", "NTasks", "Nodelist", "AveCPU", "AveRSS", "MaxRSS", "MaxRSSNode", "GPUUtil", "GPUMem"]
    assert table[1].startswith(f"{job}.extern") and "n[0-1]" in table[1]
    cluster.run("gcancel", job)
    client.communicate(timeout=60)


def test_a_node_that_does_not_answer_is_named(make_cluster):
    cluster = make_cluster()
    job = cluster.submit("grun -N2 -n2 sleep 1000", "-N2")
    wait_for(lambda: len(stat(cluster, job)) == 2 and not stat(cluster, job)[1]["silent"], "the step")
    cluster.kill("gnoded.n1")
    done = cluster.run("gstat", f"{job}.0")
    assert "node n1 gave no answer" in done.stderr and "n[0-1]" in done.stdout


@pytest.mark.parametrize("words, text", [
    ([], "No job given"),
    (["x"], "Invalid job id"),
    (["99999"], "99999"),
    (["-o", "MaxRS", "7"], "did you mean"),
])
def test_bad_calls(cluster, words, text):
    done = cluster.run("gstat", *words, check=False)
    assert (done.returncode, done.stdout) == (1, "") and text in done.stderr, done.stderr


def test_steps_that_are_not_there(cluster):
    job = cluster.submit("sleep 1000", "-N1")
    cluster.wait_state(job, "RUNNING")
    done = cluster.run("gstat", f"{job}.5", check=False)
    assert done.returncode == 1 and f"job {job} has no step 5" in done.stderr, done.stderr
    cluster.run("gcancel", job)
    cluster.wait_ended(job)
    done = cluster.run("gstat", job, check=False)
    assert done.returncode == 1 and "it uses nothing" in done.stderr, done.stderr


@needs_root
def test_strangers_are_refused(cluster):
    if cluster.run("gqueue", user=ALICE, check=False).returncode != 0:
        pytest.skip("other users cannot run the programs in this build folder")
    job = cluster.submit("sleep 1000", user=ALICE)
    cluster.wait_state(job, "RUNNING")
    done = cluster.run("gstat", job, user=BOB, check=False)
    assert done.returncode == 1 and "denied" in done.stderr, done.stderr
    assert f"{job}.batch" in cluster.run("gstat", job, user=ALICE).stdout
