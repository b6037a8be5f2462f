"""What scontrol and sinfo show beside jobs and nodes: processes, sentences of errors, limits in use, reservations."""

import re

import pytest

from cluster import Cluster, wait_for


@pytest.fixture(scope="module")
def cluster():
    one = Cluster(nodes=2)
    try:
        yield one.up()
    finally:
        one.down()


def scontrol(cluster, *words, **options):
    return cluster.run("scontrol", *words, **options)


def test_listpids_tells_processes_of_jobs_on_this_machine(cluster):
    job = cluster.run("sbatch", "--parsable", "-n2", "--wrap", "srun sleep 1000").stdout.strip()

    def rows(*words):
        done = scontrol(cluster, "listpids", *words, check=False)
        return [line.split() for line in done.stdout.splitlines()]

    wait_for(lambda: sum(row[2] == "0" for row in rows()) == 2, "both tasks run")
    header, *listed = rows()
    assert header == ["PID", "JOBID", "STEPID", "LOCALID", "GLOBALID"]
    assert {row[1] for row in listed} == {job}
    tasks = sorted(row[3:] for row in listed if row[2] == "0")
    assert tasks == [["0", "0"], ["1", "1"]]
    assert ["batch", "0", "0"] in [row[2:] for row in listed] and ["batch", "-", "-"] in [row[2:] for row in listed]
    assert rows(job) == [header, *listed]
    assert rows(f"{job}.0") == [header, *(row for row in listed if row[2] == "0")]
    cluster.run("scancel", job)
    cluster.wait_ended(job)
    done = scontrol(cluster, "listpids", job, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"No job steps of {job} exist on this node" in done.stderr
    assert scontrol(cluster, "listpids", "x", check=False).returncode == 1


def test_errnumstr_says_the_sentence_of_a_number(cluster):
    for number, text in (("2017", "Invalid job id specified"), ("2", "No such file or directory"),
                         ("2066", "Invalid qos specification"), ("123456", "Unknown error 123456")):
        assert scontrol(cluster, "errnumstr", number).stdout == text + "\n"
    for words in ((), ("x",), ("1", "2"), ("-1",)):
        done = scontrol(cluster, "errnumstr", *words, check=False)
        assert (done.returncode, done.stdout) == (1, "") and done.stderr.startswith("scontrol: error: "), words


def test_help_is_what_the_option_prints(cluster):
    assert scontrol(cluster, "help").stdout == scontrol(cluster, "--help").stdout
    assert scontrol(cluster, "help", "x", check=False).returncode == 1


def test_assoc_mgr_tells_limits_and_what_is_used_of_them(cluster):
    cluster.run("gacctmgr", "add", "qos", "team", "parent=cluster", "limit=gpu=8,cpu=40", "max_jobs=4", "max_wall=2h",
                "users=root", "operators=nobody", "max_jobs_per_user=3", "weight=5")
    job = cluster.run("sbatch", "--parsable", "-q", "team", "-n2", "-c1", "-t5", "--wrap", "sleep 1000").stdout.strip()
    cluster.wait_state(job, "RUNNING")
    name = re.search(r"ClusterName *= (\S+)", scontrol(cluster, "show", "config").stdout)[1]
    text = scontrol(cluster, "show", "assoc_mgr").stdout
    group = ("    GrpJobs=4(1) GrpJobsAccrue=N(0) GrpSubmitJobs=N(1) GrpWall=N(0.00)\n"
             "    GrpTRES=cpu=40(2),gres/gpu=8(0)\n")
    assert text == (
        "Current Association Manager state\n\nUser Records\n\n"
        "UserName=nobody DefAccount=normal DefWckey=(null) AdminLevel=Operator\n"
        "UserName=root DefAccount=normal DefWckey=(null) AdminLevel=None\n\nAssociation Records\n\n"
        f"ClusterName={name} Account=team UserName= Partition= Priority=0 ID=1\n"
        "    SharesRaw/Norm/Level/Factor=5/0.00/0/0.00\n    ParentAccount=\n" + group + "    MaxWallPJ=120\n"
        f"ClusterName={name} Account=team UserName=root Partition= Priority=0 ID=1\n"
        "    SharesRaw/Norm/Level/Factor=5/0.00/0/0.00\n"
        "    MaxJobs=3 MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=\n    MaxTRESPU=\n\nQOS Records\n\n"
        "QOS=team(1)\n" + group + "    MaxWallPJ=120\n    MaxJobsPU=3 MaxSubmitJobsPU=\n    MaxTRESPU=\n    Priority=0\n")
    assert scontrol(cluster, "show", "assoc_mgr", "flags=users", "users=root").stdout == (
        "Current Association Manager state\n\nUser Records\n\n"
        "UserName=root DefAccount=normal DefWckey=(null) AdminLevel=None\n")
    for word in ("flags=x", "qoss=team", "team"):
        assert scontrol(cluster, "show", "assoc_mgr", word, check=False).returncode == 1
    cluster.run("scancel", job)


def test_sinfo_names_the_reservation_and_the_cluster(cluster):
    first, second = cluster.run("sinfo", "-hN", "-o", "%N").stdout.split()
    scontrol(cluster, "create", "reservationname=upkeep", "starttime=now", "duration=60", f"nodes={second}", "users=root",
             "flags=ignore_jobs")
    name = re.search(r"ClusterName *= (\S+)", scontrol(cluster, "show", "config").stdout)[1]
    assert cluster.run("sinfo", "-h", "-o", "%N|%i|%V").stdout == f"{first}||{name}\n{second}|upkeep|{name}\n"
    assert cluster.run("sinfo", "-hN", "-O", "NodeList:|,Reservation:10").stdout == (
        f"{first}|          \n{second}|upkeep    \n")
    header, *rows = cluster.run("sinfo", "-N", "-O", "All").stdout.splitlines()
    assert header.startswith("PARTITION|") and header.endswith("|CLUSTER|")
    assert {line.count("|") for line in (header, *rows)} == {header.count("|")}
    scontrol(cluster, "delete", "reservationname=upkeep")
    assert cluster.run("sinfo", "-h", "-o", "%N|%i").stdout.endswith("|\n")
