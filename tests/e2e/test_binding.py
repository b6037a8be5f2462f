"""Binding of tasks: on a real node by what the kernel says, on emulated ones by what the tasks are told."""

import os
import re

import pytest

from cluster import wait_for
from conftest import QUICK

MASK = r"mask (0x[0-9a-f]+)"


def grun(cluster, *words, **options):
    return cluster.run("grun", *words, **options)


@pytest.fixture(scope="module")
def real():
    """One node that is this machine."""
    from cluster import Cluster
    one = Cluster(nodes=1, topology="live", config=QUICK)
    try:
        yield one.up()
    finally:
        one.down()


def allowed(text):
    """The processors in lines of Cpus_allowed_list, as sets."""
    sets = []
    for line in text.splitlines():
        cpus = set()
        for part in line.split(":")[-1].strip().split(","):
            first, _, last = part.partition("-")
            cpus |= set(range(int(first), int(last or first) + 1))
        sets.append(cpus)
    return sets


STATUS = ("grep", "Cpus_allowed_list", "/proc/self/status")
MINE = sorted(os.sched_getaffinity(0))


def test_tasks_have_cores_of_their_own(real):
    tasks = len(MINE)
    done = grun(real, f"-n{tasks}", "-c1", "--cpu-bind=threads", *STATUS)
    sets = allowed(done.stdout)
    assert len(sets) == tasks and all(len(s) == 1 for s in sets)
    assert set().union(*sets) == set(MINE)


def test_without_c_a_task_has_all_cores_of_its_job(real):
    script = f"""
grep Cpus_allowed_list /proc/self/status > {real.work}/script
grun -n1 grep Cpus_allowed_list /proc/self/status > {real.work}/task
grun -n1 -c1 --cpu-bind=threads grep Cpus_allowed_list /proc/self/status > {real.work}/one
"""
    job = real.submit(script, f"-n{len(MINE)}", "-t", "10")
    assert real.wait_ended(job) == "COMPLETED"
    assert allowed((real.work / "script").read_text()) == [set(MINE)]
    assert allowed((real.work / "task").read_text()) == [set(MINE)]
    assert len(allowed((real.work / "one").read_text())[0]) == 1


@pytest.mark.skipif(len(MINE) < 2, reason="one processor only")
def test_a_task_makes_room_for_steps_that_come_and_has_it_back(real):
    script = f"""
grun -n1 --cpu-bind=quiet sh -c 'echo $$ > {real.work}/new; mv {real.work}/new {real.work}/pid; exec sleep 1000' &
wait
"""
    job = real.submit(script, f"-n{len(MINE)}", "-t", "10")
    wait_for(lambda: (real.work / "pid").exists(), "the task runs")
    task = int((real.work / "pid").read_text())
    assert os.sched_getaffinity(task) == set(MINE)
    other = real.popen("grun", f"--jobid={job}", "-n1", f"-c{len(MINE) // 2}", "sh", "-c", "echo $$; exec cat", stdin=-1)
    beside = int(other.stdout.readline())
    claimed = os.sched_getaffinity(beside)
    assert claimed < set(MINE)
    wait_for(lambda: os.sched_getaffinity(task) == set(MINE) - claimed, lambda: f"{os.sched_getaffinity(task)} shrinks")
    other.stdin.close()
    assert other.wait(timeout=60) == 0
    wait_for(lambda: os.sched_getaffinity(task) == set(MINE), lambda: f"{os.sched_getaffinity(task)} grows again")
    real.run("gcancel", job)
    real.wait_idle()


def test_lists_are_taken_in_turn(real):
    first, last = MINE[0], MINE[-1]
    done = grun(real, f"-n{len(MINE)}", "-l", f"--cpu-bind=map_cpu:{last},{first}", *STATUS)
    by_task = {int(line.split(":")[0]): allowed(line)[0] for line in done.stdout.splitlines()}
    assert by_task[0] == {last} and (len(MINE) == 1 or by_task[1] == {first})


def test_none_leaves_all_of_the_step(real):
    done = grun(real, f"-n{len(MINE)}", "--cpu-bind=verbose,none", *STATUS)
    assert all(s == set(MINE) for s in allowed(done.stdout))
    assert done.stderr.count("cpu-bind=NONE - ") == len(MINE)


def test_verbose_says_what_the_kernel_has(real):
    mask = hex(1 << MINE[0])
    done = grun(real, "-n1", f"--cpu-bind=v,mask_cpu:{mask}", "sh", "-c", "grep Cpus_allowed_list /proc/self/status")
    assert allowed(done.stdout) == [{MINE[0]}]
    assert re.search(rf"^cpu-bind=MASK - \S+, task  0  0 \[\d+\]: mask {mask} set$", done.stderr, re.M), done.stderr


def test_memory_follows(real):
    done = grun(real, "-n1", "--mem-bind=verbose,local", "sh", "-c", "grep -c bind /proc/self/numa_maps || true")
    assert re.search(rf"^mem-bind=MASK - \S+, task  0  0 \[\d+\]: {MASK} set$", done.stderr, re.M), done.stderr


def test_what_the_step_has_not_got_is_an_error(real):
    done = grun(real, f"-n{len(MINE)}", "--cpu-bind=mask_cpu:0x1,0xf0000", "true", check=False)
    assert done.returncode != 0
    if len(MINE) > 1:
        assert "task 1" in done.stderr and "0xf0000" in done.stderr and "n0" in done.stderr
    real.wait_idle()


def test_emulated_nodes_record_it_and_tell_the_tasks(shared_cluster):
    script = "echo $SLURM_LOCALID $CUDA_VISIBLE_DEVICES $SLURM_CPU_BIND_LIST $SLURM_GPU_BIND $GANGWAY_NIC"
    done = grun(shared_cluster, "-N1", "-n2", "--gpus-per-task=1", "--cpu-bind=verbose", "--gpu-bind=verbose,map_gpu:1,0",
                "sh", "-c", script)
    words = [line.split() for line in sorted(done.stdout.splitlines())]
    assert [w[:2] for w in words] == [["0", "1"], ["1", "0"]]
    assert words[0][2] == words[1][2] and len(words[0][2].split(",")) == 2
    assert words[0][3] == "verbose,map_gpu:1,0"
    assert words[0][4] != words[1][4], "each GPU has an adapter of its own on a DGX"
    assert len(re.findall(rf"cpu-bind=MASK - n0, task .*{MASK} would be set", done.stderr)) == 2
    assert re.search(r"gpu-bind - n0, task  0  0 \[\d+\]: CUDA_VISIBLE_DEVICES=1", done.stderr)


def test_all_gpus_are_seen_unless_asked_otherwise(shared_cluster):
    see = ("sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    first, second = grun(shared_cluster, "-N1", "--gpus-per-node=4", "-n2", *see).stdout.split()
    assert first == second and len(first.split(",")) == 4
    done = grun(shared_cluster, "-N1", "--gpus-per-node=4", "-n4", "--gpu-bind=single:2", *see)
    seen = done.stdout.split()
    assert len(seen) == 4 and sorted(map(seen.count, seen)) == [2, 2, 2, 2]
    done = grun(shared_cluster, "-N1", "-n1", "-c1", "--gpus-per-node=8", "--gpu-bind=closest", *see)
    assert len(done.stdout.strip().split(",")) == 4, "those at the socket of its core"


@pytest.mark.parametrize("option,says", [
    ("--cpu-bind=corse", "did you mean \"cores\""),
    ("--cpu-bind=map_cpu:x", "\"x\" in map_cpu is no index"),
    ("--gpu-bind=near", "per_task:N"),
    ("--mem-bind=far", "map_mem:LIST"),
])
def test_wrong_words_say_which_there_are(shared_cluster, option, says):
    done = grun(shared_cluster, option, "true", check=False)
    assert done.returncode != 0 and says in done.stderr


def test_the_environment_says_it_too_and_a_step_in_a_step_starts_afresh(shared_cluster):
    cluster = shared_cluster
    done = cluster.run("sh", "-c", "SLURM_CPU_BIND=none grun -n1 sh -c 'echo $SLURM_CPU_BIND_TYPE'")
    assert done.stdout == "none\n"
    inner = "grun -N1 -n1 --overlap sh -c 'echo $SLURM_CPU_BIND_TYPE ${SLURM_CPUS_PER_TASK-unset} ${SLURM_GPU_BIND-unset}'"
    done = grun(cluster, "-N1", "-n1", "-c2", "--cpu-bind=none", "--gpu-bind=none", "sh", "-c",
                f"echo $SLURM_CPU_BIND_TYPE $SLURM_CPUS_PER_TASK; {inner}")
    assert done.stdout.splitlines() == ["none 2", "mask_cpu: 2 unset"]


def socket_of(masks):
    """Of each mask the sockets of a DGX H100 that its processors lie in, and how many there are."""
    found = []
    for mask in masks.split(","):
        bits = int(mask, 16)
        cpus = [i for i in range(bits.bit_length()) if bits >> i & 1]
        found.append(({cpu % 112 // 56 for cpu in cpus}, len(cpus)))
    return found


@pytest.mark.parametrize("words", [("gbatch", "--wait", "-Q", "-o", "{out}", "{script}"), ("galloc", "-Q", "{script}")])
def test_tasks_with_gpus_of_their_own_are_near_to_them(shared_cluster, words):
    cluster = shared_cluster
    script, out = cluster.work / "near.sh", cluster.work / "near.out"
    script.write_text("#!/bin/sh\ngrun -n8 --gpus-per-task=1 sh -c 'echo $SLURM_LOCALID $CUDA_VISIBLE_DEVICES "
                      "$SLURM_CPU_BIND_LIST $SLURM_CPUS_ON_NODE'\n")
    script.chmod(0o755)
    words = [w.format(out=out, script=script) for w in words]
    done = cluster.run(*words[:1], "-N1", "--gpus-per-node=8", *words[1:])
    lines = [line.split() for line in sorted((out.read_text() if out.exists() else done.stdout).splitlines())]
    assert [line[:2] for line in lines] == [[str(i), str(i)] for i in range(8)]
    places = socket_of(lines[0][2])
    assert [sockets for sockets, _ in places] == [{0}] * 4 + [{1}] * 4
    assert all(count >= 24 for _, count in places), "nine tenths of 14 cores with two threads"
    assert lines[0][3] == "200", "nine tenths of the node's cores"


def test_tasks_are_dealt_to_sockets(shared_cluster):
    cluster = shared_cluster
    out = cluster.work / "sockets.out"
    step = "srun sh -c 'echo $SLURM_NTASKS_PER_SOCKET $SLURM_CPU_BIND_LIST'"
    cluster.run("sbatch", "--wait", "-Q", "-N1", "-n3", "-c4", "--ntasks-per-socket=2", "-o", out, "--wrap", step)
    lines = [line.split() for line in out.read_text().splitlines()]
    assert [line[0] for line in lines] == ["2"] * 3
    assert sorted(socket_of(lines[0][1])) == [({0}, 4), ({0}, 4), ({1}, 4)]
    # On whole nodes, too, with what the step says itself.
    inner = "srun -n2 -c8 --ntasks-per-socket=1 sh -c 'echo $SLURM_CPU_BIND_LIST'"
    cluster.run("sbatch", "--wait", "-Q", "-N1", "--exclusive", "-o", out, "--wrap", inner)
    assert sorted(socket_of(out.read_text().splitlines()[0])) == [({0}, 8), ({1}, 8)]
    done = cluster.run("srun", "-n2", "-N1", "--hint=memory_bound", "sh", "-c", "echo $SLURM_CPU_BIND_LIST")
    assert sorted(socket_of(done.stdout.splitlines()[0])) == [({0}, 2), ({1}, 2)], "a core each, with its two threads"
    wrong = cluster.run("sbatch", "-N1", "-n5", "--ntasks-per-socket=2", "--wrap", "true", check=False)
    assert wrong.returncode == 1 and "at most 2 of them on a socket" in wrong.stderr, wrong.stderr
    shown = cluster.run("sbatch", "--parsable", "-H", "-n4", "--ntasks-per-socket=2", "--wrap", "true").stdout.strip()
    assert "NtasksPerN:B:S:C=0:0:2:*" in cluster.run("scontrol", "show", "job", shown).stdout
    cluster.run("scancel", shown)


def test_steps_of_a_job_of_whole_cores_have_whole_cores(shared_cluster):
    cluster = shared_cluster
    out = cluster.work / "whole.out"
    step = "srun sh -c 'echo $SLURM_CPU_BIND_LIST'"
    for option in ("--hint=nomultithread", "--threads-per-core=1", "--ntasks-per-core=1"):
        cluster.run("sbatch", "--wait", "-Q", "-N1", "-n2", "-c3", option, "-o", out, "--wrap", step)
        assert [count for _, count in socket_of(out.read_text().splitlines()[0])] == [6, 6], option


def test_a_job_out_of_a_job_of_whole_cores_is_one_of_its_own(shared_cluster):
    cluster = shared_cluster
    inner, out, script = (cluster.work / name for name in ("inner.out", "outer.out", "inner.sh"))
    script.write_text("#!/bin/sh\nsrun sh -c 'echo $SLURM_CPU_BIND_LIST $SLURM_NTASKS_PER_SOCKET'\n")
    call = f"sbatch --wait -Q -n4 -N1 -o {inner} {script}"
    cluster.run("sbatch", "--wait", "-Q", "--hint=memory_bound", "-n2", "-o", out, "--wrap", call)
    lines = inner.read_text().splitlines()
    assert len(lines) == 4 and all(len(line.split()) == 1 for line in lines), inner.read_text() + out.read_text()
    told = cluster.run("salloc", "-Q", "-n2", "--ntasks-per-socket=1", "sh", "-c", "echo $SLURM_NTASKS_PER_SOCKET")
    assert told.stdout == "1\n"


def test_components_have_their_own_layout(shared_cluster):
    cluster = shared_cluster
    out = cluster.work / "het.out"
    steps = "for k in 0 1; do srun --het-group=$k sh -c 'echo $SLURM_CPU_BIND_LIST' | head -1; done"
    cluster.run("sbatch", "--wait", "-Q", "-n2", "--hint=nomultithread", "-o", out, ":", "-n4", "--wrap", steps)
    first, second = out.read_text().splitlines()
    assert [count for _, count in socket_of(first)] == [2, 2], "whole cores"
    assert [count for _, count in socket_of(second)] == [1] * 4, out.read_text()


def test_torchrun_has_all_cores_of_the_job_on_each_node(shared_cluster):
    cluster = shared_cluster
    script = "grun --ntasks-per-node=1 sh -c 'echo $SLURM_NODEID $SLURM_CPUS_ON_NODE $SLURM_CPU_BIND_LIST'"
    out = cluster.work / "torchrun.out"
    cluster.run("gbatch", "--wait", "-Q", "-N2", "--gpus-per-node=8", "-o", out, "--wrap", script)
    lines = [line.split() for line in sorted(out.read_text().splitlines())]
    assert [line[0] for line in lines] == ["0", "1"]
    assert [(cpus, bin(int(mask, 16)).count("1")) for _, cpus, mask in lines] == [("200", 200)] * 2


def test_topo_shows_which_task_has_what(shared_cluster):
    cluster = shared_cluster
    client = cluster.popen("grun", "-N2", "-n4", "-m", "cyclic", "--gpus-per-task=1", "sh", "-c",
                           "echo $SLURM_JOB_ID $SLURM_PROCID $SLURM_NODEID $CUDA_VISIBLE_DEVICES $GANGWAY_NIC; cat",
                           stdin=-1)
    lines = [client.stdout.readline().split() for _ in range(4)]
    job = lines[0][0]
    shown = cluster.json("gangway", "topo", f"{job}.0", "--json")["nodes"]
    told = {}
    for at, node in enumerate(shown):
        (step,) = node["steps"]
        assert step["step_id"] == f"{job}.0"
        for task in step["tasks"]:
            told[str(task["task"])] = [str(at), ",".join(map(str, task["gpus"])), ",".join(task["nics"])]
    assert told == {rank: [node, gpus, nic] for _, rank, node, gpus, nic in lines}
    text = cluster.run("gangway", "topo", job).stdout
    assert f"step {job}.0" in text and "TASK" in text
    none = cluster.run("gangway", "topo", f"{job}.9", check=False)
    assert none.returncode == 1 and "does not run" in none.stderr
    client.stdin.close()
    assert client.wait(timeout=60) == 0
    cluster.wait_idle()
