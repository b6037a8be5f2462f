"""The sentences that programs look for under Slurm's names, each by what makes the commands say it."""

import os
import re
import signal
import subprocess

import pytest
from cluster import wait_for

IS_ROOT = os.geteuid() == 0


def stderr_of(cluster, *words, user=None):
    done = cluster.run(*words, check=False, user=user)
    assert done.returncode != 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stderr


@pytest.fixture(scope="module")
def ended(shared_cluster):
    job = shared_cluster.submit("true")
    shared_cluster.wait_state(job, "COMPLETED")
    return job


@pytest.fixture
def running(shared_cluster):
    job = shared_cluster.submit("sleep 600", "-n2", "-t", "10")
    shared_cluster.wait_state(job, "RUNNING")
    yield job
    shared_cluster.run("scancel", job)
    shared_cluster.wait_idle()


@pytest.mark.parametrize("words, sentence", [
    (["-p", "nosuch"], "Invalid partition name specified"),
    (["-q", "nosuch"], "Invalid qos specification"),
    (["-A", "nosuch"], "Invalid account or account/partition combination specified"),
    (["-w", "n77"], "Invalid node name specified"),
    (["-C", "warp&speed)"], "Invalid feature specification"),
    (["-C", "warp"], "Invalid feature specification"),
    (["-N99"], "Node count specification invalid"),
    (["-N2", "-n100000"], "More processors requested than permitted"),
    (["-n70000", "-c65000"], "CPU count specification invalid"),
    (["--mem=900T"], "Memory required by task is not available"),
    (["--gpus-per-node=99"], "Requested node configuration is not available"),
    (["--deadline=now+1second", "-t", "10"], "Requested time limit is invalid (missing or exceeds some limit)"),
    (["--gres=warp:1"], "Invalid generic resource (gres) specification"),
    (["--tres-per-task=warp:1"], "Invalid Trackable RESource (TRES) specification"),
    (["-L", "nosuch:x"], "Invalid license specification"),
    (["--reservation=nosuch"], "Requested reservation is invalid"),
    (["--array=9-1"], "Invalid job array specification"),
    (["-d", "afterok:999999"], "Job dependency problem"),
])
def test_a_submission_is_refused_in_these_words(shared_cluster, words, sentence):
    for command, prefix in [("sbatch", "Batch job submission failed: "), ("srun", "Unable to allocate resources: "),
                            ("salloc", "Unable to allocate resources: ")]:
        if command != "sbatch" and words[0] == "--array=9-1":
            continue
        told = stderr_of(shared_cluster, command, *words, *(["--wrap", "true"] if command == "sbatch" else ["true"]))
        assert sentence in told, f"{command}: {told}"
        assert told.startswith(f"{command}: error: "), told
        said_of_a_value = words[1:] == ["warp&speed)"] or words[0] in ("--tres-per-task=warp:1", "-L", "--array=9-1")
        assert said_of_a_value or prefix + sentence in told, told


def test_jobs_that_have_ended_or_run_are_refused_in_these_words(shared_cluster, ended, running):
    cluster = shared_cluster
    assert f"Kill job error on job id {ended}: Job/step already completing or completed" in \
        stderr_of(cluster, "scancel", "--signal=USR1", ended)
    assert "Job has already finished" in stderr_of(cluster, "scontrol", "update", f"JobId={ended}", "Comment=x")
    assert "Job/step already completing or completed" in stderr_of(cluster, "scontrol", "suspend", ended)
    assert "Job is no longer pending execution" in stderr_of(cluster, "scontrol", "update", f"JobId={running}", "NumNodes=2")
    assert "Job is no longer pending execution" in stderr_of(cluster, "scontrol", "hold", running)
    assert "Invalid job id specified" in stderr_of(cluster, "scontrol", "update", "JobId=999999", "Comment=x")
    first = cluster.submit("true", "--hold")
    second = cluster.submit("true", "--hold", "-d", f"afterok:{first}")
    assert "Circular job dependency" in stderr_of(cluster, "scontrol", "update", f"JobId={first}", f"Dependency=afterok:{second}")
    cluster.run("scancel", first, second)


def test_steps_are_refused_in_these_words(shared_cluster, running):
    cluster = shared_cluster
    told = stderr_of(cluster, "srun", f"--jobid={running}", "-n99", "true")
    assert f"srun: error: Unable to create step for job {running}: More processors requested than permitted" in told, told
    told = stderr_of(cluster, "srun", f"--jobid={running}", "-N2", "-n2", "true")
    assert "Node count specification invalid" in told
    hog = cluster.popen("srun", f"--jobid={running}", "-n2", "-c1", "sleep", "600")
    wait_for(lambda: f"{running}.0" in cluster.run("squeue", "-s", "-h", "-o", "%i").stdout, "the step runs")
    told = stderr_of(cluster, "srun", f"--jobid={running}", "-I", "-n2", "-c1", "true")
    assert "Immediate execution impossible, " in told, told
    cluster.run("scancel", f"{running}.0")
    hog.wait(30)


def test_names_that_no_job_has(shared_cluster):
    cluster = shared_cluster
    assert "No jobs with name 'nosuch'" in stderr_of(cluster, "scontrol", "update", "JobName=nosuch", "Priority=3")
    assert "No jobs with user ID 0 and name 'nosuch'" in \
        stderr_of(cluster, "scontrol", "update", "JobName=nosuch", "UserId=root", "Priority=3")
    assert "Invalid node name n77" in stderr_of(cluster, "squeue", "-w", "n77")
    told = cluster.run("scancel", "-v", "-n", "nosuch")
    assert "No active jobs match ALL job filters, including: " in told.stderr
    assert "job_name=nosuch" in told.stderr or "name=nosuch" in told.stderr


def test_salloc_is_told_of_its_time_limit(shared_cluster):
    cluster = shared_cluster
    waiting = cluster.popen("salloc", "-n1", "sh", "-c", "echo $SLURM_JOB_ID; sleep 600", stderr=-1)
    job = waiting.stdout.readline().strip()
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "update", f"JobId={job}", "EndTime=now+1seconds")
    _, said = waiting.communicate(timeout=60)
    assert f"salloc: Job {job} has exceeded its time limit and its allocation has been revoked." in said, said
    cluster.wait_state(job, "TIMEOUT")
    assert f"{job}|TIMEOUT" in cluster.run("sacct", "-XnP", "-j", job, "-o", "JobID,State").stdout


def test_salloc_tells_of_its_progress(shared_cluster):
    cluster = shared_cluster
    done = cluster.run("salloc", "-n1", "true")
    job = re.search(r"Granted job allocation (\d+)", done.stderr).group(1)
    assert re.search(r"salloc: Granted job allocation \d+\nsalloc: Waiting for resource configuration\n"
                     r"salloc: Nodes n\d are ready for job\nsalloc: Relinquishing job allocation " + job, done.stderr), done.stderr
    assert 'Unable to exec command "nosuchcommand": No such file' in stderr_of(cluster, "salloc", "-n1", "nosuchcommand")
    assert "Immediate execution impossible, " in stderr_of(cluster, "salloc", "-I1", "-b", "now+1hour", "true")
    cluster.wait_idle()


@pytest.mark.parametrize("command, lines", [
    ("salloc", ["salloc: Pending job allocation {}", "salloc: job {} queued and waiting for resources", "salloc: Job allocation {} has been revoked"]),
    ("srun", ["srun: job {} queued and waiting for resources", "srun: Force Terminated JobId={}"])])
def test_who_stops_waiting_under_slurms_names_is_told(shared_cluster, command, lines):
    cluster = shared_cluster
    waiting = cluster.popen(command, "-n1", "-b", "now+1hour", "true", stderr=subprocess.PIPE)
    told = ""
    while "queued and waiting" not in told:
        told += waiting.stderr.readline()
    job = re.search(r"job (\d+) queued", told).group(1)
    waiting.send_signal(signal.SIGTERM)
    told += waiting.communicate(timeout=30)[1]
    for line in lines:
        assert line.format(job) in told, told


@pytest.mark.parametrize("command", ["sbatch", "salloc", "srun"])
def test_where_a_job_would_start(shared_cluster, command):
    what = ["--wrap", "true"] if command == "sbatch" else ["true"]
    told = shared_cluster.run(command, "--test-only", "-N2", "-n2", *what).stderr
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
    assert re.fullmatch(rf"{command}: Job \d+ to start at {time} using 4 processors on nodes n\[0-1\] in partition main\n", told), told
    assert f"{command}: error: allocation failure: Node count specification invalid" in \
        stderr_of(shared_cluster, command, "--test-only", "-N1k", *what)


def test_forms_that_clients_use(shared_cluster):
    cluster = shared_cluster
    assert cluster.run("scontrol", "show", "hostlistsorted", "b,a,a").stdout == "a,a,b\n"
    names = cluster.run("scontrol", "show", "hostnames", "a[0,1]_b[2-3]_c[4,5]").stdout.split()
    assert names == [f"a{a}_b{b}_c{c}" for b in (2, 3) for a in (0, 1) for c in (4, 5)], "the middle one varies slowest"
    assert cluster.run("scontrol", "show", "hostnames", "r[1-2]n[1-2]").stdout.split() == ["r1n1", "r1n2", "r2n1", "r2n2"]
    job = cluster.submit("true", "--hold")
    listed = cluster.run("squeue", "--partitions=main", "--users", "root" if IS_ROOT else str(os.geteuid()), "--accounts=normal", "--names=gbatch,x",
                         "-h", "-o", "%i").stdout.split()
    assert str(job) in listed
    assert cluster.run("squeue", "--nodes=n0", "-h").stdout == ""
    cluster.run("scancel", job)


def test_a_controller_that_is_away(shared_cluster):
    away = shared_cluster.config_with("away", port=1)
    for command in (["squeue"], ["scontrol", "show", "job", "1"], ["sbatch", "--wrap", "true"]):
        told = stderr_of(shared_cluster, "env", f"GANGWAY_CONF={away}", "GANGWAY_TIMEOUT=0", *command)
        assert "Unable to contact slurm controller (connect failure)" in told, told


@pytest.mark.skipif(not IS_ROOT, reason="it takes another user")
def test_rights(shared_cluster, running):
    cluster = shared_cluster
    looked = cluster.run("gqueue", user="nobody", check=False)
    if looked.returncode != 0 and "ermission denied" in looked.stderr:
        pytest.skip("other users cannot run the programs in this build folder")
    assert "Access/permission denied" in stderr_of(cluster, "scontrol", "update", f"JobId={running}", "Comment=x", user="nobody")
    cluster.run("scontrol", "create", "ReservationName=mine", "Nodes=n0", "Duration=10", "Users=root", "Flags=IGNORE_JOBS")
    cluster.run("scontrol", "create", "PartitionName=ours", "Nodes=ALL", "AllowGroups=root")
    try:
        told = stderr_of(cluster, "sbatch", "--reservation=mine", "--wrap", "true", user="nobody")
        assert "Access denied to requested reservation" in told, told
        told = stderr_of(cluster, "sbatch", "-p", "ours", "--wrap", "true", user="nobody")
        assert "User's group not permitted to use this partition" in told, told
    finally:
        cluster.run("scontrol", "delete", "ReservationName=mine")
        cluster.run("scontrol", "delete", "PartitionName=ours")
