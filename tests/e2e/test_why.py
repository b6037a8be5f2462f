"""gangway why: what keeps a job waiting, and changes that start it when they are made."""

import json
import re

from cluster import wait_for
from conftest import QUICK

TREE = QUICK + """
qos:
  - {name: patient, guaranteed: {gpu: 0}, grace: 120s}
  - {name: owner, guaranteed: {gpu: 8}}
"""


def why(cluster, job, *options, user=None):
    """The answer as a program gets it."""
    return json.loads(cluster.run("gangway", "why", "--json", *options, job, user=user).stdout)


def fill(cluster, gpus, count=1):
    """Jobs of an hour, one on each node."""
    jobs = [cluster.submit("sleep 600", "-N1", f"--gpus-per-node={gpus}", "-t", "60") for _ in range(count)]
    for job in jobs:
        cluster.wait_state(job, "RUNNING")
    return jobs


def test_a_change_that_is_offered_starts_the_job(make_cluster):
    """The command that it names is run, and the job starts."""
    cluster = make_cluster(nodes=1, topology="dgx-h100", config=QUICK)
    (first,) = fill(cluster, 5)
    job = cluster.submit("sleep 600", "-N1", "--gpus-per-node=6", "-t", "30")
    answer = why(cluster, job)
    assert answer["outlook"]["when"] == "planned"
    assert answer["outlook"]["waits_for"] == [first]
    helps = [o for o in answer["offers"] if o["helps"]]
    assert [o["words"] for o in helps] == ["ask for 3 GPUs per node"]
    text = cluster.run("gangway", "why", job).stdout
    assert f"if job {first} uses the whole limit" in text
    assert "ask for 3 GPUs per node: starts now on " in text
    command = re.search(rf"gcontrol update JobId={job} \S+", text).group(0)
    assert command == helps[0]["command"]
    cluster.run(*command.split())
    cluster.wait_state(job, "RUNNING")
    assert why(cluster, job)["outlook"] is None, "it runs"


def test_nothing_helps_and_it_says_so(make_cluster):
    """All GPUs are taken: fewer do not help."""
    cluster = make_cluster(nodes=1, topology="dgx-h100", config=QUICK)
    fill(cluster, 8)
    ahead = cluster.submit("true", "-N1", "--gpus-per-node=8", "-t", "5")
    job = cluster.submit("true", "-N1", "--gpus-per-node=2", "-t", "5")
    answer = why(cluster, job)
    assert [one["job_id"] for one in answer["ahead"]] == [ahead]
    assert answer["ahead"][0]["rule"] == "submitted"
    assert answer["offers"] and not any(o["helps"] for o in answer["offers"])
    text = cluster.run("gangway", "why", job).stdout
    assert re.search(r"None of the changes that were tried \(\d+\) would start it sooner", text)
    assert why(cluster, job, "--no-offers")["offers"] == []
    other = cluster.run("gangway", "why", job, user="nobody").stdout
    assert "No changes were tried: it is somebody else's.\n" in other


def test_a_submission_that_is_only_tested(make_cluster):
    """Now, later or never: by the planner, quotas included; the exit code says which."""
    limits = QUICK + """
qos:
  - {name: normal}
  - {name: small, limit: {gpu: 4}}
"""
    cluster = make_cluster(nodes=1, topology="dgx-h100", config=limits)
    test = ("gbatch", "--test-only", "-t", "10", "--wrap", "true")
    now = cluster.run(*test, "--gpus=2")
    assert "would start now in partition main on " in now.stderr
    (first,) = fill(cluster, 7)
    later = cluster.run(*test, "--gpus-per-node=2", check=False)
    assert later.returncode == 2
    assert re.search(r"would wait until 20\S+ at the latest, for \S+ in partition main: needs 1 node; .*too few free GPUs", later.stderr)
    assert cluster.run("gqueue", "-h", "-o", "%i").stdout.split() == [str(first)], "nothing was submitted"
    cluster.run("gcancel", first)
    cluster.wait_state(first, "CANCELLED")
    cluster.submit("sleep 600", "-q", "small", "--gpus=3", "-t", "60")
    bound = cluster.run(*test, "-q", "small", "--gpus=2", check=False)
    assert bound.returncode == 2 and "limit" in bound.stderr, "four are free, and two are not for it"
    never = cluster.run(*test, "--gpus=9", "-N1", check=False)
    assert never.returncode == 1
    as_slurm = cluster.run("sbatch", *test[1:], "-N1", "--gpus-per-node=6").stderr
    assert re.search(r"Job \d+ to start at 20\S+ using \d+ processors on nodes \S+ in partition main", as_slurm)


def test_held_ended_unknown_and_somebody_elses(make_cluster):
    """Each job has an answer, and strangers try nothing."""
    cluster = make_cluster(nodes=1, topology="dgx-h100", config=QUICK)
    held = cluster.submit("true", "-H", "-t", "5")
    text = cluster.run("gangway", "why", held).stdout
    assert "If nothing kept it from the scheduler: it starts with the next pass" in text
    assert f"held by its owner: gcontrol release {held}" in text
    ended = cluster.submit("exit 3", "-t", "5")
    cluster.wait_state(ended, "FAILED")
    text = cluster.run("gangway", "why", ended).stdout
    assert "ended FAILED" in text and "exit code 3:0" in text and " submitted " in text
    array = cluster.submit("true", "-H", "-a", "1-3", "-t", "5")
    for name in (array, f"{array}_2"):
        text = cluster.run("gangway", "why", name).stdout
        assert f"Job {array} " in text and "held by its owner" in text
    assert cluster.run("gangway", "why", f"{array}_9", check=False).returncode == 1, "it has no such task"
    unknown = cluster.run("gangway", "why", "4711", check=False)
    assert unknown.returncode == 1 and "Invalid job id" in unknown.stderr
    assert cluster.run("gangway", "why", check=False).returncode == 1, "this runs in no job"


def test_who_would_leave_for_it(make_cluster):
    """A job within its guarantee waits for those that were told to go; a running one says who may take it."""
    cluster = make_cluster(nodes=1, topology="dgx-h100", config=TREE)
    lent = cluster.submit("trap '' TERM USR1 CONT; sleep 600 & wait; wait", "-q", "patient", "--gpus=8", "-N1", "-t", "60")
    cluster.wait_state(lent, "RUNNING")
    assert "Jobs of these QOS can preempt it now: owner" in cluster.run("gangway", "why", lent).stdout
    job = cluster.submit("sleep 600", "-q", "owner", "--gpus=8", "-N1", "-t", "60")
    wait_for(lambda: why(cluster, job)["outlook"]["start"] is not None, "a place is kept for it")
    text = cluster.run("gangway", "why", job).stdout
    assert re.search(r"It starts (at|on) ", text), text
