"""Drain and resume, offline GPUs, and what is shown of them."""

import datetime
import json
import os
import re
import sqlite3

from cluster import wait_for


def test_drain_and_resume(cluster):
    go = cluster.work / "go"
    job = cluster.submit(f"while [ ! -e {go} ]; do sleep 0.05; done", "-w", "n0")
    cluster.wait_state(job, "RUNNING")
    cluster.run("gcontrol", "update", "nodename=n0", "state=drain", "reason=bad cable")
    wait_for(lambda: cluster.node_states()["n0"] in {"draining", "drng"}, "n0 drains")
    blocked = cluster.submit("exit 0", "-w", "n0")
    other = cluster.submit("exit 0")
    cluster.wait_state(other, "COMPLETED")
    assert cluster.state(job) == "RUNNING" and cluster.state(blocked) == "PENDING"
    go.touch()
    cluster.wait_state(job, "COMPLETED")
    wait_for(lambda: cluster.node_states()["n0"] in {"drained", "drain"}, "n0 is drained")
    shown = cluster.run("gcontrol", "show", "node", "n0").stdout
    assert "bad cable" in shown and cluster.run("id", "-un").stdout.strip() in shown
    cluster.restart("gctld")
    wait_for(cluster.ping, "the controller answers again")
    assert cluster.state(blocked) == "PENDING"
    cluster.run("gcontrol", "update", "nodename=n0", "state=resume")
    cluster.wait_state(blocked, "COMPLETED")
    cluster.wait_idle()


def test_events_tell_what_happened_when_and_who_did_it(cluster):
    who = cluster.run("id", "-un").stdout.strip()
    cluster.run("gcontrol", "update", "nodename=n1", "state=drain", "reason=a look at it")
    cluster.run("gcontrol", "update", "nodename=n1", "state=resume")
    job = cluster.submit("exit 0")
    cluster.wait_state(job, "COMPLETED")

    def events(*words):
        return cluster.json("gcontrol", "show", "events", *words, "--json")["events"]

    drained, resumed = events("node=n1", "last=2")
    assert (drained["kind"], drained["node"], drained["user"]) == ("drained", "n1", who), drained
    assert "a look at it" in drained["text"] and resumed["kind"] == "resumed" and resumed["seq"] > drained["seq"]
    of_job = events(f"job={job}")
    assert [event["kind"] for event in of_job] == [
        event["kind"] for event in cluster.json("gcontrol", "show", "job", job, "--history", "--json")["jobs"][0]["history"]]
    assert of_job[0]["kind"] == "submitted" and of_job[-1]["kind"] == "ended" and of_job[-1]["user"] is None
    times = [event["time_us"] for event in events()]
    assert times == sorted(times) and events("last=3")[-1] == events()[-1]
    lines = cluster.run("gcontrol", "show", "events", f"job={job}").stdout.splitlines()
    assert lines[0].split() == ["TIME", "ABOUT", "USER", "EVENT", "TEXT"] and lines[1].split()[1:4] == [f"job={job}", who, "submitted"]
    unknown = cluster.run("gcontrol", "show", "events", "node=n77", check=False)
    assert unknown.returncode == 1 and "there are no events of node n77" in unknown.stderr
    assert "unknown key" in cluster.run("gcontrol", "show", "events", "user=x", check=False).stderr


def test_node_that_cannot_launch_is_drained_and_its_jobs_go_elsewhere(cluster):
    steps = (cluster.dir / "run").resolve() / "n0" / "steps"
    aside = steps.with_name("aside")
    cluster.run("gcontrol", "update", "nodename=n1", "state=drain", "reason=later")
    steps.rename(aside)
    steps.touch()  # no shepherd can make its folder there
    try:
        jobs = [cluster.submit("exit 0") for _ in range(3)]
        wait_for(lambda: cluster.node_states()["n0"] in {"drained", "drain"}, "n0 is drained")
        assert "launches of 3 jobs in a row failed here, the last:" in cluster.run("ginfo", "-R").stdout
        assert all(cluster.state(job) == "PENDING" for job in jobs)
        cluster.run("gcontrol", "update", "nodename=n1", "state=resume")
        for job in jobs:
            cluster.wait_state(job, "COMPLETED")
            assert cluster.show(job, "%N") == "n1" and "Restarts=0" in cluster.run("gcontrol", "show", "job", job).stdout
    finally:
        steps.unlink()
        aside.rename(steps)
        cluster.run("gcontrol", "update", "nodename=n[0-1]", "state=resume")
    cluster.wait_idle()


def test_update_of_several_nodes_is_all_or_nothing(cluster):
    before = cluster.run("gcontrol", "show", "node", "n0").stdout
    for names, named in (("n[0-1],n7", "n7"), ("n0,n1,nn1", "nn1")):
        done = cluster.run("gcontrol", "update", f"nodename={names}", "state=drain", "reason=cable", check=False)
        assert done.returncode == 1 and named in done.stderr, done.stderr
    done = cluster.run("gcontrol", "update", "nodename=n[0-1]", "state=down", "dead=yes", check=False)
    assert done.returncode == 1 and "node n0 is connected" in done.stderr, done.stderr
    assert set(cluster.node_states().values()) == {"idle"}
    assert "cable" not in cluster.run("gcontrol", "show", "node", "n0").stdout and "State=IDLE" in before
    cluster.run("gcontrol", "update", "nodename=n[0-1]", "state=drain", "reason=cable")
    assert set(cluster.node_states().values()) == {"drained"}
    cluster.run("gcontrol", "update", "nodename=n[0-1]", "state=resume")
    cluster.wait_idle()


def test_job_whose_script_is_gone_fails_and_blames_no_node(cluster):
    job = cluster.submit("exit 0", "-H")
    cluster.kill("gctld")
    with sqlite3.connect(cluster.dir / "state" / "gangway.db") as db:
        assert db.execute("DELETE FROM blobs").rowcount >= 1
    db.close()
    cluster.start("gctld")
    wait_for(cluster.ping, "the controller answers again")
    cluster.wait_idle()
    cluster.run("gcontrol", "release", job)
    cluster.wait_state(job, "FAILED")
    assert "could not be sent to its nodes" in cluster.reason_text(job), cluster.reason_text(job)
    cluster.wait_idle()
    cluster.wait_state(cluster.submit("exit 0"), "COMPLETED")


def test_topo_shows_who_uses_what(cluster):
    go = cluster.work / "go"
    job = cluster.submit(f"while [ ! -e {go} ]; do sleep 0.05; done", "-w", "n0", "--gpus-per-node=2")
    cluster.wait_state(job, "RUNNING")
    node = cluster.json("gangway", "topo", "n0", "--json")["node"]
    assert len(node["gpus"]) == 8 and node["cores"] == 112
    assert str(job) in cluster.run("gangway", "topo", "n0").stdout
    assert str(job) in cluster.run("gangway", "topo", job).stdout
    go.touch()
    cluster.wait_state(job, "COMPLETED")
    done = cluster.run("gangway", "topo", "n7", check=False)
    assert done.returncode == 1 and "n7" in done.stderr


def test_topo_of_a_file_is_the_same_as_the_node_reports(cluster):
    local = cluster.json("gangway", "topo", "--file", "dgx-h100", "--json")["node"]
    remote = cluster.json("gangway", "topo", "n0", "--json")["node"]
    for key in ("gpus", "nics", "cores", "numa_nodes", "links"):
        assert len(str(local[key])) == len(str(remote[key])), key


def test_logs(cluster):
    go = cluster.work / "go"
    job = cluster.submit(f"echo one; while [ ! -e {go} ]; do sleep 0.05; done; echo two")
    cluster.wait_state(job, "RUNNING")
    wait_for(lambda: cluster.run("gangway", "logs", job, check=False).stdout == "one\n", "the first line")
    follow = cluster.popen("gangway", "logs", "-f", str(job))
    assert follow.stdout.readline() == "one\n"
    go.touch()
    out, err = follow.communicate(timeout=30)
    assert (follow.returncode, out, err) == (0, "two\n", "")
    done = cluster.run("gangway", "logs", 999999, check=False)
    assert done.returncode == 1 and "999999" in done.stderr


def test_logs_waits_for_a_pending_job_and_names_a_missing_file(cluster):
    job = cluster.submit("echo here", "-H")
    done = cluster.run("gangway", "logs", job, check=False)
    assert done.returncode == 1 and "has not started" in done.stderr
    follow = cluster.popen("gangway", "logs", "-f", str(job))
    assert "waiting" in follow.stderr.readline()
    cluster.run("gcontrol", "release", job)
    assert follow.communicate(timeout=30)[0] == "here\n" and follow.returncode == 0
    (cluster.work / f"gangway-{job}.out").unlink()
    done = cluster.run("gangway", "logs", job, check=False)
    assert done.returncode == 1 and "n0" in done.stderr and f"gangway-{job}.out" in done.stderr


def test_a_node_says_what_machine_it_is_and_since_when(cluster):
    text = cluster.run("scontrol", "show", "node", "n0").stdout
    uname = os.uname()
    assert f"NodeName=n0 Arch={uname.machine} CoresPerSocket=" in text
    assert f"   OS={uname.sysname} {uname.release} {uname.version}\n" in text
    times = {key: datetime.datetime.fromisoformat(value) for key, value in
             re.findall(r"(BootTime|SlurmdStartTime|LastSeen)=(\S+)", text)}
    assert times["BootTime"] <= times["SlurmdStartTime"] <= times["LastSeen"], text
    node = json.loads(cluster.run("scontrol", "show", "node", "n0", "--json").stdout)["nodes"][0]
    assert node["architecture"] == uname.machine and node["operating_system"].startswith(uname.sysname)
    assert node["boot_time"]["number"] == int(times["BootTime"].timestamp())


def test_a_node_says_when_it_was_busy_last(cluster):
    def busy(node):
        text = re.search(r"LastBusyTime=(\S+) ResumeAfterTime=None\n", cluster.run("scontrol", "show", "node", node).stdout)[1]
        number = json.loads(cluster.run("scontrol", "show", "node", node, "--json").stdout)["nodes"][0]["last_busy"]["number"]
        if text == "Unknown":
            assert number == 0
        else:  # of a node that is busy it is now, which goes on between the two
            assert 0 <= number - int(datetime.datetime.fromisoformat(text).timestamp()) <= 30
        return number

    job = cluster.submit("true", "-w", "n1")
    cluster.wait_ended(job)
    cluster.wait_idle()
    end = int(cluster.run("env", "SLURM_TIME_FORMAT=%s", "sacct", "-nXP", "-j", str(job), "-o", "End").stdout)
    before = busy("n1")
    assert 0 <= before - end <= 30
    runs = cluster.submit("sleep 1000", "-w", "n1")
    cluster.wait_state(runs, "RUNNING")
    assert busy("n1") >= before
    cluster.run("scancel", str(runs))
    cluster.wait_ended(runs)
