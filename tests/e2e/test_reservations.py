"""Advance reservations and heterogeneous jobs, from the commands to the processes."""

import json

import pytest
from cluster import wait_for
from conftest import needs_root

ALICE = "daemon"  # An ordinary user that every Debian has.


@pytest.fixture
def cluster(shared_cluster):
    yield shared_cluster
    shared_cluster.run("gcancel", "-R", "course,repair", check=False)
    for name in ("course", "repair"):
        wait_for(lambda n=name: gone(shared_cluster, n), f"the end of reservation {name}")


def gone(cluster, name):
    done = cluster.run("gcontrol", "delete", f"ReservationName={name}", check=False)
    return done.returncode == 0 or "does not exist" in done.stderr


def create(cluster, *words, check=True):
    return cluster.run("gcontrol", "create", "reservation", *words, check=check)


@needs_root
def test_a_reservation_keeps_a_node_for_its_user(cluster):
    done = create(cluster, "ReservationName=course", "StartTime=now", "Duration=60", "Nodes=n0", f"Users={ALICE}")
    assert done.stdout == "Reservation created: course\n"
    outsider = cluster.submit("exit 0", "-w", "n0")
    wait_for(lambda: "planned starts" in cluster.reason_text(outsider), "the reason why it waits")
    inside = cluster.submit("echo $SLURM_JOB_RESERVATION on $SLURM_JOB_NODELIST", "--reservation=course", "-t", "5",
                            user=ALICE)
    cluster.wait_state(inside, "COMPLETED")
    assert (cluster.work / f"gangway-{inside}.out").read_text() == "course on n0\n"
    denied = cluster.run("gbatch", "--reservation=course", "-t", "5", "--wrap", "exit 0", check=False)
    assert denied.returncode != 0 and "may not use reservation course" in denied.stderr
    assert "resv" in cluster.run("ginfo", "-h", "-N", "-n", "n0", "-o", "%t").stdout
    assert cluster.run("ginfo", "-T", "-h").stdout.split()[:2] == ["course", "ACTIVE"]
    shown = json.loads(cluster.run("gcontrol", "show", "reservation", "course", "--json").stdout)
    assert shown["reservations"][0]["users"] == [ALICE] and shown["reservations"][0]["gpu_count"] == 8
    assert cluster.run("gqueue", "-h", "-R", "course", "-t", "all", "-o", "%i").stdout.split() == [str(inside)]
    cluster.run("gcontrol", "delete", "ReservationName=course")
    cluster.wait_state(outsider, "COMPLETED")


def test_nobody_runs_during_maintenance(cluster):
    create(cluster, "ReservationName=repair", "StartTime=now+30minutes", "Duration=1:00:00", "NodeCnt=2",
           "Flags=MAINT,WEEKLY")
    before = cluster.submit("exit 0", "-N2", "-t", "20")
    over = cluster.submit("exit 0", "-t", "40")
    cluster.wait_state(before, "COMPLETED")
    assert cluster.state(over) == "PENDING"
    text = cluster.run("gcontrol", "show", "reservation").stdout
    assert "Flags=MAINT,WEEKLY" in text and "State=INACTIVE" in text and "Nodes=n[0-1]" in text
    cluster.run("gcontrol", "update", "ReservationName=repair", "StartTime=now+2hours")
    cluster.wait_state(over, "COMPLETED")


@pytest.mark.parametrize("words, error", [
    (["Nodes=n0", "Duration=10"], "nobody may use the reservation"),
    (["Nodes=n0", "Duration=10", "Users=root", "Flags=MAINT"], "lets nobody in, but it names users"),
    (["Duration=10", "Users=root"], "a reservation needs nodes"),
    (["Nodes=n0", "Users=root"], "a reservation needs an end"),
    (["Nodes=n0", "NodeCnt=1", "Duration=10", "Users=root"], "Nodes and NodeCnt say the same"),
    (["Nodes=n7", "Duration=10", "Users=root"], "Invalid node name specified: n7"),
    (["Nodes=n0", "Duration=10", "Users=nosuchuser"], "Invalid user name specified: nosuchuser"),
    (["Nodes=n0", "Duration=10", "Flags=DAYLY"], 'did you mean "DAILY"'),
    (["Nodes=n0", "Duratoin=10"], 'did you mean "duration"'),
    (["NodeCnt=3", "Duration=10", "Users=root"], "3 nodes asked, 2 can be reserved"),
    (["Nodes=n0", "StartTime=gestern", "Duration=10", "Users=root"], "StartTime"),
])
def test_a_bad_reservation_is_refused(cluster, words, error):
    done = create(cluster, "ReservationName=course", *words, check=False)
    assert done.returncode == 1 and error in done.stderr and done.stdout == "", done.stderr
    assert "No reservations" in cluster.run("gcontrol", "show", "reservation").stdout


def test_components_start_together_and_see_each_other(cluster):
    job = cluster.submit("env | grep -E '^SLURM_(HET_SIZE|JOB_NODELIST|JOB_GPUS|.*_HET_GROUP_)' | sort",
                         "-N1", "--gpus-per-node=2", ":", "-N1", "-n3", "--gpus-per-node=8")
    cluster.wait_state(job, "COMPLETED")
    assert cluster.show(job + 1) == "COMPLETED"
    env = dict(line.split("=", 1) for line in (cluster.work / f"gangway-{job}.out").read_text().splitlines())
    assert env["SLURM_HET_SIZE"] == "2" and env["SLURM_NTASKS_HET_GROUP_1"] == "3"
    assert {env["SLURM_JOB_NODELIST_HET_GROUP_0"], env["SLURM_JOB_NODELIST_HET_GROUP_1"]} == {"n0", "n1"}
    assert env["SLURM_JOB_NODELIST_HET_GROUP_0"] == env["SLURM_JOB_NODELIST"]
    assert env["SLURM_JOB_ID_HET_GROUP_1"] == str(job + 1)
    assert not (cluster.work / f"gangway-{job + 1}.out").exists()
    assert cluster.show(f"{job}+1", "%i") == f"{job}+1"
    listed = cluster.run("gqueue", "-h", "-t", "all", "-j", job, "-o", "%i").stdout.split()
    assert sorted(listed) == [f"{job}+0", f"{job}+1"]
    shown = cluster.run("gcontrol", "show", "job", job).stdout
    assert [line for line in shown.splitlines() if "StdOut=" in line] == [f"   StdOut={cluster.work}/gangway-{job}.out"] * 2


def test_cancel_of_a_component_ends_all(cluster):
    job = cluster.submit("sleep 1000", "-N1", ":", "-N1", "-n2")
    cluster.wait_state(job, "RUNNING")
    cluster.wait_state(job + 1, "RUNNING")
    cluster.run("gcancel", f"{job}+1")
    cluster.wait_state(job, "CANCELLED")
    cluster.wait_state(job + 1, "CANCELLED")
