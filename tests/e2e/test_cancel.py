"""Whatever a job does to stay, it ends, and its nodes are clean."""

from cluster import is_alive, wait_for

STUBBORN = """#!/bin/bash
trap '' TERM INT HUP
(trap '' TERM; setsid bash -c 'trap "" TERM; echo $BASHPID > {work}/daemon; while :; do sleep 1; done' & )
nohup python3 - <<'END' &
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("{work}/twice", "w").write(str(os.getpid()))
        while True: time.sleep(1)
    os._exit(0)
END
echo $$ > {work}/script
while :; do sleep 1; done
"""


def pids_of(cluster):
    def read():
        texts = [(cluster.work / n).read_text().strip() if (cluster.work / n).exists() else ""
                 for n in ("script", "daemon", "twice")]
        return [int(t) for t in texts] if all(texts) else None

    return wait_for(read, "the job's processes tell their pids")


def test_cancel_of_a_job_that_ignores_sigterm_and_daemonizes(cluster):
    job = cluster.submit(STUBBORN.format(work=cluster.work))
    cluster.wait_state(job, "RUNNING")
    pids = pids_of(cluster)
    assert all(is_alive(p) for p in pids)
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")
    assert not [p for p in pids if is_alive(p)], "processes outlive their job"
    cluster.wait_idle()


def test_processes_left_behind_are_ended_when_the_script_ends(cluster):
    ready = f"while [ ! -s {cluster.work}/twice ] || [ ! -s {cluster.work}/daemon ]; do sleep 0.05; done\n"
    script = STUBBORN.format(work=cluster.work).rsplit("while :", 1)[0] + ready
    job = cluster.submit(script)
    cluster.wait_state(job, "COMPLETED")
    assert not [p for p in pids_of(cluster) if is_alive(p)]
    cluster.wait_idle()


def test_cancel_gives_time_to_save(cluster):
    script = f"trap 'echo saved > {cluster.work}/saved; exit 0' TERM\ntouch {cluster.work}/ready\nwhile :; do sleep 0.05; done"
    job = cluster.submit(script)
    wait_for((cluster.work / "ready").exists, "the script is ready")
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")
    assert (cluster.work / "saved").read_text() == "saved\n"


def test_cancel_of_a_pending_job_and_of_an_unknown_one(cluster):
    job = cluster.submit("exit 0", "-H")
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")
    done = cluster.run("gcancel", "abc", check=False)
    assert done.returncode == 1 and "abc" in done.stderr
    assert cluster.run("gcancel", "999999", check=False).returncode in (0, 1)
