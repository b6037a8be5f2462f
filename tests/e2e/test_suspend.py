"""Jobs that are suspended, with real daemons and processes: for another job, by hand, and over crashes."""

import json

from cluster import wait_for
from conftest import QUICK

TREE = QUICK + """
partition_defaults: {share_suspended_gpus: true}
qos:
  - {name: patient, guaranteed: {gpu: 0}, grace: 120s}
  - {name: owner, guaranteed: {gpu: 8}}
"""

# Counts as long as it runs, in memory alone; ends well at 1,000,000 or when it is told.
COUNT = """
n=0
trap 'cat "$GANGWAY_PREEMPT_FILE" > {dir}/told.new; mv {dir}/told.new {dir}/told' USR1
while [ ! -e {dir}/end ]; do n=$((n + 1)); echo $n > {dir}/n.new; mv {dir}/n.new {dir}/n; sleep 0.02; done
"""


def counting(cluster, *options, mem="1G"):
    job = cluster.submit(COUNT.format(dir=cluster.work), "-q", "patient", "--gpus=8", "-N1", "-t", "60", f"--mem={mem}",
                         "--on-preempt=suspend", *options)
    wait_for((cluster.work / "n").exists, "the job counts")
    cluster.wait_state(job, "RUNNING")  # its node's word may come after its first line
    return job


def count(cluster):
    return int((cluster.work / "n").read_text())


def owner(cluster, mem="1G"):
    return cluster.submit("sleep 600", "-q", "owner", "--gpus=8", "-N1", "-t", "60", f"--mem={mem}")


def frozen(cluster):
    """The count at which it stands."""
    first = count(cluster)
    cluster.run("gqueue")
    assert count(cluster) == first
    return first


def goes_on(cluster, stood):
    wait_for(lambda: count(cluster) > stood, "the job continues counting")


def finish(cluster, job):
    (cluster.work / "end").touch()
    cluster.wait_state(job, "COMPLETED")
    assert cluster.detail(job)["Restarts"] == "0"


def test_a_job_is_suspended_for_another_and_goes_on_with_its_memory(make_cluster):
    cluster = make_cluster(nodes=1, config=TREE)
    job = counting(cluster)
    due = owner(cluster)
    cluster.wait_state(due, "RUNNING")
    assert cluster.state(job) == "SUSPENDED"
    stood = frozen(cluster)
    detail = cluster.detail(job)
    assert (detail["Preemptions"], detail["LostGpuSeconds"], detail["JobState"]) == ("1", "0.0", "SUSPENDED")
    assert detail["SuspendTime"] != "None" and f"for job {due}; waits" in cluster.reason_text(job)
    assert cluster.show(job, "%t") == "S"
    cluster.run("gcancel", due)
    cluster.wait_state(job, "RUNNING")
    goes_on(cluster, stood)
    assert "Suspended=" not in cluster.reason_text(job)
    history = cluster.run("gcontrol", "show", "job", job, "--history").stdout
    assert history.index("is to be suspended") < history.index("suspended") < history.index("resumed")
    finish(cluster, job)


def test_who_wants_to_be_told_is_told_first(make_cluster):
    cluster = make_cluster(nodes=1, config=TREE.replace("120s", "6s"))
    job = counting(cluster, "--preempt-signal=USR1")
    due = owner(cluster)
    wait_for((cluster.work / "told").exists, "the job is told")
    told = json.loads((cluster.work / "told").read_text())
    assert (told["by_job"], told["rule"], told["what"], told["grace_seconds"]) == (due, 5, "suspend", 6)
    cluster.wait_state(due, "RUNNING")
    assert cluster.state(job) == "SUSPENDED"
    cluster.run("gcancel", due)
    cluster.wait_state(job, "RUNNING")
    finish(cluster, job)


def test_where_its_memory_is_needed_it_is_requeued(make_cluster):
    cluster = make_cluster(nodes=1, config=TREE)
    job = counting(cluster)
    due = owner(cluster)
    cluster.wait_state(due, "RUNNING")
    assert cluster.state(job) == "SUSPENDED"
    cluster.run("gcancel", due)
    cluster.wait_state(job, "RUNNING")
    due = owner(cluster, mem="0")
    cluster.wait_state(due, "RUNNING")
    assert cluster.state(job) == "PENDING"
    assert cluster.detail(job)["Restarts"] == "1"


def test_suspended_jobs_survive_crashes_of_the_daemons(make_cluster):
    cluster = make_cluster(nodes=1, config=TREE)
    job = counting(cluster)
    due = owner(cluster)
    cluster.wait_state(due, "RUNNING")
    stood = frozen(cluster)
    for daemon in ("gctld", "gnoded.n0", "gctld"):
        cluster.kill(daemon)
        cluster.start(daemon)
        wait_for(cluster.ping, "the controller")
        cluster.wait_state(due, "RUNNING")
        assert cluster.state(job) == "SUSPENDED"
    wait_for(lambda: cluster.node_states().get("n0") in ("alloc", "mix", "mixed", "allocated"), "the node")
    assert count(cluster) == stood
    cluster.kill("gnoded.n0")
    cluster.run("gcancel", due)
    cluster.start("gnoded.n0")
    cluster.wait_state(job, "RUNNING")
    goes_on(cluster, stood)
    finish(cluster, job)


def test_a_suspended_job_can_be_cancelled(make_cluster):
    cluster = make_cluster(nodes=1, config=TREE)
    job = counting(cluster)
    due = owner(cluster)
    cluster.wait_state(due, "RUNNING")
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")
    assert cluster.state(due) == "RUNNING"


def test_administrators_suspend_and_resume(make_cluster):
    cluster = make_cluster(nodes=1, config=QUICK)
    job = cluster.submit(COUNT.format(dir=cluster.work), "--gpus=2", "-N1", "-t", "60", "--mem=1G")
    wait_for((cluster.work / "n").exists, "the job counts")
    cluster.wait_state(job, "RUNNING")
    cluster.run("gcontrol", "suspend", job)
    cluster.wait_state(job, "SUSPENDED")
    stood = frozen(cluster)
    # Its cores are free, its GPUs are not.
    other = cluster.submit("sleep 600", "-N1", "-n1", "-c", "200", "-t", "60", "--mem=1G")
    cluster.wait_state(other, "RUNNING")
    gpus = cluster.submit("sleep 600", "-N1", "--gpus=8", "-t", "60", "--mem=1G")
    cluster.wait_state(gpus, "PENDING")
    done = cluster.run("gcontrol", "suspend", job, check=False)
    assert done.returncode == 1 and "suspended already" in done.stderr
    cluster.run("gcancel", other)
    cluster.run("gcontrol", "resume", job)
    cluster.wait_state(job, "RUNNING")
    goes_on(cluster, stood)
    done = cluster.run("gcontrol", "resume", job, check=False)
    assert done.returncode == 1 and "is not suspended" in done.stderr
    finish(cluster, job)
