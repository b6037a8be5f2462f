"""Records of jobs: there at once and whole, as sacct prints them, with what scripts and steps used."""

import json
import os
import pwd
import re

import pytest

from cluster import wait_for
from conftest import QUICK

UID = os.getuid()
USER = pwd.getpwuid(UID).pw_name


@pytest.fixture(scope="module")
def cluster(shared_cluster):
    return shared_cluster


def records(cluster, *options, fields="JobID,State,ExitCode"):
    out = cluster.run("gacct", "-nP", "-o", fields, *options).stdout
    return [line.split("|") for line in out.splitlines()]


def one(cluster, job, field, line=""):
    rows = records(cluster, "-j", job, fields=f"JobID,{field}")
    return dict(rows)[f"{job}{line}"]


def script(cluster, text, *options):
    done = cluster.run("gbatch", *options, input=f"#!/bin/bash\n{text}\n")
    return int(done.stdout.split()[-1])


def test_a_record_is_there_with_the_id(cluster):
    """A client that asks at once finds the job, and no field is missing."""
    for _ in range(20):
        job = script(cluster, "sleep 60", "-J", "at-once", "--comment", "c1")
        rows = records(cluster, "-j", job, "-X", fields="JobID,JobName,User,Comment,Submit,State")
        assert [row[:4] for row in rows] == [[str(job), "at-once", USER, "c1"]]
        assert re.match(r"\d{4}-", rows[0][4]) and rows[0][5] in ("PENDING", "RUNNING", "CONFIGURING")
        cluster.run("gcancel", job)


def test_of_an_ended_job_the_record_is_whole(cluster):
    """From the moment at which gqueue says that it has ended."""
    job = script(cluster, "grun -n1 true; exit 3")
    cluster.wait_state(job, "FAILED")
    rows = records(cluster, "-j", job)
    assert rows == [[str(job), "FAILED", "3:0"], [f"{job}.batch", "FAILED", "3:0"],
                    [f"{job}.extern", "COMPLETED", "0:0"], [f"{job}.0", "COMPLETED", "0:0"]]
    for field in ("Start", "End", "Elapsed", "NodeList", "AllocTRES"):
        assert one(cluster, job, field) not in ("", "Unknown", "None assigned"), field


def test_states_and_exit_codes(cluster):
    cancelled = script(cluster, "sleep 100")
    limited = script(cluster, "trap '' TERM; sleep 100", "-t", "0:02")
    waits = script(cluster, "true", "--hold")
    cluster.wait_state(cancelled, "RUNNING")
    cluster.run("gcancel", cancelled, waits)
    cluster.wait_state(cancelled, "CANCELLED")
    assert records(cluster, "-j", cancelled)[:2] == [[str(cancelled), f"CANCELLED by {UID}", "0:0"],
                                                     [f"{cancelled}.batch", "CANCELLED", "0:15"]]
    rows = records(cluster, "-j", waits, fields="JobID,State,Start,NodeList,Elapsed,AllocCPUS")
    assert rows == [[str(waits), f"CANCELLED by {UID}", "None", "None assigned", "00:00:00", "0"]]
    cluster.run("gcancel", limited)


def test_what_was_used(cluster):
    job = script(cluster, "x=$(head -c 40000000 /dev/zero | tr '\\0' x)\n"
                          "grun -n2 bash -c 'i=0; while ((i < 60000)); do ((i++)); done'")
    cluster.wait_state(job, "COMPLETED")
    kib = int(one(cluster, job, "MaxRSS", ".batch").rstrip("K")) if "K" in one(cluster, job, "MaxRSS", ".batch") else None
    assert kib is None or kib > 40_000
    assert one(cluster, job, "NTasks", ".0") == "2"
    minutes, seconds = one(cluster, job, "TotalCPU", ".0").split(":")
    assert float(seconds) > 0 or minutes != "00"
    total = one(cluster, job, "TotalCPU")
    assert total >= one(cluster, job, "TotalCPU", ".0"), "a job has what its script and steps have together"
    text = cluster.run("gacct", "efficiency", job).stdout
    assert re.search(r"^CPU Efficiency: \d+\.\d\d% of ", text, re.M), text
    assert re.search(r"^Memory Utilized: ", text, re.M), text
    assert cluster.run("seff", job).stdout == text and cluster.run("seff", job, "any-cluster").stdout == text
    assert cluster.run("seff", check=False).returncode == 1
    told = cluster.json("gacct", "--json", "efficiency", job)["jobs"][0]
    assert told["is_measured"] and told["peak_memory"] > 40_000_000


def test_a_requeued_run_is_kept(cluster):
    job = script(cluster, "sleep 100", "--requeue")
    cluster.wait_state(job, "RUNNING")
    cluster.run("gcontrol", "requeue", job)
    wait_for(lambda: len(records(cluster, "-D", "-X", "-j", job)) == 2, "the record of the first run")
    rows = records(cluster, "-D", "-X", "-j", job, fields="JobID,State,End")
    assert rows[0][1] == "REQUEUED" and rows[0][2] != "Unknown"
    assert len(records(cluster, "-X", "-j", job)) == 1
    cluster.run("gcancel", job)


def test_a_job_that_has_ended_is_requeued_and_each_run_is_kept(cluster):
    flag = cluster.work / "second"
    job = script(cluster, f"echo $SLURM_RESTART_COUNT; [ -e {flag} ] || exit 5", "-o", f"{cluster.work}/revived.out")
    cluster.wait_state(job, "FAILED")
    flag.touch()
    cluster.run("scontrol", "requeue", job)
    cluster.wait_state(job, "COMPLETED")
    assert (cluster.work / "revived.out").read_text() == "1\n", "written anew, as by any requeue"
    assert records(cluster, "-X", "-j", job) == [[str(job), "COMPLETED", "0:0"]]
    assert records(cluster, "-D", "-X", "-j", job) == [[str(job), "FAILED", "5:0"], [str(job), "COMPLETED", "0:0"]]
    assert "Restarts=1" in cluster.reason_text(job)
    cluster.run("gcontrol", "requeuehold", job)
    assert cluster.state(job) == "PENDING" and "JobHeldUser" in cluster.show(job, "%R")
    cluster.kill("gctld")
    cluster.start("gctld")
    assert cluster.state(job) == "PENDING"
    cluster.run("gcontrol", "release", job)
    cluster.wait_state(job, "COMPLETED")
    assert len(records(cluster, "-D", "-X", "-j", job)) == 3
    cluster.run("gcontrol", "requeuehold", job)
    cluster.run("gcancel", job)
    rows = records(cluster, "-D", "-X", "-j", job)
    assert [row[1].split()[0] for row in rows] == ["FAILED", "COMPLETED", "COMPLETED", "CANCELLED"], "nothing is lost"
    once = script(cluster, "exit 1", "--no-requeue")
    cluster.wait_state(once, "FAILED")
    done = cluster.run("gcontrol", "requeue", once, check=False)
    assert done.returncode == 1 and "--no-requeue" in done.stderr


def test_records_outlive_the_queue_and_a_crash(cluster):
    job = script(cluster, "grun true", "-J", "outlives")
    cluster.wait_state(job, "COMPLETED")
    before = cluster.run("gacct", "-P", "-j", job, "-o", "JobID,State,TotalCPU,Start,End,MaxRSS").stdout
    cluster.kill("gctld")
    cluster.start("gctld")
    assert cluster.run("gacct", "-P", "-j", job, "-o", "JobID,State,TotalCPU,Start,End,MaxRSS").stdout == before


def test_what_the_owner_says_of_a_job_after_its_end(cluster):
    job = script(cluster, "grun -n1 sh -c 'exit 2'; exit 0")
    cluster.wait_state(job, "COMPLETED")
    said = lambda: records(cluster, "-X", "-j", job, fields="DerivedExitCode,Comment,ExitCode,State")
    assert said() == [["2:0", "", "0:0", "COMPLETED"]]
    change = ["modify", "job", "where", f"jobid={job}", "set", "DerivedExitCode=9:15", "Comment=lost a disk"]
    assert cluster.run("sacctmgr", "--dry-run", *change).stdout == f" Would modify jobs...\n  {job}\n"
    assert said()[0][0] == "2:0"
    assert cluster.run("sacctmgr", "-i", *change).stdout == f" Modified jobs...\n  {job}\n"
    assert said() == [["9:15", "lost a disk", "0:0", "COMPLETED"]]
    cluster.kill("gctld")
    cluster.start("gctld")
    assert said() == [["9:15", "lost a disk", "0:0", "COMPLETED"]]


def test_what_the_owner_says_of_a_job_that_the_controller_has_forgotten(make_cluster):
    cluster = make_cluster(nodes=1, config=QUICK.replace("kill_wait: 2s", "kill_wait: 2s, min_job_age: 1s"))
    job = script(cluster, "exit 0", "--array=1-3")
    wait_for(lambda: cluster.run("gqueue", "-h", "-t", "all").stdout == "", "all are forgotten")
    cluster.run("gacctmgr", "modify", "job", f"jobid={job}_2", "set", "derivedexitcode=4", "comment=the second")
    rows = records(cluster, "-X", "-j", job, fields="JobID,DerivedExitCode,Comment,State")
    assert rows == [[f"{job}_1", "0:0", "", "COMPLETED"], [f"{job}_2", "4:0", "the second", "COMPLETED"],
                    [f"{job}_3", "0:0", "", "COMPLETED"]]


def test_of_what_cannot_be_said_of_a_job(cluster):
    job = script(cluster, "sleep 60")

    def refused(*words):
        done = cluster.run("gacctmgr", "modify", "job", *words, check=False)
        assert done.returncode == 1 and done.stdout == ""
        return done.stderr

    assert "has not ended" in refused(f"jobid={job}", "set", "comment=x")
    assert "has not ended" in cluster.run("gacctmgr", "--dry-run", "modify", "job", f"jobid={job}", "set", "comment=x", check=False).stderr
    cluster.run("gcancel", job)
    assert "this is cluster" in refused(f"jobid={job}", "cluster=other", "set", "comment=x")
    assert "Invalid job id specified: 4000000" in refused("jobid=4000000", "set", "comment=x")
    assert "Invalid job id" in refused("where", "jobid=x", "set", "comment=x")
    assert "which one?" in refused("set", "comment=x")
    assert "No changes specified" in refused(f"jobid={job}", "set")
    assert "DerivedExitCode" in refused(f"jobid={job}", "set", "derivedexitcode=256")
    assert "did you mean" in refused(f"jobid={job}", "set", "coment=x")
    assert "does not say which job" in refused("user=root", "set", "comment=x")


def test_filters(cluster):
    job = script(cluster, "exit 4", "-J", "filtered", "--wckey", "w7")
    cluster.wait_state(job, "FAILED")
    def found(*options):
        return [str(job)] in records(cluster, "-X", *options, fields="JobID")
    assert found("--name", "filtered") and not found("--name", "other")
    assert found("-s", "F", "-S", "now-1hour") and not found("-s", "CD", "-S", "now-1hour")
    assert found("-W", "w7") and not found("-W", "w8")
    assert found("-u", USER) and not found("-u", "nobody-of-that-name")
    assert found("-N", one(cluster, job, "NodeList"))
    assert found("-S", "now-2days", "-E", "now") and not found("-S", "now-2days", "-E", "now-1day")
    assert found("-i", "1-4") and not found("-i", "99")
    assert found("-c") and found("-F", "SchedBackfill") and not found("-F", "SchedMain") and not found("-C", "ib")
    assert records(cluster, "-j", 999999) == []
    assert records(cluster, "-j", f"{job}.batch", fields="JobID") == [[f"{job}.batch"]]


def test_forms(cluster):
    job = script(cluster, "true", "-J", "forms")
    cluster.wait_state(job, "COMPLETED")
    table = cluster.run("gacct", "-j", job).stdout.splitlines()
    assert table[0] == "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode "
    assert table[1] == "------------ ---------- ---------- ---------- ---------- ---------- -------- "
    assert cluster.run("gacct", "-j", job, "-X", "-p", "-o", "jobid,state").stdout == f"JobID|State|\n{job}|COMPLETED|\n"
    assert cluster.run("gacct", "-j", job, "-XnP", "--delimiter", ";;", "-o", "jobid,state").stdout == f"{job};;COMPLETED\n"
    told = cluster.json("gacct", "--json", "-j", job)["jobs"][0]
    assert told["job_id"] == job and told["steps"][0]["step"]["name"] == "batch"
    seconds = cluster.run("env", "SLURM_TIME_FORMAT=%s", "gacct", "-j", job, "-XnP", "-o", "Start").stdout.strip()
    assert seconds.isdigit() and int(seconds) == told["time"]["start"]
    assert cluster.run("gacct", "-j", job, "-XnP", env={"SACCT_FORMAT": "jobname"}).stdout == "forms\n"


@pytest.mark.parametrize("options,text", [
    (["-o", "JobID,Stae"], 'Invalid field requested: "Stae" (did you mean "State"?)'),
    (["-j", "abc"], "Invalid job id"),
    (["-S", "yesterdy"], "yesterdy"),
    (["-s", "RUNING"], "RUNING"),
    (["-S", "now", "-E", "now-1day"], "is before"),
    (["--units", "X"], "no unit"),
    (["7"], "job ids go with -j"),
    (["efficiency"], "no job is named"),
    (["efficiency", "999999"], "Invalid job id specified: 999999"),
])
def test_bad_input(cluster, options, text):
    done = cluster.run("gacct", *options, check=False)
    assert done.returncode == 1 and text in done.stderr, done


def test_a_closed_pipe_is_no_crash(cluster):
    done = cluster.run("sh", "-c", "gacct --json -a -S now-1day | head -c 1; exit 0")
    assert "Traceback" not in done.stderr and "terminate" not in done.stderr


def test_a_thousand_come_in_pieces(cluster):
    """More than one page of the database, each job once."""
    ids = [script(cluster, "true", "--hold", "-J", "many") for _ in range(5)]
    parts = " : ".join(["--hold -J many -n1"] * 100).split()
    for _ in range(7):  # components are jobs
        script(cluster, "true", *parts)
    rows = records(cluster, "-X", "--name", "many", fields="JobID")
    assert len(rows) == 705 and len({row[0] for row in rows}) == 705
    cluster.run("gcancel", "--name", "many")
    rows = records(cluster, "-X", "--name", "many", "-s", "CA", "-S", "now-1hour", fields="JobID")
    assert len(rows) == 705
    assert str(ids[0]) in {row[0] for row in rows}


def test_reports_add_up_what_jobs_had(cluster):
    """By account and user; only of the time asked for; of requeued jobs every attempt; while a job runs already."""
    job = script(cluster, "sleep 100", "-J", "reported", "--cpus-per-task=2", "--requeue")
    cluster.wait_state(job, "RUNNING")
    account = one(cluster, job, "Account")
    def sums(*options):
        return cluster.json("greport", "--json", *options)["sums"]
    mine = [s for s in sums("--by=account,user", "-S", "now-1hour") if s["user"] == USER and s["account"] == account]
    assert len(mine) == 1 and mine[0]["cpu_ms"] > 0 and mine[0]["jobs"] >= 1
    wait_for(lambda: sums("--by=user", "-u", USER)[0]["cpu_ms"] > mine[0]["cpu_ms"], "a job that runs counts on")
    cluster.run("gcontrol", "requeue", job)
    wait_for(lambda: len(records(cluster, "-D", "-X", "-j", job)) == 2, "the record of the first attempt")
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")
    after = sums("--by=user", "-u", USER)[0]
    assert after["cpu_ms"] >= mine[0]["cpu_ms"], "the attempt before the requeue is kept"
    assert sums("-u", USER, "-S", "now-3days", "-E", "now-2days") == []
    assert sums("-u", "nobody-of-that-name") == []


def test_what_qos_borrowed_and_lent(make_cluster):
    cluster = make_cluster(nodes=1, config=QUICK + "qos: [{name: normal}, {name: a, guaranteed: {gpu: 2}}, {name: b, guaranteed: {gpu: 6}}]\n")
    job = script(cluster, "sleep 3", "-q", "a", "--gres=gpu:4", "--mem=1G")
    cluster.wait_state(job, "COMPLETED")
    rows = [line.split("|") for line in cluster.run("greport", "-P", "-t", "seconds", "lending", "start=now-1hour").stdout.splitlines()]
    assert rows[0] == ["QOS", "GUARANTEED", "HELD", "BORROWED", "LENT", "UNUSED", "GPU_IDLE"]
    sums = {row[0]: [float(value) for value in row[1:]] for row in rows[1:]}
    assert set(sums) == {"a", "b", "normal"} and 7100 < sums["a"][0] < 7300
    guaranteed, held, borrowed, lent, unused, _ = sums["a"]
    ran = int(one(cluster, job, "ElapsedRaw"))
    assert abs(held - 4 * ran) < 12 and held > 8 and abs(borrowed - held / 2) < 0.1 and lent == 0
    assert abs(guaranteed - (held - borrowed) - unused) < 0.1
    assert abs(sums["b"][3] - borrowed) < 0.1 and sums["b"][1] == 0
    told = json.loads(cluster.run("greport", "--json", "lending").stdout)["lending"]
    assert [one["qos"] for one in told] == ["a", "b", "normal"]
    for words in (["lending", "users=x"], ["--by=user", "lending"], ["lending", "start=yesteryear"]):
        done = cluster.run("greport", *words, check=False)
        assert done.returncode == 1 and done.stdout == "", done


def test_reports_of_sreport(cluster):
    job = script(cluster, "sleep 2")
    cluster.wait_state(job, "COMPLETED")
    account = one(cluster, job, "Account")
    options = ("-n", "-P", "-t", "Seconds", "cluster", "AccountUtilizationByUser", "start=now-1hour", "end=now")
    rows = [line.split("|") for line in cluster.run("greport", *options).stdout.splitlines()]
    total = next(row for row in rows if row[1:3] == ["root", ""])
    mine = next(row for row in rows if row[1:3] == [account, USER])
    assert 1 <= int(mine[4]) <= int(total[4])
    text = cluster.run("greport", "user", "top", "-T", "gres/gpu", "start=now-1hour", "end=now").stdout
    assert "Usage reported in TRES Minutes" in text and "gres/gpu" in text
    for words in (("cluster", "Utilization"), ("--by=colour",), ("-S", "now", "-E", "now-1hour"), ("-t", "Percent")):
        done = cluster.run("greport", *words, check=False)
        assert done.returncode == 1 and done.stderr.startswith("greport: error: "), done.stderr


def test_reports_as_tables(cluster):
    job = script(cluster, "true")
    cluster.wait_state(job, "COMPLETED")
    lines = cluster.run("greport", "--by=user,state").stdout.splitlines()
    assert lines[0].split() == ["USER", "STATE", "GPU_HOURS", "CPU_HOURS", "MEM_GIB_HOURS", "GPU_IDLE", "CPU_USED",
                                "JOBS", "MEAN_WAIT"]
    assert any(line.split()[:2] == [USER, "COMPLETED"] for line in lines[2:])
    cluster.wait_state(script(cluster, "sleep 1", "--gpus=2"), "COMPLETED")
    by_gpu = {line[0]: line for line in (row.split("|") for row in cluster.run("greport", "-nP", "--by=gpu", "-t", "sec").stdout.splitlines())}
    assert float(by_gpu["h100"][1]) >= 1 and float(by_gpu["-"][1]) == 0, by_gpu
    csv = cluster.run("greport", "--by=day", "--csv").stdout
    assert csv.splitlines()[0] == "DAY,GPU_HOURS,CPU_HOURS,MEM_GIB_HOURS,GPU_IDLE,CPU_USED,JOBS,MEAN_WAIT"


SACCT_FIELDS = "JobID,User,QOS,Account,Partition,Submit,Eligible,Start,End,Elapsed,Timelimit,NNodes,AllocCPUS,ReqMem,AllocTRES"


def test_records_are_replayed(cluster, tmp_path):
    """As a trace of one's own, and as sacct prints them: both give the simulator the same jobs."""
    waits = script(cluster, "true", "--hold", "-J", "replayed")
    jobs = [script(cluster, "sleep 1", "-J", "replayed", "-t", "5", f"--gpus={gpus}") for gpus in (0, 2)]
    for job in jobs:
        cluster.wait_state(job, "COMPLETED")
    nodes = tmp_path / "cluster.yaml"
    nodes.write_text("nodes: [{name: n0, gpus: 8, cpus: 64, memory: 512G}]\npartitions: [{name: main, nodes: n0}]\n")
    options = ("-S", "now-1hour", "--name", "replayed")
    done = cluster.run("gacct", *options, "trace")
    assert "1 jobs that never ran" in done.stderr
    rows = [line.split(",") for line in done.stdout.splitlines()]
    assert rows[0][:4] == ["job_id", "submit_s", "duration_s", "gpus"] and [row[3] for row in rows[1:]] == ["0", "2"]
    assert all(float(row[2]) > 0 for row in rows[1:]) and float(rows[1][1]) == 0
    trace, printed = tmp_path / "trace.csv", tmp_path / "sacct.txt"
    trace.write_text(done.stdout)
    printed.write_text(cluster.run("sacct", "-aXP", *options, "-o", SACCT_FIELDS).stdout)
    told = [cluster.json("gangway", "simulate", "--json", "--cluster", nodes, "--trace", file, "--trace-format", form)
            for file, form in ((trace, "gangway"), (printed, "sacct"))]
    assert [one["summary"]["jobs"] for one in told] == [2, 2]
    cluster.run("gcancel", waits)


def test_the_worst_step_is_told(cluster):
    job = script(cluster, "grun -n1 sh -c 'exit 5'; true")
    cluster.wait_state(job, "COMPLETED")
    assert "DerivedExitCode=5:0" in cluster.run("scontrol", "show", "job", "-d", job).stdout
    assert one(cluster, job, "DerivedExitCode") == "5:0"
