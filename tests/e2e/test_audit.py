"""The audit: who did what to what is not his own, what was refused to whom; and how much is logged."""

import json
import re
import signal

import pytest
from cluster import wait_for
from conftest import QUICK, needs_root, others_can_run

USER = "nobody"


@pytest.fixture
def cluster(make_cluster):
    cluster = make_cluster(nodes=2, topology="dgx-h100", config=QUICK)
    others_can_run(cluster, USER)
    return cluster


def audit(cluster, *words):
    return json.loads(cluster.run("gcontrol", "--json", "show", "audit", *words).stdout)["audit"]


@needs_root
def test_deeds_and_refusals_are_kept(cluster):
    job = cluster.submit("sleep 600", "-t", "60", user=USER)
    cluster.run("gcontrol", "update", f"JobId={job}", "TimeLimit=30", "Comment=mine", user=USER)
    cluster.run("gcontrol", "update", f"JobId={job}", "TimeLimit=90")
    cluster.run("gcontrol", "update", "NodeName=n[0-1]", "State=DRAIN", "Reason=fan broken")
    for line in ("update NodeName=n0 State=RESUME", "reconfigure", "show audit"):
        assert cluster.run("gcontrol", *line.split(), user=USER, check=False).returncode == 1
    own = cluster.submit("true", "--hold", "-t", "60")
    assert "access denied" in cluster.run("gcancel", own, user=USER, check=False).stderr
    cluster.run("gcancel", job)
    told = [(r["user"], r["kind"], r["object"], r["text"], r["refused"]) for r in audit(cluster)]
    assert told[0][:2] == (None, "controller started") and "retention.audit: 400d" in told[0][3]
    assert told[1:] == [
        ("root", "updated", f"job {job} of {USER}", "TimeLimit 00:30:00 -> 01:30:00 by root", False),
        ("root", "drained", "node n0, node n1", "by root: fan broken", False),
        (USER, "update_node", "", "permission denied", True),
        (USER, "reconfigure", "", "permission denied", True),
        (USER, "list_audit", "", "permission denied", True),
        (USER, "cancel", "", f"access denied to job {own}: it belongs to root", True),
        ("root", "cancelled", f"job {job} of {USER}", "by root", False),
    ], "what a user does to his own jobs is his own business"
    assert len(audit(cluster, f"user={USER}")) == 4 and len(audit(cluster, "last=2")) == 2
    assert audit(cluster, "end=2020-01-01") == [] and len(audit(cluster, "start=2020-01-01")) == len(told)
    text = cluster.run("gcontrol", "show", "audit").stdout
    assert re.search(r"(?m)^TIME +USER +WHAT +TEXT$", text), text
    assert re.search(rf"(?m)^\S+ +{USER} +update_node +REFUSED +permission denied$", text), text
    for words, what in ((["usr=x"], "unknown key usr"), (["last=0"], "last"), (["user=nosuchuser"], "no user nosuchuser")):
        done = cluster.run("gcontrol", "show", "audit", *words, check=False)
        assert done.returncode == 1 and what in done.stderr, done.stderr


@needs_root
def test_a_changed_configuration_and_a_restart_leave_a_trace(cluster):
    path = (cluster.dir / "run").resolve() / "gangway.yaml"
    path.write_text(path.read_text() + "retention: {audit: 30d}\n")
    cluster.run("gcontrol", "reconfigure")
    assert audit(cluster)[-1]["kind"] == "reconfigured" and "retention.audit" in audit(cluster)[-1]["text"]
    cluster.kill("gctld", signal.SIGTERM)
    path.write_text(path.read_text().replace("audit: 30d", "audit: 40d"))
    cluster.start("gctld")
    wait_for(lambda: cluster.run("gqueue", check=False).returncode == 0, "the controller")
    assert audit(cluster)[-1]["kind"] == "controller started" and "retention.audit: 40d" in audit(cluster)[-1]["text"]
    path.write_text(path.read_text().replace("audit: 40d", "audit: 1d"))
    done = cluster.run("gcontrol", "reconfigure", check=False)
    assert done.returncode == 1 and "retention.audit" in done.stderr, "it cannot be switched off"


@needs_root
def test_the_log_says_more_at_once(cluster):
    assert cluster.run("gcontrol", "setdebug", "debug").stdout == "the controller logs debug now\n"
    assert 'event="log level" text=debug' in cluster.logs()
    assert audit(cluster)[-1]["kind"] == "log level"
    assert cluster.run("scontrol", "setdebug", "3").stdout == "", "Slurm's command says nothing"
    assert audit(cluster)[-1]["text"] == "info by root"
    done = cluster.run("gcontrol", "setdebug", "loud", check=False)
    assert done.returncode == 1 and "error, warning, info or debug" in done.stderr
    assert cluster.run("gcontrol", "setdebug", "debug", user=USER, check=False).returncode == 1
