"""The output of a job says why it ended, in the words that people and programs look for."""

import pathlib
import re

import pytest

from cluster import wait_for

AT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


@pytest.fixture(scope="module")
def cluster(shared_cluster):
    return shared_cluster


def running(cluster, *options, command="gbatch", script="echo begun; sleep 100"):
    done = cluster.run(command, *options, input=f"#!/bin/sh\n{script}\n")
    job = int(done.stdout.split()[-1])
    cluster.wait_state(job, "RUNNING")
    wait_for(lambda: "begun" in output(cluster, job), "the script's first line")
    return job


def output(cluster, job, key="StdOut"):
    path = pathlib.Path(cluster.detail(job)[key])
    return path.read_text() if path.exists() else ""


def line_of(cluster, job, key="StdOut"):
    return wait_for(lambda: re.search(r"^.*\*\*\* .*$", output(cluster, job, key), re.M), "the last line")[0]


def test_cancelled(cluster):
    job = running(cluster)
    node = cluster.show(job, "%N")
    cluster.run("gcancel", job)
    assert re.fullmatch(rf"gstepd: error: \*\*\* JOB {job} ON {node} CANCELLED AT {AT} \*\*\*", line_of(cluster, job))
    assert output(cluster, job).startswith("begun\n")


def test_under_slurms_names_slurms_daemon_speaks(cluster):
    job = running(cluster, "-e", "err-%j", command="sbatch")
    cluster.run("scancel", job)
    assert line_of(cluster, job, "StdErr").startswith(f"slurmstepd: error: *** JOB {job} ON n")
    assert output(cluster, job) == "begun\n", "the line stands where errors go"


def test_killed_at_once(cluster):
    job = running(cluster)
    cluster.run("gcancel", "-s", "KILL", job)
    assert f"*** JOB {job} ON n" in line_of(cluster, job)


def test_requeued(cluster):
    job = running(cluster, "--open-mode=append")
    cluster.run("gcontrol", "requeue", job)
    assert line_of(cluster, job).endswith(" DUE TO JOB REQUEUE ***")
    cluster.run("gcancel", job)
    assert cluster.wait_ended(job) == "CANCELLED"


def notified(cluster, job, *words, command="gcontrol"):
    cluster.run(command, "notify", job, *words)


def test_a_message_to_a_script(cluster):
    job = running(cluster, "-e", "err-%j")
    notified(cluster, job, "the", "site closes\x1b[2J", "at five")
    line = wait_for(lambda: output(cluster, job, "StdErr"), "the message")
    assert line == "gstepd: error: the site closes\\x1b[2J at five\n"
    assert output(cluster, job) == "begun\n"
    cluster.run("gcancel", job)
    done = cluster.run("gcontrol", "notify", job, "late", check=False)
    assert done.returncode == 1 and "nobody would read a message to job" in done.stderr
    for words in ([], [job], ["abc", "x"]):
        assert "notify: expected JOB_ID and a message" in cluster.run("scontrol", "notify", *words, check=False).stderr


def test_a_message_to_who_waits_at_a_terminal(cluster, tmp_path):
    said, seen = tmp_path / "err", tmp_path / "out"
    with said.open("w") as errors, seen.open("w") as shown:
        session = cluster.popen("salloc", "-N1", "srun", "sh", "-c", "echo begun; sleep 100", stdout=shown, stderr=errors)
    job = wait_for(lambda: re.search(r"Granted job allocation (\d+)", said.read_text()), "an allocation")[1]
    wait_for(lambda: "begun" in seen.read_text(), "the step")
    for text in ("five minutes", "four minutes"):
        cluster.run("scontrol", "notify", job, text)
        wait_for(lambda: f"salloc: {text}\n" in said.read_text() and f"srun: error: {text}\n" in said.read_text(), "both lines")
    cluster.run("scancel", job)
    session.wait(timeout=30)


def test_preempted(cluster):
    cluster.run("gacctmgr", "add", "qos", "owner", "guaranteed=gpu:16")
    cluster.run("gacctmgr", "add", "qos", "borrower", "guaranteed=gpu:0")
    borrower = running(cluster, "-q", "borrower", "-N2", "--gpus-per-node=8", "--on-preempt=cancel", "-t", "10")
    owner = running(cluster, "-q", "owner", "-N2", "--gpus-per-node=8", "-t", "10")
    assert line_of(cluster, borrower).endswith(" DUE TO PREEMPTION ***")
    assert cluster.wait_ended(borrower) == "PREEMPTED"
    cluster.run("gcancel", owner)
    cluster.wait_ended(owner)
    cluster.run("gacctmgr", "delete", "qos", "owner")
    cluster.run("gacctmgr", "delete", "qos", "borrower")


def test_a_step_that_is_ended_tells_its_client(cluster):
    alloc = cluster.popen("srun", "-J", "told", "-N2", "--gpus-per-node=1", "sh", "-c", "echo begun; sleep 100")
    job = wait_for(lambda: cluster.run("gqueue", "-h", "-t", "R", "-n", "told", "-o", "%i").stdout.strip(), "the step's job")
    assert alloc.stdout.readline() == "begun\n" and alloc.stdout.readline() == "begun\n"
    cluster.run("scancel", job)
    _, errors = alloc.communicate(timeout=30)
    for node in ("n0", "n1"):
        assert re.search(rf"{node}: the step is ended: \*\*\* STEP {job}\.0 ON {node} CANCELLED AT {AT} \*\*\*", errors), errors


def test_nothing_is_said_of_what_ends_by_itself(cluster):
    for script in ("echo begun", "echo begun; exit 3", "echo begun; kill -9 $$"):
        job = cluster.submit(script)
        cluster.wait_ended(job)
        assert output(cluster, job) == "begun\n", script


def test_output_that_cannot_be_written_holds_up_nothing(cluster):
    job = running(cluster)
    pathlib.Path(cluster.detail(job)["StdOut"]).unlink()
    cluster.run("gcancel", job)
    assert cluster.wait_ended(job) == "CANCELLED"


def by_cancel(cluster):
    job = running(cluster, command="sbatch")
    cluster.run("scancel", job)
    return job


def by_limit(cluster):
    job = running(cluster, command="sbatch")
    cluster.run("scontrol", "update", f"JobId={job}", "EndTime=now+1second")
    return job


def by_memory(cluster):
    if "containment cgroup" not in (cluster.dir / "log" / "gnoded.n0.log").read_text():
        pytest.skip("no control groups here: memory is not limited")
    eat = "echo begun; python3 -c 'x = bytearray(1 << 30)'; sleep 0.2; exit 0"
    return int(cluster.run("sbatch", "--mem=200M", "-n1", input=f"#!/bin/sh\n{eat}\n").stdout.split()[-1])


def by_signal(cluster):
    return int(cluster.run("sbatch", input="#!/bin/sh\nkill -SEGV $$\n").stdout.split()[-1])


def by_exit(cluster):
    return int(cluster.run("sbatch", input="#!/bin/sh\nexit 3\n").stdout.split()[-1])


@pytest.mark.parametrize("cause, said, state, reason, code, record", [
    (by_cancel, r"\*\*\* JOB {job} ON n\d CANCELLED AT \S+ \*\*\*", "CANCELLED", "None", "0:15", "CANCELLED by 0|0:0"),
    (by_limit, r"\*\*\* JOB {job} ON n\d CANCELLED AT \S+ DUE TO TIME LIMIT \*\*\*", "TIMEOUT", "TimeLimit", "0:15", "TIMEOUT|0:0"),
    (by_memory, r"Detected 1 oom_kill event in StepId={job}.batch. Some", "OUT_OF_MEMORY", "OutOfMemory", "0:125", "OUT_OF_MEMORY|0:125"),
    (by_signal, None, "FAILED", r"RaisedSignal:11\(Segmentation_fault\)", "0:11", "FAILED|0:11"),
    (by_exit, None, "FAILED", "NonZeroExitCode", "3:0", "FAILED|3:0"),
])
def test_all_commands_say_why_it_ended_alike(cluster, cause, said, state, reason, code, record):
    job = cause(cluster)
    assert cluster.wait_ended(job) == state
    if said is not None:
        assert re.search("^slurmstepd: error: " + said.format(job=job), output(cluster, job), re.M), output(cluster, job)
    listed, why = cluster.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T %r").stdout.split()
    assert listed == state and re.fullmatch(reason, why)
    shown = dict(re.findall(r"(\w+)=(\S+)", cluster.run("scontrol", "show", "job", job).stdout))
    assert (shown["JobState"], shown["ExitCode"]) == (state, code) and re.fullmatch(reason, shown["Reason"])
    rows = cluster.run("sacct", "-XnP", "-j", job, "-o", "State,ExitCode").stdout
    assert rows == record + "\n"


def test_a_job_that_loses_a_node(make_cluster):
    cluster = make_cluster(nodes=2)
    job = running(cluster, "-N2", "--no-requeue", command="sbatch")
    cluster.kill("gnoded.n1")
    cluster.run("scontrol", "update", "NodeName=n1", "State=DOWN", "Reason=burnt", "Dead=yes")
    assert line_of(cluster, job).endswith(" DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***")
    assert cluster.wait_ended(job) == "NODE_FAIL"
    assert cluster.run("squeue", "-h", "-t", "all", "-j", job, "-o", "%T %r").stdout.split() == ["NODE_FAIL", "NodeDown"]
    shown = cluster.run("scontrol", "show", "job", job).stdout
    assert "JobState=NODE_FAIL Reason=NodeDown" in shown, shown
    assert cluster.run("sacct", "-XnP", "-j", job, "-o", "State").stdout == "NODE_FAIL\n"
