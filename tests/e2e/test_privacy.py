"""What is private (private: in the configuration): no command tells one user of another's jobs, names, use or nodes."""

import re

import pytest
from cluster import wait_for
from conftest import QUICK, needs_root, others_can_run

OTHER, VIEWER = "games", "nobody"
MARKS = (OTHER, "nameOfGames", "scriptOfGames", "commentOfGames")
CONFIG = QUICK + "private: [jobs, users, usage, nodes]\n"

ABOUT_ALL = """
gqueue
gqueue -t all
gqueue -u games
gqueue -s
gqueue --json
gqueue --start
gprio
gprio --json
ginfo
ginfo -N
ginfo -R
ginfo --json
ginfo -n n0
gcontrol show job
gcontrol show node
gcontrol show node n0
gcontrol show partition --effective
gcontrol show reservation
gcontrol show step
gcontrol show config
gcontrol show events
gcontrol show events node=n0
gcontrol show heldaside
gcontrol show audit
gcontrol show assoc_mgr
gcontrol show topology
gacct -a
gacct -a --json
gacct -u games -S now-1hour
gacct -n -P -a -o JobID,User,JobName,NodeList,Comment
greport
greport --by user
gshare
gshare -a
gacctmgr show user
gacctmgr show qos
gacctmgr show assoc
gdiag
gdiag --json
gcancel -p main
gcancel -u games
gcancel -n nameOfGames
qstat
qstat -u *
qhost
pbsnodes -a
"""
ABOUT_ONE = """
gqueue -j ID
gcontrol show job ID
gcontrol show job ID --history
gcontrol show step ID
gcontrol show events job=ID
gcontrol write batch_script ID
gcontrol wait_job ID
gcontrol notify ID hello
gcontrol hold ID
gcontrol update JobId=ID Comment=mine
gcontrol top ID
gangway why ID
gangway why ID --json
gangway quota explain ID normal
gangway quota explain ID
gprio -j ID
gacct -j ID
gacct -j ID --json
gacct efficiency ID
gacct -B -j ID
gstat -j ID
gcancel ID
gattach ID
gbatch -d afterok:ID --wrap true
gbatch -w nosuch --wrap true
gbatch --test-only -N2 --gpus-per-node=8 --wrap true
"""


@pytest.fixture
def cluster(make_cluster):
    cluster = make_cluster(nodes=2, topology="dgx-h100", config=CONFIG)
    others_can_run(cluster, VIEWER)
    return cluster


def hidden_job(cluster, seconds, *options):
    return cluster.submit(f"# scriptOfGames\nsleep {seconds}", "-J", "nameOfGames", "--comment", "commentOfGames", "-o", "/dev/null", "-N1",
                          "--gpus-per-node=8", "-t", "60", *options, user=OTHER)


def told(cluster, line, user=VIEWER):
    done = cluster.run(*line.split(), user=user, check=False)
    return done.stdout + done.stderr


@needs_root
def test_no_command_tells_of_somebody_else(cluster):
    ended = hidden_job(cluster, 0)
    cluster.wait_ended(ended)
    running = hidden_job(cluster, 600, "-w", "n1")
    cluster.wait_state(running, "RUNNING")
    waiting = hidden_job(cluster, 600, "-w", "n1")
    cluster.run("gcontrol", "create", "ReservationName=course", "StartTime=now+1hour", "Duration=60", "Nodes=n0", f"Users={OTHER}")
    cluster.run("gcontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=disk")
    cluster.run("gcontrol", "update", "NodeName=n1", "State=DRAIN", f"Reason=disk of {OTHER} nameOfGames")
    own = cluster.submit("true", "-N2", "--gpus-per-node=8", "-t", "60", user=VIEWER)
    lines = ABOUT_ALL.strip().split("\n")
    for job in (ended, running, waiting):
        lines += ABOUT_ONE.strip().replace("ID", str(job)).split("\n")
    lines += [line.replace("ID", str(own)) for line in ("gangway why ID", "gcontrol show job ID --history", "gqueue -j ID --json", "gprio -j ID")]
    for line in lines:
        said = line.split()
        text = told(cluster, line)
        for mark in MARKS:
            if any(mark in word for word in said):
                continue  # the viewer said it
            assert not re.search(rf"\b{mark}\b", text), (line, text)
        if str(own) not in said:
            assert not re.search(r"\bn1\b", text), (line, text)
    assert cluster.state(running) == "RUNNING", "nobody else ended it"
    there, nowhere = (told(cluster, f"gcontrol show node {name}") for name in ("n1", "n7"))
    assert there.replace("n1", "n7") == nowhere, "a node that is private is as one that is not there"


@needs_root
def test_what_is_left_out_is_counted(cluster):
    for seconds in (600, 601):
        hidden_job(cluster, seconds, "-w", "n1")
    own = cluster.submit("sleep 600", "-N1", "-w", "n0", "-t", "60", "-J", "mine", user=VIEWER)
    cluster.wait_state(own, "RUNNING")
    done = cluster.run("gqueue", user=VIEWER)
    assert len(done.stdout.splitlines()) == 2 and "mine" in done.stdout
    assert done.stderr == "gqueue: 2 jobs of others are private, and not shown\n"
    assert cluster.run("squeue", user=VIEWER).stderr == "", "Slurm's command says nothing of it"
    assert cluster.run("gqueue", "-u", OTHER, user=VIEWER).stderr == "", "how many he has is his own business"
    assert cluster.run("gacct", "-a", user=VIEWER).stderr == "gacct: 2 jobs of others are private, and not shown\n"
    assert cluster.run("gacct", "-a", "-u", OTHER, user=VIEWER).stderr == ""
    nodes = cluster.run("ginfo", "-N", user=VIEWER)
    assert "n0" in nodes.stdout and "n1" not in nodes.stdout, "where the own job runs is no secret"
    assert nodes.stderr == "ginfo: 1 node is private, and not shown\n"
    behind = cluster.submit("true", "-N1", "-w", "n1", "--gpus-per-node=8", "-t", "60", user=VIEWER)
    wait_for(lambda: "ahead of it" in told(cluster, f"gangway why {behind}"), "the scheduler's answer")
    why = told(cluster, f"gangway why {behind}")
    assert re.search(r"1 job of others is ahead of it", why), why
    assert "a job of somebody else" in why, why
    assert len(cluster.run("gqueue", "-h").stdout.splitlines()) == 4, "an administrator sees all"


@needs_root
def test_what_is_not_private_is_shown(cluster):
    job = hidden_job(cluster, 600, "-w", "n1")
    cluster.wait_state(job, "RUNNING")
    assert told(cluster, f"gqueue -h -j {job}").startswith("gqueue: error: Invalid job id specified")
    path = (cluster.dir / "run").resolve() / "gangway.yaml"
    path.write_text(path.read_text().replace("private: [jobs, users, usage, nodes]", "private: [usage]"))
    cluster.run("gcontrol", "reconfigure")
    assert "nameOfG" in told(cluster, "gqueue -h")
    assert "n1" in told(cluster, "ginfo -N")
    assert "private" in told(cluster, "greport"), "what others used is"
    assert "private" in cluster.run("gcontrol", "show", "audit").stdout, "who made less private has left a trace"
