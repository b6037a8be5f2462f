"""The main job: what it gets, where its output goes, how it ends."""

import os
import re

import pytest
from cluster import is_alive, wait_for


@pytest.fixture(scope="module")
def cluster(shared_cluster):
    return shared_cluster


def output(cluster, job):
    return (cluster.work / f"gangway-{job}.out").read_text()


def environment(cluster, *options):
    job = cluster.submit("env", *options)
    cluster.wait_state(job, "COMPLETED")
    return dict(line.split("=", 1) for line in output(cluster, job).splitlines() if "=" in line)


def test_environment_of_a_gang(cluster):
    env = environment(cluster, "-N2", "--gpus-per-node=8", "--ntasks-per-node=4", "-c", "2", "-J", "gang")
    expected = {
        "SLURM_JOB_NUM_NODES": "2", "SLURM_NNODES": "2", "SLURM_JOB_NODELIST": "n[0-1]", "SLURM_NODELIST": "n[0-1]",
        "SLURM_NTASKS": "8", "SLURM_NPROCS": "8", "SLURM_TASKS_PER_NODE": "4(x2)", "SLURM_CPUS_PER_TASK": "2",
        "SLURM_JOB_NAME": "gang", "SLURM_JOB_PARTITION": "main", "SLURM_SUBMIT_DIR": str(cluster.work),
        "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7", "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    }
    assert {k: env.get(k) for k in expected} == expected
    assert env["SLURM_JOB_ID"] == env["SLURM_JOBID"] == env["GANGWAY_JOB_ID"]


def test_two_jobs_on_a_node_share_no_gpu_and_no_core(cluster):
    go = cluster.work / "share.go"
    script = f"echo $SLURM_JOB_GPUS; while [ ! -e {go} ]; do sleep 0.05; done"
    jobs = [cluster.submit(script, "-w", "n0", "--gpus-per-node=3", "-c", "10") for _ in range(3)]
    for job in jobs[:2]:
        cluster.wait_state(job, "RUNNING")
    assert cluster.state(jobs[2]) == "PENDING"
    seen = [wait_for(lambda j=j: output(cluster, j).strip(), "the job's GPUs").split(",") for j in jobs[:2]]
    assert len(set(seen[0] + seen[1])) == 6
    go.touch()
    for job in jobs:
        cluster.wait_state(job, "COMPLETED")


@pytest.mark.parametrize("script, state, text", [
    ("exit 0", "COMPLETED", "0:0"),
    ("exit 17", "FAILED", "17:0"),
    ("kill -SEGV $$", "FAILED", "0:11"),
])
def test_exit_codes(cluster, script, state, text):
    job = cluster.submit(script)
    assert cluster.wait_ended(job) == state
    assert f"ExitCode={text}" in cluster.reason_text(job)


def test_wait_returns_the_exit_code(cluster):
    done = cluster.run("gbatch", "--wait", "--wrap", "exit 9", check=False)
    assert done.returncode == 9


def test_directives_arguments_and_patterns(cluster):
    script = cluster.work / "script.sh"
    script.write_text("#!/bin/bash\n#SBATCH -J named -o %x-%j.txt\n#GBATCH -e %x-%j.err\n"
                      "echo \"args: $*\"\necho oops >&2\necho after\n#SBATCH -N 2\n")
    done = cluster.run("gbatch", "--parsable", script, "one", "two words")
    job = done.stdout.strip()
    cluster.wait_state(job, "COMPLETED")
    for states, shown in ((["all"], job), (["PD", "all"], job), (["all", "PD"], "")):  # the last one counts
        options = [word for state in states for word in ("-t", state)]
        assert cluster.run("squeue", "-h", "-j", job, "-o", "%i", *options).stdout.strip() == shown
    assert (cluster.work / f"named-{job}.txt").read_text() == "args: one two words\nafter\n"
    assert (cluster.work / f"named-{job}.err").read_text() == "oops\n"


def test_script_is_copied_at_submission(cluster):
    script = cluster.work / "changing.sh"
    script.write_text("#!/bin/sh\necho before\n")
    job = cluster.run("gbatch", "--parsable", "-H", script).stdout.strip()
    script.write_text("#!/bin/sh\necho changed\n")
    cluster.run("gcontrol", "release", job)
    cluster.wait_state(job, "COMPLETED")
    assert output(cluster, job) == "before\n"


def test_time_limit_ends_what_ignores_sigterm(cluster):
    job = cluster.submit(f"trap '' TERM; echo $$ > {cluster.work}/late.pid; while :; do sleep 0.1; done", "-t", "1")
    pid_file = cluster.work / "late.pid"
    pid = int(wait_for(lambda: pid_file.exists() and pid_file.read_text().strip(), "the script runs"))
    cluster.wait_state(job, "TIMEOUT", deadline=90)
    assert not is_alive(pid)
    assert " DUE TO TIME LIMIT ***" in output(cluster, job)


def test_memory_limit(cluster):
    limits = re.search(r"containment cgroup", (cluster.dir / "log" / "gnoded.n0.log").read_text())
    if not limits:
        pytest.skip("no control groups here: memory is not limited")
    job = cluster.submit("exec python3 -c 'x = bytearray(200 << 20); import time; time.sleep(60)'", "--mem=50M")
    assert cluster.wait_ended(job) == "OUT_OF_MEMORY"
    text = cluster.reason_text(job)
    assert "50M" in text or "50 M" in text, text
    assert f"Detected 1 oom_kill event in StepId={job}.batch. Some of the step tasks have been OOM Killed." in output(
        cluster, job)


def test_held_released_requeued(cluster):
    job = cluster.submit(f"echo run >> {cluster.work}/runs; exit 0", "-H")
    assert cluster.state(job) == "PENDING" and "JobHeldUser" in cluster.show(job, "%R")
    cluster.run("gcontrol", "release", job)
    cluster.wait_state(job, "COMPLETED")
    assert (cluster.work / "runs").read_text() == "run\n"


def test_signal_reaches_the_script_only_if_asked(cluster):
    script = (f"trap 'echo got >> {cluster.work}/signals' USR1; touch {cluster.work}/trap\n"
              f"while [ ! -e {cluster.work}/signals ]; do sleep 0.05; done; exit 0")
    job = cluster.submit(script)
    wait_for((cluster.work / "trap").exists, "the trap is set")
    cluster.run("gcancel", "--batch", "--signal=USR1", job)
    cluster.wait_state(job, "COMPLETED")


def test_many_small_jobs(cluster):
    jobs = [cluster.submit(f"echo x >> {cluster.work}/many", "-o", "/dev/null") for _ in range(40)]
    for job in jobs:
        cluster.wait_state(job, "COMPLETED", deadline=60)
    assert (cluster.work / "many").read_text().count("x") == 40
    cluster.wait_idle()


def test_slurm_names(cluster):
    done = cluster.run("sbatch", "--wrap", "true")
    job = re.fullmatch(r"Submitted batch job (\d+)\n", done.stdout)[1]
    wait_for((cluster.work / f"slurm-{job}.out").exists, "slurm-N.out")
    assert cluster.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%i").stdout.strip() == job
    assert cluster.run("sinfo", "-h", "-o", "%P").stdout.strip() == "main*"
    bad = cluster.run("sbatch", "--nodez=1", "--wrap", "true", check=False)
    assert bad.returncode == 255 and bad.stderr.startswith("sbatch: ")


def test_updates_by_name_and_of_limits_by_an_amount(cluster):
    first, second = (cluster.submit("sleep 60", "-H", "-J", "twin", "-t", "30") for _ in range(2))
    other = cluster.submit("sleep 60", "-H", "-J", "single", "-t", "30")
    limit = lambda job: cluster.run("gqueue", "-h", "-t", "all", "-j", job, "-o", "%l").stdout.strip()
    cluster.run("scontrol", "update", "jobname=twin", "TimeLimit+=15")
    assert [limit(job) for job in (first, second, other)] == ["45:00", "45:00", "30:00"]
    cluster.run("gcontrol", "update", "JobName=twin", f"UserId={os.getuid()}", "TimeLimit=-5", "Comment=shorter")
    assert [limit(job) for job in (first, second, other)] == ["40:00", "40:00", "30:00"]
    assert "Comment=shorter" in cluster.run("gcontrol", "show", "job", second).stdout
    for words in (("JobName=nobody-has-it", "Nice=1"), ("JobName=twin", "UserId=nobody", "Nice=1"), ("JobName=twin",),
                  (f"JobId={first}", "TimeLimit-=40")):
        done = cluster.run("gcontrol", "update", *words, check=False)
        assert done.returncode == 1 and "error" in done.stderr, (words, done)
    cluster.run("gcancel", first, second, other)


def test_update_of_size_and_files(cluster):
    folder = cluster.work / "elsewhere"
    folder.mkdir(exist_ok=True)
    job = cluster.submit('echo "$SLURM_NTASKS $SLURM_CPUS_PER_TASK $SLURM_MEM_PER_NODE $PWD"', "--hold", "-N1", "-n1")
    cluster.run("scontrol", "update", f"JobId={job}", "NumTasks=2", "CPUsPerTask=3", "MinMemoryNode=300",
                "StdOut=changed-%j", f"WorkDir={folder}")
    cluster.run("scontrol", "release", job)
    cluster.wait_state(job, "COMPLETED")
    assert (folder / f"changed-{job}").read_text() == f"2 3 300 {folder}\n"
    done = cluster.run("scontrol", "update", f"JobId={job}", "WorkDir=relative", check=False)
    assert done.returncode != 0
