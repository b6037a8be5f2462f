"""Where waiting time goes: the parts add up to the wait, whoever shows them, and outlast the controller."""

import json
import re
import signal

from cluster import wait_for
from conftest import QUICK


def shown(cluster, job):
    return json.loads(cluster.run("gcontrol", "show", "job", job, "--json").stdout)["jobs"][0]


def waits_a_second_for(cluster, job, *causes):
    """Waits until the job has waited a second for each."""
    wait_for(lambda: all(shown(cluster, job)["waited_for"].get(cause, 0) >= 1 for cause in causes),
             f"job {job} has waited a second for " + " and ".join(causes))


def seconds_of(text):
    """Of "held:00:01:02,quota:1-00:00:00"."""
    out = {}
    for part in filter(None, text.split(",")):
        cause, _, time = part.partition(":")
        days, _, rest = time.rpartition("-")
        hours, minutes, seconds = map(int, rest.split(":"))
        out[cause] = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    return out


def test_each_part_of_a_wait_is_told_by_all_commands(make_cluster):
    """A job is held, then waits for GPUs, and runs: what show job, accounting and why tell is the same, and the whole."""
    cluster = make_cluster(nodes=1, topology="dgx-h100", config=QUICK)
    first = cluster.submit("sleep 600", "-N1", "--gpus-per-node=5", "-t", "60")
    cluster.wait_state(first, "RUNNING")
    job = cluster.submit("sleep 600", "-N1", "--gpus-per-node=4", "-t", "60", "--hold")
    waits_a_second_for(cluster, job, "held")
    cluster.run("gcontrol", "release", job)
    waits_a_second_for(cluster, job, "held", "resources")
    assert re.search(r"What it has waited for:\n(  \d\d:\d\d:\d\d (held|resources): .*\n)+", cluster.run("gangway", "why", job).stdout)
    cluster.run("gcancel", first)
    cluster.wait_state(job, "RUNNING")
    told = shown(cluster, job)
    waited = told["waited_for"]
    assert {"held", "resources"} <= waited.keys() <= {"held", "resources", "scheduler", "priority"}
    assert abs(sum(waited.values()) - (told["start_time"] - told["submit_time"])) <= 1, "each is cut to a second"
    assert seconds_of(re.search(r"WaitedFor=(\S+)", cluster.run("gcontrol", "show", "job", job).stdout).group(1)) == waited
    assert seconds_of(cluster.run("gacct", "-XPnj", job, "-o", "WaitedFor").stdout.strip()) == waited
    assert "What it has waited for:\n" in cluster.run("gangway", "why", job).stdout
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")
    assert shown(cluster, job)["waited_for"] == waited, "it waits no more"


def test_free_gpus_in_pieces_are_fragmentation(make_cluster):
    """Three are free on each of two nodes, and four are asked for."""
    cluster = make_cluster(nodes=2, topology="dgx-h100", config=QUICK)
    fillers = [cluster.submit("sleep 600", "-N1", "--gpus-per-node=5", "-t", "60") for _ in range(2)]
    for filler in fillers:
        cluster.wait_state(filler, "RUNNING")
    scattered = cluster.submit("true", "-N1", "--gpus-per-node=4", "-t", "60")
    lacking = cluster.submit("true", "-N2", "--gpus-per-node=4", "-t", "60")
    waits_a_second_for(cluster, scattered, "fragmentation")
    waits_a_second_for(cluster, lacking, "resources")
    assert "resources" not in shown(cluster, scattered)["waited_for"]
    cluster.run("gcontrol", "update", "nodename=n1", "state=drain", "reason=disk")
    waits_a_second_for(cluster, lacking, "nodes_down")


def test_what_was_waited_for_outlasts_the_controller(make_cluster):
    """It is stopped and started again: what it knew it knows, and the time that it was away is told as such."""
    cluster = make_cluster(nodes=1, config=QUICK)
    job = cluster.submit("true", "--hold")
    waits_a_second_for(cluster, job, "held")
    before = shown(cluster, job)["waited_for"]["held"]
    cluster.kill("gctld", signal.SIGTERM)
    cluster.start("gctld")
    after = shown(cluster, job)
    assert after["waited_for"]["held"] >= before
    waits_a_second_for(cluster, job, "held")
    cluster.run("gcontrol", "release", job)
    cluster.wait_state(job, "COMPLETED")
    told = shown(cluster, job)
    assert abs(sum(told["waited_for"].values()) - (told["start_time"] - told["submit_time"])) <= 1
