"""MPI programs: Open MPI by PMIx under grun, mpirun of Open MPI and mpiexec of MPICH inside an allocation, and their ends."""

import os
import pathlib
import pwd
import re
import signal
import subprocess

import pytest

from cluster import IS_ROOT, Cluster, command_line, is_alive, parent_of, processes_with, wait_for
from conftest import QUICK

SOURCE = pathlib.Path(__file__).with_name("mpi_check.c")
USER = "nobody" if IS_ROOT else None  # Open MPI refuses root
# Ranks that wait let others run: there may be more of them than cores. Without root all emulated nodes have the machine's
# name, and Open MPI names its shared memory by that.
MPI_ENV = {"OMPI_MCA_mpi_yield_when_idle": "1", **({} if IS_ROOT else {"OMPI_MCA_btl": "self,tcp"})}


@pytest.fixture(scope="module")
def mpi_cluster():
    one = Cluster(nodes=4, config=QUICK)
    try:
        one.up()
        for kind in ("openmpi", "mpich"):
            subprocess.run([f"mpicc.{kind}", "-O1", "-o", one.work / kind, SOURCE], check=True)
        yield one
    finally:
        one.down()


def lines_of(nodes_of_ranks):
    """What mpi_check prints on tasks at these nodes."""
    size = len(nodes_of_ranks)
    return [f"{rank} {size} {node}" for rank, node in enumerate(nodes_of_ranks)]


def mpi(cluster, *words, check=True, env=None):
    cluster.wait_idle()  # the nodes are those that the test expects
    return cluster.run(*words, user=USER, check=check, env={"HOME": str(cluster.work), **MPI_ENV, **(env or {})})


def sorted_ranks(done):
    return sorted((line for line in done.stdout.splitlines() if line[:1].isdigit()), key=lambda l: int(l.split()[0]))


def on_nodes(*names):
    """The node names that programs see: without root the emulated nodes have the machine's."""
    return list(names) if IS_ROOT else [os.uname().nodename] * len(names)


@pytest.mark.parametrize("options, nodes", [
    (["-n8", "-N2"], ["n0"] * 4 + ["n1"] * 4),
    (["-n8", "-N4"], ["n0", "n0", "n1", "n1", "n2", "n2", "n3", "n3"]),
    (["-n5", "-N2", "-m", "cyclic"], ["n0", "n1", "n0", "n1", "n0"]),
    (["-n8", "-N2", "-m", "plane=2"], ["n0", "n0", "n1", "n1"] * 2),
    (["-n3", "-N1"], ["n0"] * 3),
    (["-n1"], ["n0"]),
])
def test_open_mpi_finds_its_tasks_by_pmix(mpi_cluster, options, nodes):
    done = mpi(mpi_cluster, "grun", *options, mpi_cluster.work / "openmpi")
    assert sorted_ranks(done) == lines_of(on_nodes(*nodes))
    assert done.stderr == ""


def test_parts_of_a_step_and_tasks_on_listed_hosts_are_one_world(mpi_cluster):
    program = mpi_cluster.work / "openmpi"
    done = mpi(mpi_cluster, "grun", "-N2", "-n1", program, ":", "-n", "3", "sh", "-c", f"exec {program}")
    assert sorted_ranks(done) == lines_of(on_nodes("n0", "n0", "n1", "n1"))
    hosts = mpi_cluster.work / "hosts_of_mpi"
    hosts.write_text("n2\nn0\nn2\n")
    done = mpi(mpi_cluster, "env", f"SLURM_HOSTFILE={hosts}", "grun", program)
    assert sorted_ranks(done) == lines_of(on_nodes("n2", "n0", "n2"))


def test_two_steps_at_once_and_one_after_another_in_one_task(mpi_cluster):
    program = mpi_cluster.work / "openmpi"
    script = f"grun -n2 -N2 {program} & grun -n2 -N2 {program} & wait; grun -n2 sh -c '{program}; {program}'"
    done = mpi(mpi_cluster, "galloc", "-N2", "-n4", "sh", "-c", script)
    assert len(sorted_ranks(done)) == 8
    assert {line.split()[1] for line in sorted_ranks(done)} == {"2"}


def test_mpirun_of_open_mpi_starts_its_daemons_by_srun(mpi_cluster):
    done = mpi(mpi_cluster, "galloc", "-N2", "-n4", "mpirun.openmpi", mpi_cluster.work / "openmpi")
    assert sorted_ranks(done) == lines_of(on_nodes("n0", "n0", "n1", "n1"))


def test_mpirun_in_a_batch_script_on_four_nodes(mpi_cluster):
    cluster = mpi_cluster
    job = cluster.submit(f"mpirun.openmpi {cluster.work / 'openmpi'} > {cluster.work / 'batch.out'}", "-N4", "-n8", "-t", "5",
                         user=USER, env={"HOME": str(cluster.work), **MPI_ENV})
    assert cluster.wait_ended(job)
    assert cluster.state(job) == "COMPLETED"
    lines = sorted((cluster.work / "batch.out").read_text().splitlines())
    assert lines == lines_of(on_nodes(*(f"n{i // 2}" for i in range(8))))


@pytest.mark.parametrize("nodes", [2, 4])
def test_mpiexec_of_mpich_starts_its_proxies_by_srun(mpi_cluster, nodes):
    done = mpi(mpi_cluster, "galloc", f"-N{nodes}", "-n8", "mpiexec.hydra", mpi_cluster.work / "mpich")
    assert sorted_ranks(done) == lines_of(on_nodes(*(f"n{i * nodes // 8}" for i in range(8))))


def test_mpirun_inside_a_task_is_a_world_of_its_own(mpi_cluster):
    done = mpi(mpi_cluster, "grun", "-n1", "mpirun.openmpi", "--oversubscribe", "-n", "2", mpi_cluster.work / "openmpi")
    assert sorted_ranks(done) == lines_of(on_nodes("n0", "n0"))


def test_abort_ends_all_nodes_with_its_code(mpi_cluster):
    done = mpi(mpi_cluster, "grun", "-n4", "-N2", mpi_cluster.work / "openmpi", "abort", "2", "7", check=False)
    assert done.returncode == 7
    assert re.search("n[01]: task 2 called abort with code 7", done.stderr), done.stderr  # either node's word may be first
    mpi_cluster.wait_idle()


@pytest.mark.parametrize("how, code", [("die", 137), ("exit", 3)])
def test_a_rank_that_dies_in_a_collective_ends_the_step(mpi_cluster, how, code):
    done = mpi(mpi_cluster, "grun", "-n4", "-N4", mpi_cluster.work / "openmpi", how, "3", check=False)
    assert done.returncode == code
    assert "PMIx: task 3 ended without MPI_Finalize" in done.stderr
    mpi_cluster.wait_idle()


@pytest.mark.parametrize("shape, rank", [
    ("-N1 -n4", 2),  # beside tasks that wait
    ("-N2 -n4", 1),
    ("-N2 -n4", 3),
    ("-N2 -n2", 0),  # alone on its node, which others ask
    ("-N2 -n2", 1),  # alone on its node, which asks others
    ("-N4 -n4", 2),
])
def test_a_rank_that_ends_before_init_ends_the_step(mpi_cluster, shape, rank):
    done = mpi(mpi_cluster, "grun", *shape.split(), mpi_cluster.work / "openmpi", "early", rank, check=False)
    assert done.returncode == 7
    assert "ended before MPI_Init" in done.stderr
    mpi_cluster.wait_idle()


@pytest.mark.parametrize("shape, words", [
    ("-N2 -n2", "1) read line; exit 7;;"),             # it ends when it is awaited already
    ("-N2 -n4", "2) exit 7;; 3) read line; exit 0;;"),  # it has ended, and its node learns later that it was awaited
])
def test_a_rank_that_ends_before_init_on_a_node_without_mpi(mpi_cluster, shape, words):
    cluster = mpi_cluster
    script = f"case $PMIX_RANK in {words} esac; exec {cluster.work / 'openmpi'}"
    cluster.wait_idle()
    client = cluster.popen("grun", *shape.split(), "sh", "-c", script, user=USER, env=MPI_ENV, stdin=subprocess.PIPE)
    if "-n2" in shape:
        wait_for(lambda: len(helpers(cluster, running_job(cluster))) == 2, "the node that is awaited has a helper")
        client.stdin.write("\n")
        client.stdin.flush()
    assert client.wait(timeout=60) == 7  # its input stays open
    said = client.stderr.read()  # whichever node is heard first says so, or the other one that it has gone
    assert re.search(r"PMIx: task [12] ended before MPI_Init|PMIx: the tasks of n1 ended before MPI_Init", said), said
    cluster.wait_idle()


def test_a_task_that_fails_does_not_end_a_step_without_mpi(mpi_cluster):
    client = mpi_cluster.popen("grun", "-N2", "-n4", "sh", "-c", "[ $PMIX_RANK != 1 ] || { echo out; exit 7; }; read line; echo $line",
                               user=USER, stdin=subprocess.PIPE)
    assert client.stdout.readline() == "out\n"
    out, errors = client.communicate("on\n", timeout=30)
    assert client.returncode == 7
    assert out == "on\n" * 3
    assert "PMIx" not in errors


def helpers(cluster, job):
    """The PMIx helpers of a job: what its shepherds have started."""
    name = f"gstepd:{job}."
    own = [pid for pid in processes_with("--step") if command_line(pid)[0] == "gpmixd"]
    return [pid for pid in own if pathlib.Path(f"/proc/{parent_of(pid)}/comm").read_text().startswith(name)]


def running_job(cluster):
    return cluster.run("gqueue", "-h", "-o", "%i").stdout.strip()


def test_a_helper_that_is_killed_ends_the_step(mpi_cluster):
    cluster = mpi_cluster
    client = cluster.popen("grun", "-n4", "-N2", cluster.work / "openmpi", "stay", user=USER, env=MPI_ENV)
    assert client.stdout.readline() == "here\n"
    found = helpers(cluster, running_job(cluster))
    assert len(found) == 2
    os.kill(found[0], signal.SIGKILL)
    _, errors = client.communicate(timeout=30)
    assert client.returncode == 1
    assert "PMIx: the helper (gpmixd) was ended by signal 9" in errors
    wait_for(lambda: not is_alive(found[1]), "the other helper goes")
    cluster.wait_idle()


def test_helpers_are_the_users_and_go_with_the_tasks(mpi_cluster):
    cluster = mpi_cluster
    client = cluster.popen("grun", "-n2", "-N1", cluster.work / "openmpi", "stay", user=USER, env=MPI_ENV)
    assert client.stdout.readline() == "here\n"
    found = helpers(cluster, running_job(cluster))
    assert len(found) == 1
    uid = pwd.getpwnam(USER).pw_uid if USER else os.getuid()
    status = pathlib.Path(f"/proc/{found[0]}/status").read_text()
    assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}" in status
    client.send_signal(signal.SIGTERM)
    client.communicate(timeout=30)
    wait_for(lambda: not is_alive(found[0]), "the helper goes")
    cluster.wait_idle()


def test_a_program_without_mpi_starts_no_helper(mpi_cluster):
    cluster = mpi_cluster
    script = "echo $PMIX_RANK; read line"
    client = cluster.popen("grun", "-n1", "sh", "-c", script, user=USER, stdin=subprocess.PIPE)
    assert client.stdout.readline() == "0\n"
    assert helpers(cluster, running_job(cluster)) == []
    client.communicate("\n", timeout=30)
    assert client.returncode == 0


def test_none_gives_no_variables_and_list_names_both(mpi_cluster):
    done = mpi(mpi_cluster, "grun", "--mpi=none", "-n1", "sh", "-c", "env | grep -c ^PMIX_", check=False,
               env={"PMIX_RANK": "3", "PMIX_SERVER_URI4": "other"})
    assert done.stdout == "0\n"
    assert mpi(mpi_cluster, "grun", "--mpi=list").stdout.split()[-2:] == ["pmix", "none"]
    assert "nothing" in mpi(mpi_cluster, "grun", "--mpi=nothing", "true", check=False).stderr


def test_another_user_does_not_reach_the_server_of_a_step(mpi_cluster):
    """The port is open to all users of a node; only processes of the step's user are passed on."""
    if not IS_ROOT:
        return
    script = "echo $PMIX_SERVER_URI4; read line"
    client = mpi_cluster.popen("grun", "-n1", "sh", "-c", script, user=USER, stdin=subprocess.PIPE)
    port = client.stdout.readline().strip().rsplit(":", 1)[1]
    probe = "import socket,sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.settimeout(20); print(s.recv(1))"
    done = mpi_cluster.run("/usr/bin/python3", "-c", probe, port, user="daemon", check=False)
    assert done.stdout == "b''\n"
    assert helpers(mpi_cluster, running_job(mpi_cluster)) == [], "a stranger starts nothing"
    assert client.poll() is None
    client.communicate("\n", timeout=30)
    assert client.returncode == 0


RENDEZVOUS = """
import os, socket, subprocess, time
rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
hosts = subprocess.run(["scontrol", "show", "hostnames"], capture_output=True, text=True, check=True).stdout.split()
address = (hosts[0], int(os.environ["MASTER_PORT"]))
if rank == 0:
    server = socket.create_server(address)
    met = {}
    while len(met) < size - 1:
        connection = server.accept()[0]
        met[int(connection.makefile().readline())] = connection
    for connection in met.values():
        connection.sendall(b"all there\\n")
else:
    while True:
        try:
            connection = socket.create_connection(address)
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    connection.sendall(f"{rank}\\n".encode())
    assert connection.makefile().readline() == "all there\\n"
names = ("PROCID", "LOCALID", "NODEID", "NTASKS", "JOB_NODELIST", "STEP_NUM_NODES", "TASKS_PER_NODE")
print(*(os.environ["SLURM_" + name] for name in names))
"""


@pytest.mark.parametrize("options, expected", [
    (["-N2", "--ntasks-per-node=2"], ["0 0 0 4 n[0-1] 2 2(x2)", "1 1 0 4 n[0-1] 2 2(x2)",
                                      "2 0 1 4 n[0-1] 2 2(x2)", "3 1 1 4 n[0-1] 2 2(x2)"]),
    (["-N2", "-n3"], ["0 0 0 3 n[0-1] 2 2,1", "1 1 0 3 n[0-1] 2 2,1", "2 0 1 3 n[0-1] 2 2,1"]),
    (["-N2", "-n3", "-m", "cyclic"], ["0 0 0 3 n[0-1] 2 2,1", "1 0 1 3 n[0-1] 2 2,1", "2 1 0 3 n[0-1] 2 2,1"]),
])
def test_a_program_as_pytorch_starts_it_meets_at_the_first_host(mpi_cluster, options, expected):
    with_port = 20000 + os.getpid() % 10000
    done = mpi(mpi_cluster, "grun", *options, "/usr/bin/python3", "-c", RENDEZVOUS, env={"MASTER_PORT": str(with_port)})
    assert sorted(done.stdout.splitlines()) == expected


def test_several_programs_of_one_step_meet_as_well(mpi_cluster):
    cluster = mpi_cluster
    (cluster.work / "meet.py").write_text(RENDEZVOUS)
    (cluster.work / "programs").write_text("0 /usr/bin/python3 meet.py\n1-2 /usr/bin/python3 ./meet.py\n")
    done = mpi(cluster, "grun", "-N2", "-n3", "--multi-prog", "programs", env={"MASTER_PORT": str(31000 + os.getpid() % 1000)})
    assert [line.split()[:3] for line in sorted(done.stdout.splitlines())] == [["0", "0", "0"], ["1", "1", "0"], ["2", "0", "1"]]


def test_components_of_a_job_are_one_world(mpi_cluster):
    cluster = mpi_cluster
    program = cluster.work / "openmpi"
    script = f"""
srun {program} : -n3 {program} > {cluster.work}/world
srun --het-group=0,1 -m cyclic {program} > {cluster.work}/turns
srun -n1 {program} : --het-group=0 -n1 {program} > {cluster.work}/beside
srun -n1 true : --het-group=0 -n2 true 2> {cluster.work}/too_many
srun {program} : -n2 {program} abort 3 9; echo $? > {cluster.work}/code
"""
    job = cluster.submit(script, "-n2", "-w", "n0", "-t", "5", ":", "-N2", "-n4", "-w", "n[1-2]", user=USER,
                         env={"HOME": str(cluster.work), **MPI_ENV})
    assert cluster.wait_ended(job)
    read = lambda name: sorted((cluster.work / name).read_text().splitlines())  # noqa: E731
    assert read("world") == lines_of(on_nodes("n0", "n0", "n1", "n1", "n2"))
    assert read("turns") == lines_of(on_nodes("n0", "n0", "n1", "n2", "n1", "n2"))
    assert read("beside") == lines_of(on_nodes("n0", "n0")), "two steps on one node"
    assert f"job {job} is too small for all parts that are to run together" in read("too_many")[0]
    assert read("code") == ["9"]
    cluster.wait_idle()
