"""Quotas that lend and take back, with real daemons: who is told to go, for how long, and who starts then."""

import signal

import pytest
from cluster import wait_for
from conftest import QUICK

TREE = QUICK + """
qos:
  - {name: a, guaranteed: {gpu: 8}, grace: 1s}
  - {name: b, guaranteed: {gpu: 8}, limit: {gpu: 12}, grace: 60s}
  - {name: c}
"""


def submit(cluster, qos, gpus, *options, script="sleep 600"):
    return cluster.submit(script, "-q", qos, f"--gpus={gpus}", "-N1", "-t", "60", *options)


def test_an_idle_share_is_lent_and_comes_back(make_cluster):
    cluster = make_cluster(nodes=2, config=TREE)
    own, lent = submit(cluster, "a", 8), submit(cluster, "a", 8)
    cluster.wait_state(own, "RUNNING")
    cluster.wait_state(lent, "RUNNING")
    due = submit(cluster, "b", 8, script="sleep 1")
    cluster.wait_state(due, "RUNNING", "COMPLETED")
    wait_for(lambda: cluster.state(lent) == "PENDING" or cluster.show(lent, "%r") == "None", "the loan taken back")
    assert cluster.state(own) == "RUNNING"
    history = cluster.run("gcontrol", "show", "job", str(lent), "--history").stdout
    assert f"preempted for job {due} (rule 5 of the quotas)" in history
    cluster.wait_state(due, "COMPLETED")
    cluster.wait_state(lent, "RUNNING")  # what is idle again is lent again


def test_a_victim_has_its_grace_and_what_it_leaves_is_kept_over_a_crash(make_cluster):
    cluster = make_cluster(nodes=2, config=TREE)
    own = submit(cluster, "b", 8)
    cluster.wait_state(own, "RUNNING")
    told, leave = cluster.work / "told", cluster.work / "leave"
    lent = submit(cluster, "b", 4, script=f"trap 'touch {told}' TERM; until [ -e {leave} ]; do sleep 0.1; done")
    cluster.wait_state(lent, "RUNNING")
    due = submit(cluster, "a", 8)
    wait_for(told.exists, "the signal of the victim")
    wait_for(lambda: "COMPLETING" in cluster.state(lent), "the victim on its way")
    cluster.kill("gctld", signal.SIGKILL)
    cluster.start("gctld")
    wait_for(cluster.ping, "the controller")
    # Four GPUs of the node are free; they are kept for the nominated job, and not to be lent meanwhile.
    other = submit(cluster, "c", 2)
    wait_for(lambda: "planned starts" in cluster.reason_text(other), "why the free GPUs are not lent")
    assert cluster.state(due) == "PENDING"
    history = cluster.run("gcontrol", "show", "job", str(due), "--history").stdout
    assert "others leave n" in history
    leave.touch()
    cluster.wait_state(due, "RUNNING")
    assert cluster.state(other) == "PENDING" and cluster.state(own) == "RUNNING"


def test_limits_and_guarantees_say_what_holds_a_job_back(make_cluster):
    cluster = make_cluster(nodes=2, config=TREE)
    first = submit(cluster, "b", 8)
    cluster.wait_state(first, "RUNNING")
    over = submit(cluster, "b", 8)
    wait_for(lambda: "the limit of QOS b is 12 gpu: 8 held, 8 more asked" in cluster.reason_text(over), "the limit")
    assert cluster.show(over, "%r") == "QOSJobLimit"
    firm = submit(cluster, "c", 1, "--no-requeue")
    wait_for(lambda: "starts only within what QOS c is guaranteed, 0 gpu" in cluster.reason_text(firm), "rule 4")
    assert cluster.state(firm) == "PENDING"


@pytest.mark.parametrize("switch", [True, False])
def test_a_qos_takes_from_those_below_it_where_the_switch_is_on(make_cluster, switch):
    tree = QUICK + f"""
qos:
  - {{name: dept, guaranteed: {{gpu: 16}}, preempt_children: {str(switch).lower()}, grace: 1s}}
  - {{name: x, parent: dept, guaranteed: {{gpu: 8}}}}
  - {{name: y, parent: dept, guaranteed: {{gpu: 8}}}}
"""
    cluster = make_cluster(nodes=2, config=tree)
    jobs = [submit(cluster, "x", 8), submit(cluster, "y", 8)]
    for job in jobs:
        cluster.wait_state(job, "RUNNING")
    boss = submit(cluster, "dept", 8)
    if switch:
        cluster.wait_state(boss, "RUNNING")
        assert sorted(cluster.state(job) for job in jobs) != ["RUNNING", "RUNNING"]
    else:
        wait_for(lambda: "preempt_children off" in cluster.reason_text(boss), "the name of the switch")
        assert [cluster.state(job) for job in jobs] == ["RUNNING", "RUNNING"]


def test_a_changed_quota_kills_nothing_and_what_is_above_it_can_be_taken_back(make_cluster):
    cluster = make_cluster(nodes=2, config=TREE)
    jobs = [submit(cluster, "b", 4), submit(cluster, "b", 4), submit(cluster, "a", 8)]
    for job in jobs:
        cluster.wait_state(job, "RUNNING")
    told = cluster.run("gacctmgr", "modify", "qos", "b", "set", "guaranteed=gpu:4", "limit=", "grace=1s", "--",
                       "qos", "a", "set", "guaranteed=gpu:12").stdout
    assert f"can be taken back now: jobs {jobs[0]}, {jobs[1]}" in told
    assert [cluster.state(job) for job in jobs] == ["RUNNING"] * 3
    due = submit(cluster, "a", 4)
    cluster.wait_state(due, "RUNNING")
    assert sorted(cluster.state(job) == "RUNNING" for job in jobs) == [False, True, True]
    assert cluster.state(jobs[2]) == "RUNNING"


def test_the_configuration_is_the_tree_at_the_first_start_only(make_cluster):
    cluster = make_cluster(nodes=2, config=TREE)
    cluster.run("gacctmgr", "modify", "qos", "b", "set", "guaranteed=gpu:4")
    tree = cluster.run("gacctmgr", "dump").stdout
    config = cluster.dir / "gangway.yaml"
    text = config.read_text()
    config.write_text(text[:text.index("qos:")] + "qos: [{name: a, guaranteed: {gpu: 16}}]\n")
    done = cluster.run("gcontrol", "reconfigure")
    assert "qos: is read at the first start only" in done.stdout + done.stderr
    assert cluster.run("gacctmgr", "dump").stdout == tree
    cluster.restart("gctld")
    wait_for(cluster.ping, "the controller")
    assert cluster.run("gacctmgr", "dump").stdout == tree
