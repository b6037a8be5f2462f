"""Who may use and change quotas, and what caps say, with real daemons and jobs of several users."""

import re

import pytest
from cluster import wait_for
from conftest import needs_root, others_can_run
from quotas import ALICE, BOB, CAROL, acct, load, refused, running, submit, tree


@pytest.fixture
def cluster(quota_cluster):
    return quota_cluster


def guaranteed(cluster, name):
    return tree(cluster)[name]["guaranteed"].get("gpu")


# ---- Roles

ROLES = """
qos:
  - {name: dept, guaranteed: {gpu: 64}, users: [daemon, games], operators: [daemon], min_runtime: 5m, grace: 1m}
  - {name: t1, parent: dept, guaranteed: {gpu: 32}}
  - {name: t2, parent: dept, guaranteed: {gpu: 16}, users: [bin]}
  - {name: beside, guaranteed: {gpu: 32}, users: [bin]}
"""


@needs_root
def test_an_operator_changes_what_is_below_its_qos_and_nothing_else(cluster):
    others_can_run(cluster, ALICE)
    load(cluster, ROLES)
    acct(cluster, "modify", "qos", "t1", "set", "guaranteed=gpu:48", user=ALICE)
    acct(cluster, "add", "qos", "t3", "parent=t1", "guaranteed=gpu:8", "operators=games", user=ALICE)
    acct(cluster, "modify", "qos", "t3", "set", "parent=dept", "guaranteed=gpu:0", user=ALICE)
    assert (guaranteed(cluster, "t1"), tree(cluster)["t3"]["operators"]) == (48, ["games"])
    for words, error in [
            (["modify", "qos", "dept", "set", "guaranteed=gpu:96"], "user daemon may not change QOS dept"),
            (["modify", "qos", "cluster", "set", "operators=daemon"], "only administrators may change the root"),
            (["modify", "qos", "beside", "set", "guaranteed=gpu:1"], "user daemon may not change QOS beside"),
            (["delete", "qos", "beside"], "user daemon may not change QOS beside"),
            (["add", "qos", "top"], "user daemon may not change QOS below cluster"),
            (["add", "qos", "t4", "parent=beside"], "user daemon may not change QOS below beside"),
            (["modify", "qos", "t3", "set", "parent=beside"], "user daemon may not change QOS below beside"),
            (["modify", "qos", "t3", "set", "parent=cluster"], "user daemon may not change QOS below cluster"),
            (["modify", "qos", "t1", "set", "guaranteed=gpu:49"],
             "the guarantees below QOS dept add up to 65 gpu, but it has 64: t1 49, t2 16, t3 0"),
            (["modify", "qos", "t1", "set", "guaranteed=gpu:49", "--force"], "only administrators may force"),
            (["modify", "qos", "t3", "set", "guaranteed=cpu:4"], "nothing above it is guaranteed cpu"),
            (["modify", "qos", "t3", "set", "min_runtime=6m"], "min_runtime is longer than above it: 00:05:00"),
            (["modify", "qos", "t3", "set", "grace=2m"], "grace is longer than above it: 00:01:00"),
            (["modify", "user", "games", "set", "default_qos=beside"], "user daemon is no operator of QOS beside"),
            (["delete", "user", "games"], "only administrators may delete a user"),
            # One part of a transaction that is not allowed spoils all of it.
            (["modify", "qos", "t1", "set", "guaranteed=gpu:8", "--", "qos", "beside", "set", "guaranteed=gpu:8"],
             "user daemon may not change QOS beside")]:
        assert error in refused(cluster, *words, user=ALICE), words
    assert "user games may not change QOS t1" in refused(cluster, "modify", "qos", "t1", "set", "weight=3", user=BOB)
    acct(cluster, "delete", "qos", "t3", user=ALICE)
    file = cluster.work / "roles.yaml"
    acct(cluster, "dump", file, user=ALICE)  # everybody may read
    assert "only administrators may force a change or load" in refused(cluster, "load", file, user=ALICE)
    file.unlink()


@needs_root
def test_who_has_no_role_is_told_where_it_may_submit(cluster):
    others_can_run(cluster, ALICE)
    load(cluster, ROLES + "  - {name: anybody}\n")
    done = cluster.run("gbatch", "-q", "t1", "--wrap", "true", user=CAROL, check=False)
    assert done.returncode == 1 and "user bin may not use QOS t1 (you may use: anybody, beside, t2)" in done.stderr
    assert cluster.run("gqueue", "-h").stdout == ""
    cluster.submit("true", "-q", "t2", user=CAROL)
    cluster.submit("true", "-A", "anybody", user=CAROL)
    cluster.submit("true", "-q", "t2", user=BOB)  # by the name of games above it
    acct(cluster, "modify", "qos", "anybody", "set", "users=games", "--", "qos", "beside,t2", "set", "users-=bin", "users+=games")
    nowhere = cluster.run("gbatch", "-q", "t2", "--wrap", "true", user=CAROL, check=False)
    assert "no QOS is open to you: ask an administrator or an operator of one" in nowhere.stderr


@needs_root
def test_an_operator_acts_on_the_jobs_of_its_qos(cluster):
    others_can_run(cluster, ALICE)
    load(cluster, ROLES)
    below, beside = running(cluster, "t2", 1, user=CAROL) + running(cluster, "beside", 1, user=CAROL)
    for user, job in [(BOB, below), (ALICE, beside)]:
        done = cluster.run("gcancel", job, user=user, check=False)
        assert done.returncode == 1 and f"access denied to job {job}" in done.stderr
    assert cluster.state(below) == cluster.state(beside) == "RUNNING"
    waits = submit(cluster, "t2", 1, "--hold", user=CAROL)
    cluster.run("gcontrol", "release", waits, user=ALICE)
    cluster.wait_state(waits, "RUNNING")
    cluster.run("gcancel", below, waits, user=ALICE)
    for job in (below, waits):
        cluster.wait_state(job, "CANCELLED")


# ---- Caps


def test_caps_at_submission_and_at_the_start(cluster):
    load(cluster, """
qos:
  - {name: dept, max_submit: 4, max_wall: 2h}
  - {name: team, parent: dept, max_jobs: 2, max_wall: 1h}
""")
    done = cluster.run("gbatch", "-q", "team", "-t", "61", "--wrap", "true", check=False)
    assert done.returncode == 1
    assert "the time limit 01:01:00 is longer than QOS team allows: 01:00:00" in done.stderr
    done = cluster.run("gbatch", "-q", "dept", "-t", "121", "--wrap", "true", check=False)
    assert "longer than QOS dept allows: 02:00:00" in done.stderr
    jobs = [cluster.submit("sleep 600", "-q", "team", "--gpus=1") for _ in range(4)]
    assert cluster.show(jobs[0], "%l") == "1:00:00"  # who names none gets the longest
    for qos in ("team", "dept"):
        done = cluster.run("gbatch", "-q", qos, "-t", "5", "--wrap", "true", check=False)
        assert done.returncode == 1 and "QOS dept takes at most 4 jobs waiting and running (max_submit); 4 are there" in done.stderr
    for job in jobs[:2]:
        cluster.wait_state(job, "RUNNING")
    wait_for(lambda: "the limit of QOS team is 2 jobs: 2 held, 1 more asked" in cluster.reason_text(jobs[2]), "max_jobs")
    assert cluster.show(jobs[2], "%r") == "QOSJobLimit"
    cluster.run("gcancel", jobs[0])
    cluster.wait_state(jobs[2], "RUNNING")
    cluster.submit("sleep 600", "-q", "dept", "--gpus=1", "-t", "5")  # one has ended
    acct(cluster, "modify", "qos", "team", "set", "max_jobs=none")
    cluster.wait_state(jobs[3], "RUNNING")


@needs_root
def test_caps_of_each_user(cluster):
    others_can_run(cluster, ALICE)
    load(cluster, """
qos:
  - {name: team, limit_per_user: {gpu: 8}, max_submit_per_user: 3}
  - {name: few, max_jobs_per_user: 1}
""")
    mine = running(cluster, "team", 6, user=ALICE)[0]
    over = submit(cluster, "team", 4, user=ALICE)
    wait_for(lambda: "the limit of each user in QOS team is 8 gpu: 6 held, 4 more asked" in cluster.reason_text(over), "the limit")
    running(cluster, "team", 8, user=BOB)
    fits = submit(cluster, "team", 2, user=ALICE)  # the other's use is none of its own
    cluster.wait_state(fits, "RUNNING")
    done = cluster.run("gbatch", "-q", "team", "--wrap", "true", user=ALICE, check=False)
    assert "QOS team takes at most 3 jobs waiting and running (max_submit_per_user); 3 of yours are there" in done.stderr
    cluster.run("gcancel", mine)
    cluster.wait_state(over, "RUNNING")
    running(cluster, "few", 1, user=ALICE)
    second = submit(cluster, "few", 1, user=ALICE)
    wait_for(lambda: re.search("limit of each user in QOS few is 1 jobs?: 1 held, 1 more asked", cluster.reason_text(second)),
             "the limit")
    running(cluster, "few", 1, user=BOB)


@needs_root
def test_who_names_no_qos_gets_its_own_or_the_partitions(cluster):
    others_can_run(cluster, ALICE)
    load(cluster, "qos: [{name: of-user}, {name: of-partition}, {name: named}]")
    acct(cluster, "add", "user", BOB, "account=of-user", "default_qos=of-user")
    acct(cluster, "modify", "qos", "of-user", "set", "users+=daemon")
    cluster.run("gcontrol", "create", "PartitionName=pool", "Nodes=ALL", "QOS=of-partition")
    try:
        assert "QoS=of-partition" in cluster.run("gcontrol", "show", "partition", "pool").stdout
        qos_of = {}
        for user in (ALICE, BOB):
            for words in ((), ("-p", "pool"), ("-p", "pool", "-q", "named")):
                job = cluster.submit("true", "-t", "1", *words, user=user)
                qos_of[user, words[1:2] + words[3:]] = cluster.show(job, "%q")
                cluster.wait_ended(job)
        assert qos_of == {
            (ALICE, ()): "normal", (ALICE, ("pool",)): "of-partition", (ALICE, ("pool", "named")): "named",
            (BOB, ()): "of-user", (BOB, ("pool",)): "of-user", (BOB, ("pool", "named")): "named"}
        shown = acct(cluster, "show", "user", "-nP", BOB).stdout
        assert shown.startswith("games|of-user|of-user"), shown
        acct(cluster, "delete", "user", BOB)
        job = cluster.submit("true", "-p", "pool", "-t", "1", user=BOB)
        assert cluster.show(job, "%q") == "of-partition"
        cluster.wait_ended(job)
    finally:
        cluster.run("gcancel", "-p", "pool", check=False)
        wait_for(lambda: cluster.run("gcontrol", "delete", "PartitionName=pool", check=False).returncode == 0, "the pool goes")
