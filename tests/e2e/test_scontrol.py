"""What scontrol and sinfo show beside jobs and nodes: processes, sentences of errors, limits in use, reservations."""

import json
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
    free = "    GrpJobs=N(0) GrpJobsAccrue=N(0) GrpSubmitJobs=N(0) GrpWall=N(0.00)\n    GrpTRES=\n"
    assert text == (
        "Current Association Manager state\n\nUser Records\n\n"
        "UserName=nobody DefAccount=normal DefWckey=(null) AdminLevel=None\n"
        "UserName=root DefAccount=normal DefWckey=(null) AdminLevel=Administrator\n\nAssociation Records\n\n"
        f"ClusterName={name} Account=team UserName= Partition= Priority=0 ID=1\n"
        "    SharesRaw/Norm/Level/Factor=5/0.00/0/0.00\n    ParentAccount=root\n" + group + "    MaxWallPJ=120\n"
        f"ClusterName={name} Account=team UserName=root Partition= Priority=0 ID=2\n"
        "    SharesRaw/Norm/Level/Factor=5/0.00/0/0.00\n"
        "    MaxJobs=3 MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=\n    MaxTRESPU=\n"
        f"ClusterName={name} Account=normal UserName= Partition= Priority=0 ID=3\n"
        "    SharesRaw/Norm/Level/Factor=1/0.00/0/0.00\n    ParentAccount=root\n" + free + "    MaxWallPJ=\n\nQOS Records\n\n"
        "QOS=team(1)\n" + group + "    MaxWallPJ=120\n    MaxJobsPU=3 MaxSubmitJobsPU=\n    MaxTRESPU=\n    Priority=0\n"
        "QOS=normal(2)\n" + free + "    MaxWallPJ=\n    MaxJobsPU= MaxSubmitJobsPU=\n    MaxTRESPU=\n    Priority=0\n")
    assert scontrol(cluster, "show", "assoc_mgr", "flags=users", "users=root").stdout == (
        "Current Association Manager state\n\nUser Records\n\n"
        "UserName=root DefAccount=normal DefWckey=(null) AdminLevel=Administrator\n")
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


def test_partitions_come_in_the_order_of_the_configuration():
    one = Cluster(nodes=1, config="partitions:\n  - {name: zeta, nodes: ALL, default: true, unlimited: true}\n"
                                  "  - {name: alpha, nodes: ALL, unlimited: true}\n  - {name: mid, nodes: ALL, unlimited: true}\n")
    try:
        one.up()
        scontrol(one, "create", "partitionname=beta", "nodes=ALL")
        assert one.run("sinfo", "-h", "-o", "%P").stdout.split() == ["zeta*", "alpha", "mid", "beta"]
        shown = re.findall(r"PartitionName=(\S+)", scontrol(one, "show", "partition").stdout)
        assert shown == ["zeta", "alpha", "mid", "beta"]
        assert one.run("sinfo", "-h", "-p", "mid,alpha", "-o", "%R").stdout.split() == ["alpha", "mid"]
    finally:
        one.down()


def test_a_job_cancelled_while_it_waits_started_when_it_ended(cluster):
    for options in (["-H"], ["-b", "now+1hour"]):
        job = cluster.run("sbatch", "--parsable", *options, "--wrap", "true").stdout.strip()
        cluster.run("scancel", job)
        cluster.wait_ended(job)
        start, end = cluster.run("squeue", "-h", "-tall", "-j", job, "-o", "%S %e").stdout.split()
        assert start == end != "N/A"
        record = scontrol(cluster, "show", "job", job).stdout
        assert f"StartTime={start} EndTime={end} " in record
        assert cluster.run("sacct", "-nXP", "-j", job, "-o", "Start").stdout == "None\n"


def test_forms_of_what_a_job_asks_for(cluster):
    nodes = cluster.run("sinfo", "-h", "-o", "%N").stdout.strip()
    for memory, text in (("4000", "4000M"), ("2G", "2G"), ("1025", "1025M"), ("3072", "3G")):
        job = cluster.run("sbatch", "--parsable", "-H", f"--mem={memory}", "-N2", "-w", nodes, "--wrap", "true").stdout.strip()
        assert cluster.run("squeue", "-h", "-j", job, "-o", "%m|%n|%-8i|%.4i").stdout == (
            f"{text}|{nodes}|{job:<8}|{job:>4}\n")
        record = scontrol(cluster, "show", "job", job).stdout
        assert f"MinMemoryNode={text} " in record and f"ReqNodeList={nodes} ExcNodeList=(null)" in record
        cluster.run("scancel", job)


def test_a_range_of_nodes_and_a_begin_are_shown_while_a_job_waits(cluster):
    job = cluster.run("sbatch", "--parsable", "-b", "2030-01-02T03:04:05", "-N1-2", "--wrap", "true").stdout.strip()
    record = scontrol(cluster, "show", "job", job).stdout
    assert " EligibleTime=2030-01-02T03:04:05\n" in record and "   NumNodes=1-2 NumCPUs=" in record
    cluster.run("scancel", job)


def test_versions_of_nodes_are_those_of_the_commands(cluster):
    assert cluster.run("sinfo", "-h", "-o", "%v").stdout == "23.11.4\n"
    assert cluster.run("ginfo", "-h", "-o", "%v").stdout != "23.11.4\n"


def test_srun_puts_the_users_name_into_names_of_files(cluster, tmp_path):
    user = cluster.run("id", "-un").stdout.strip()
    cluster.run("env", "-u", "USER", cluster.bin / "grun", "-o", f"{tmp_path}/of-%u", "echo", "here")
    assert (tmp_path / f"of-{user}").read_text() == "here\n"


def test_top_puts_a_job_before_the_others_of_its_user_alone(cluster):
    blocker = cluster.run("sbatch", "--parsable", "-N2", "--exclusive", "--wrap", "sleep 1000").stdout.strip()
    cluster.wait_state(int(blocker), "RUNNING")

    def waiting(*options, user="nobody"):
        job = cluster.run("sbatch", "--parsable", "-N2", "--exclusive", *options, "--wrap", "true", user=user).stdout.strip()
        wait_for(lambda: cluster.show(job, "%r") in ("Resources", "Priority"), "a place in line")
        return job

    def order():
        rows = {row["job_id"]: (-row["score"], row["job_id"]) for row in json.loads(cluster.run("gprio", "--json").stdout)["jobs"]}
        return [str(job) for job in sorted(rows, key=rows.get)]

    first, second = waiting(), waiting("--nice=3")
    other = waiting(user=None)
    last = waiting("--nice=500")
    done = scontrol(cluster, "top", last, user="nobody", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert order() == [other, last, first, second]
    assert cluster.show(other, "%y") == "0" and cluster.show(last, "%y") == "500", "nobody gains by it"
    scontrol(cluster, "top", f"{second},{first}", user="nobody")
    assert order() == [other, second, first, last]
    array = waiting("--array=0-3")
    scontrol(cluster, "update", f"JobId={array}", "Nice=-2")
    scontrol(cluster, "top", second, user="nobody")
    assert order()[1] == second and {cluster.show(f"{array}_{i}", "%y") for i in range(4)} == {"502"}, "an array as a whole"
    assert "is of an array" in scontrol(cluster, "top", f"{array}_2", check=False).stderr
    cluster.run("scancel", array)
    scontrol(cluster, "update", f"JobId={last}", "Priority=5000000")
    assert f"job {last} stays before job {first}" in scontrol(cluster, "top", first, check=False).stderr
    for words, text in ((("x",), "Invalid job id"), ((), "expected JOB_IDS"), ((blocker,), "does not wait for resources")):
        done = scontrol(cluster, "top", *words, check=False)
        assert done.returncode == 1 and text in done.stderr, words
    cluster.run("scancel", blocker, first, second, other, last)
    cluster.wait_idle()
