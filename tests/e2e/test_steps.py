"""Steps with real daemons: grun inside and outside an allocation, its streams, exit codes, and what goes wrong."""

import hashlib
import os
import pathlib
import re
import select
import signal
import subprocess

import pytest
from cluster import drain, full_fifo, is_alive, processes_with, wait_for
from conftest import QUICK


def grun(cluster, *words, **options):
    return cluster.run("grun", *words, **options)


def test_one_task_feels_like_a_local_program(shared_cluster):
    done = grun(shared_cluster, "-n1", "sh", "-c", "cat; echo late >&2; exit 3", input="one\ntwo\n", check=False)
    assert (done.returncode, done.stdout) == (3, "one\ntwo\n")
    assert "late" in done.stderr
    shared_cluster.wait_idle()


def test_a_signal_gives_its_exit_code(shared_cluster):
    done = grun(shared_cluster, "sh", "-c", "kill -USR1 $$", check=False)
    assert done.returncode == 128 + signal.SIGUSR1


def test_tasks_on_two_nodes_know_their_places(shared_cluster):
    script = "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME $SLURM_NTASKS $SLURM_NNODES"
    done = grun(shared_cluster, "-N2", "-n4", "sh", "-c", script)
    assert sorted(done.stdout.splitlines()) == ["0 0 0 n0 4 2", "1 1 0 n0 4 2", "2 0 1 n1 4 2", "3 1 1 n1 4 2"]


def test_labels(shared_cluster):
    done = grun(shared_cluster, "-n2", "-l", "sh", "-c", "echo is $SLURM_PROCID")
    assert sorted(done.stdout.splitlines()) == ["0: is 0", "1: is 1"]


def test_each_byte_of_a_large_output_arrives(shared_cluster):
    size = 50_000_000
    script = f"head -c {size} /dev/urandom | tee >(sha256sum | cut -c1-64 >&2)"
    done = grun(shared_cluster, "bash", "-c", script, text=False)
    assert len(done.stdout) == size
    assert hashlib.sha256(done.stdout).hexdigest() in done.stderr.decode()


def test_steps_inside_a_batch_job_share_it(shared_cluster):
    cluster = shared_cluster
    script = f"""
grun -n1 sh -c 'echo first; echo $SLURM_STEP_ID' > {cluster.work}/a
grun -n2 hostname > {cluster.work}/b
grun -n1 sh -c 'exit 7'
echo $? > {cluster.work}/c
"""
    job = cluster.submit(script, "-n2", "-t", "10")
    assert cluster.wait_ended(job)
    assert cluster.state(job) == "COMPLETED"
    assert (cluster.work / "a").read_text() == "first\n0\n"
    assert len((cluster.work / "b").read_text().split()) == 2
    assert (cluster.work / "c").read_text() == "7\n"


def test_a_program_that_is_not_there_is_named(shared_cluster):
    done = grun(shared_cluster, "./no-such-program", check=False)
    assert done.returncode == 127
    assert "./no-such-program" in done.stderr and "No such file" in done.stderr
    shared_cluster.wait_idle()


def test_the_job_ends_with_a_client_that_was_killed(shared_cluster):
    cluster = shared_cluster
    marker = f"sleep 4{os.getpid()}"
    client = cluster.popen("grun", *marker.split())
    wait_for(lambda: cluster.run("gqueue", "-h", "-o", "%T").stdout.strip() == "RUNNING", "it runs")
    wait_for(lambda: subprocess.run(["pgrep", "-f", f"^{marker}"], check=False).returncode == 0, "its task runs")
    client.kill()
    client.wait()
    cluster.wait_idle()
    assert subprocess.run(["pgrep", "-f", f"^{marker}"], check=False).returncode != 0


def test_a_step_outlives_the_controller(make_cluster):
    cluster = make_cluster(nodes=1, config=QUICK)
    go = cluster.work / "go"
    client = cluster.popen("grun", "sh", "-c", f"echo up; until [ -e {go} ]; do sleep 0.1; done; echo over")
    assert client.stdout.readline() == "up\n"
    cluster.restart("gctld")
    go.touch()
    assert client.stdout.read() == "over\n"
    assert client.wait() == 0
    wait_for(cluster.ping, "the controller")
    cluster.wait_idle()


def test_steps_are_listed_ended_and_signalled_one_by_one(shared_cluster):
    cluster = shared_cluster
    script = f"""
grun -n1 -c1 sleep 1000 &
grun -n1 -c1 sh -c 'trap "echo told; exit 4" USR1; touch {cluster.work}/up; while :; do sleep 0.1; done' > {cluster.work}/told &
wait
"""
    job = cluster.submit(script, "-n2", "-t", "10")
    wait_for(lambda: (cluster.work / "up").exists() and len(cluster.run("gqueue", "-h", "-s", "-j", job).stdout.split("\n")) > 3,
             "both steps and the script")
    ids = cluster.run("gqueue", "-h", "-s", "-j", job, "-o", "%i").stdout.split()
    assert sorted(ids) == [f"{job}.0", f"{job}.1", f"{job}.batch"]
    names = {i: cluster.run("gcontrol", "show", "step", i).stdout for i in ids[1:]}
    sleeper = next(i for i, text in names.items() if "Name=sleep" in text)
    other = next(i for i in names if i != sleeper)
    cluster.run("gcancel", "-s", "USR1", other)
    wait_for(lambda: (cluster.work / "told").read_text() == "told\n", "the signal reaches the other step alone")
    assert cluster.state(job) == "RUNNING"
    cluster.run("gcancel", sleeper)
    assert cluster.wait_ended(job) and cluster.state(job) == "COMPLETED"


def test_an_allocation_is_listed_as_its_own_step(shared_cluster):
    cluster = shared_cluster
    told = cluster.run("galloc", "--no-shell", "-N2", "--ntasks-per-node=1", "-t", "10").stderr
    job = re.search(r"Granted job allocation (\d+)", told)[1]
    try:
        rows = cluster.run("gqueue", "-h", "-s", "-j", job, "-o", "%i|%j|%N").stdout.split()
        assert rows == [f"{job}.extern|extern|n[0-1]"]
        assert f"StepId={job}.extern" in cluster.run("gcontrol", "show", "step", f"{job}.extern").stdout
        done = cluster.run("gcancel", "-s", "USR1", f"{job}.extern", check=False)
        assert done.returncode == 1 and "is the allocation, which runs nothing by itself" in done.stderr
    finally:
        cluster.run("gcancel", job)


def test_a_step_that_does_not_fit_waits_for_another(shared_cluster):
    cluster = shared_cluster
    script = f"""
grun -n2 sh -c 'echo first $SLURM_PROCID >> {cluster.work}/order; sleep 1' &
until [ -s {cluster.work}/order ]; do sleep 0.05; done
grun -n1 --overlap sh -c 'echo beside >> {cluster.work}/order'
grun -n1 sh -c 'echo second >> {cluster.work}/order'
wait
"""
    job = cluster.submit(script, "-n2", "-t", "10")
    assert cluster.wait_ended(job) and cluster.state(job) == "COMPLETED"
    lines = (cluster.work / "order").read_text().splitlines()
    assert sorted(lines[:3]) == ["beside", "first 0", "first 1"] and lines[3] == "second"


def test_eight_small_steps_run_at_once(shared_cluster):
    cluster = shared_cluster
    script = f"""
for i in 1 2 3 4 5 6 7 8; do
  grun -n1 sh -c 'echo $1 >> {cluster.work}/up; read line < {cluster.work}/go.$1' sh $i &
done
wait
"""
    for i in range(1, 9):
        os.mkfifo(cluster.work / f"go.{i}")
    job = cluster.submit(script, "-n8", "-t", "10")
    up = cluster.work / "up"
    wait_for(lambda: up.exists() and len(up.read_text().split()) == 8, "all eight run")
    shown = cluster.json("gangway", "topo", job, "--json")["nodes"][0]["steps"]
    assert len(shown) == 8 and all(len(step["claimed_cores"]) == 1 for step in shown)
    for i in range(1, 9):
        (cluster.work / f"go.{i}").write_text("go\n")
    assert cluster.wait_ended(job) == "COMPLETED"


def test_what_the_job_was_asked_with_is_told_to_its_steps(shared_cluster):
    cluster = shared_cluster
    tell = "sh -c 'echo ${SLURM_CPUS_PER_TASK-none} ${SLURM_NTASKS_PER_NODE-none}'"
    out = cluster.work / "asked"
    cluster.run("gbatch", "--wait", "-Q", "-c3", "--ntasks-per-node=2", "-o", out, "--wrap",
                f"grun -n1 {tell}; grun -n1 -c2 {tell}; SRUN_CPUS_PER_TASK=1 grun -n1 {tell}")
    assert out.read_text().splitlines() == ["3 2", "2 2", "1 2"]


def test_tasks_have_gpus_of_their_own_or_see_all(shared_cluster):
    each = grun(shared_cluster, "-n4", "-N2", "--gpus-per-task=2", "sh", "-c", "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES")
    assert sorted(each.stdout.splitlines()) == ["n0 0,1", "n0 2,3", "n1 0,1", "n1 2,3"]
    shared_cluster.wait_idle()
    both = grun(shared_cluster, "-n2", "-N1", "--gpus-per-node=4", "printenv", "CUDA_VISIBLE_DEVICES")
    assert both.stdout.split() == ["0,1,2,3"] * 2


def test_the_limits_of_the_job_hold_for_its_steps(shared_cluster):
    cluster = shared_cluster
    if "containment cgroup" not in (cluster.dir / "log" / "gnoded.n0.log").read_text():
        pytest.skip("no control groups here: memory is not limited")
    done = grun(cluster, "-n1", "--mem=50M", "python3", "-c", "x = bytearray(200 << 20); print(len(x))", check=False)
    assert done.returncode == 128 + signal.SIGKILL and done.stdout == ""
    assert "out of memory" in done.stderr
    cluster.wait_idle()
    assert "OUT_OF_MEMORY" in cluster.run("gqueue", "-h", "-t", "all", "-o", "%T").stdout


def test_a_step_on_nodes_that_joined_an_elastic_gang(make_cluster):
    cluster = make_cluster(nodes=2, config=QUICK)
    cluster.kill("gnoded.n1")
    script = f"""
touch {cluster.work}/up
until [ "$(wc -l < $GANGWAY_HOSTLIST_FILE)" = 2 ]; do sleep 0.1; done
grun -N2 -n2 --overlap printenv SLURMD_NODENAME > {cluster.work}/names
"""
    gang = cluster.submit(script, "-N1-2", "--gpus-per-node=8", "--elastic", "-t", "10")
    wait_for(lambda: (cluster.work / "up").exists(), "the script runs on one node")
    cluster.start("gnoded.n1")
    assert cluster.wait_ended(gang) and cluster.state(gang) == "COMPLETED", cluster.logs()
    assert sorted((cluster.work / "names").read_text().split()) == ["n0", "n1"]


@pytest.mark.parametrize("words", [["galloc", "--no-shell", "-N2"], ["grun", "-N2", "sleep", "1000"],
                                   ["grun", "--keep", "-N2", "sleep", "1000"]])
def test_who_is_ended_early_leaves_nothing(shared_cluster, words):
    """At whatever moment the signal comes: before the answer to the request, before the tasks run."""
    cluster = shared_cluster
    for delay in range(24):
        client = cluster.popen(*words, stderr=subprocess.PIPE)
        wait_for(lambda: is_alive(client.pid), "the client")
        select.select([], [], [], delay / 1000)
        client.send_signal(signal.SIGTERM if words[0] == "grun" else signal.SIGINT)
        said = client.communicate(timeout=60)[1]
        if "left step" in said or "Granted" in said:
            jobs = cluster.run("gqueue", "-h", "-o", "%i").stdout.split()
            if "left step" in said:
                wait_for(lambda: "sleep" in cluster.run("gqueue", "-h", "-s", "-t", "R", "-o", "%j").stdout, "what goes on")
            cluster.run("gcancel", *jobs)
        wait_for(lambda: cluster.run("gqueue", "-h").stdout == "", lambda: f"an empty queue; {delay} ms; {said}")


def test_a_fifo_without_another_end_can_be_left(shared_cluster):
    cluster = shared_cluster
    os.mkfifo(cluster.work / "fifo")
    for words in (["-i", "fifo", "cat"], ["-o", "fifo", "echo"]):
        client = cluster.popen("grun", *words)
        steps = lambda: cluster.run("gqueue", "-h", "-s", "-t", "R").stdout
        wait_for(steps, "the step")
        client.terminate()
        assert client.wait(timeout=60) in (-signal.SIGTERM, 128 + signal.SIGTERM)
        cluster.run("gcancel", "-u", "root")
        cluster.wait_idle()
    (cluster.work / "fifo").unlink()


def test_a_job_id_in_the_environment_that_is_none_is_named(shared_cluster):
    done = shared_cluster.run("env", "SLURM_JOB_ID=abc", "grun", "true", check=False)
    assert done.returncode == 1 and "SLURM_JOB_ID=abc is no job id" in done.stderr
    done = shared_cluster.run("env", "SLURM_JOB_ID=abc", "gbcast", "/etc/passwd", "/tmp/x", check=False)
    assert done.returncode == 1 and "SLURM_JOB_ID=abc is no job id" in done.stderr
    done = shared_cluster.run("env", "SLURM_JOB_ID=abc", "grun", "--jobid=99999", "true", check=False)
    assert done.returncode == 1 and "99999" in done.stderr and "abc" not in done.stderr


def test_a_shepherd_that_dies_ends_its_step_everywhere(make_cluster):
    cluster = make_cluster(nodes=2, config=QUICK)
    client = cluster.popen("grun", "-N2", "-n2", "sh", "-c", "echo up; sleep 1000")
    assert [client.stdout.readline() for _ in range(2)] == ["up\n"] * 2
    ours = processes_with(os.readlink(cluster.dir / "run"))
    shepherds = [pid for pid in ours if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("gstepd:")]
    assert len(shepherds) == 2
    os.kill(shepherds[0], signal.SIGKILL)
    assert client.wait(timeout=60) != 0
    assert "died: signal 9; its processes were killed" in client.stderr.read()
    cluster.wait_idle()


LAST_PID = pathlib.Path("/proc/sys/kernel/ns_last_pid")


@pytest.mark.skipif(not os.access(LAST_PID, os.W_OK), reason="cannot choose process ids here")
def test_a_task_that_gets_an_orphans_number_is_not_taken_for_it(shared_cluster):
    work = shared_cluster.work
    (work / "orphan.conf").write_text(f"0 sh -c '(sleep 0.2 >/dev/null 2>&1 </dev/null & echo $! > {work}/orphan)'\n"
                                      "1 true\n2 sh -c 'sleep 1; echo late; exit 9'\n")
    end = full_fifo(work / "said.1")  # Task 1 says how it is bound before it runs its program, and waits.
    client = shared_cluster.popen("grun", "-Q", "-N1", "-n3", "--cpu-bind=verbose,none", "-e", f"{work}/said.%t",
                                  "--multi-prog", "orphan.conf")
    orphan = int(wait_for(lambda: (work / "orphan").exists() and (work / "orphan").read_text(), "the orphan"))
    wait_for(lambda: not pathlib.Path(f"/proc/{orphan}").exists(), "its end")
    LAST_PID.write_text(str(orphan - 1))
    drain(end)
    # Others may take the number first: then it is as if nothing had been done.
    for _ in range(200):
        LAST_PID.write_text(str(orphan - 1))
    out, _ = client.communicate(timeout=60)
    os.close(end)
    assert (client.returncode, out) == (9, "late\n")


@pytest.mark.parametrize("around", [[], ["galloc", "-Q", "-t1", "--signal=USR1@59"]])
def test_a_signal_comes_before_the_time_limit(shared_cluster, around):
    script = "trap 'echo soon; exit 5' USR1; while :; do sleep 0.05; done"
    limits = [] if around else ["-t1", "--signal=R:USR1@59"]
    done = shared_cluster.run(*around, "grun", "-Q", *limits, "sh", "-c", script, check=False)
    assert (done.returncode, done.stdout) == (5, "soon\n"), done


def test_limits_inside_an_allocation_are_the_steps(shared_cluster):
    script = "trap 'echo soon; exit 6' USR1; while :; do sleep 0.05; done"
    done = shared_cluster.run("galloc", "-Q", "-N2", "-n2", "sh", "-c",
                              f"grun -t1 --signal=USR1@59 sh -c \"{script}\"; echo $?; grun -n1 echo on", check=False)
    assert done.stdout.splitlines() == ["soon", "soon", "6", "on"], done
    done = shared_cluster.run("grun", "--signal=B:USR1", "true", check=False)
    assert done.returncode == 1 and "there is none here" in done.stderr, done.stderr


def test_the_end_of_a_fifo_is_the_end_of_input(shared_cluster):
    done = shared_cluster.run("sh", "-c", "rm -f ff; mkfifo ff; (sleep 0.3; echo hello > ff) & timeout 20 grun -Q -n2 --input=ff cat",
                              check=False)
    assert (done.returncode, done.stdout) == (0, "hello\nhello\n"), done
    done = shared_cluster.run("sh", "-c", "(echo again > ff) & timeout 20 grun -Q cat < ff", check=False)
    assert (done.returncode, done.stdout) == (0, "again\n"), done


def test_srun_tells_of_a_missing_program_as_slurm_does(shared_cluster):
    done = shared_cluster.run("srun", "-n1", "no-such-program", check=False)
    assert done.returncode == 2 and "execve(): no-such-program: No such file or directory" in done.stderr, done
    assert shared_cluster.run("grun", "-n1", "no-such-program", check=False).returncode == 127


@pytest.mark.parametrize("line, code, text", [
    ("exec grun -Q echo hi >&-", 1, "cannot write output to standard output: Bad file descriptor"),
    ("exec grun -Q true >&-", 0, ""),
    ("exec grun -Q cat <&-", 0, ""),
    ("exec grun -Q sh -c 'echo hi >&2' <&- >&- 2>&-", 0, ""),
    ("exec gqueue >&-", 1, ""),
])
def test_closed_standard_streams_are_nobody_elses(shared_cluster, line, code, text):
    done = shared_cluster.run("sh", "-c", line, check=False)
    assert done.returncode == code and text in done.stderr and done.stdout == "", done
