"""Each partition its own policy, with real daemons: who is next, who makes room, where jobs go, and what is kept over a restart."""

import json
import os
import pathlib
import re
import shutil
import subprocess

from cluster import wait_for
from conftest import QUICK, needs_root

ANN, BOB = "daemon", "games"  # Ordinary users that every Debian has.

# Determined's example: in one pool users take turns and jobs go to the emptiest node; in the other the urgent go first, take
# running jobs off, and jobs go to the fullest node.
POOLS = QUICK + """
partitions:
  - {name: pool1, nodes: "n[0-1]", default: true, unlimited: true, order: round_robin, fit: worst}
  - {name: pool2, nodes: "n[2-3]", unlimited: true, order: priority, fit: best}
"""
SLEEP = "sleep 600"


def node_of(cluster, job):
    return cluster.show(job, "%N")


@needs_root
def test_one_pool_takes_turns_on_the_emptiest_nodes_the_other_goes_by_priority(make_cluster):
    cluster = make_cluster(nodes=4, config=POOLS)
    # Pool 1: sixteen GPUs. Ann was here first with three jobs of four; one of them waits behind Bob's first.
    ann = [cluster.submit(SLEEP, "--gpus=4", "-N1", user=ANN) for _ in range(4)]
    for job in ann:
        cluster.wait_state(job, "RUNNING")
    nodes = [node_of(cluster, job) for job in ann]
    assert nodes[0] != nodes[1], "the emptiest node: one beside the other"
    waits = cluster.submit(SLEEP, "--gpus=4", "-N1", user=ANN)
    bobs = cluster.submit(SLEEP, "--gpus=4", "-N1", user=BOB)
    cluster.run("gcancel", ann[0])
    cluster.wait_state(bobs, "RUNNING")
    assert cluster.state(waits) == "PENDING", "whose jobs hold least is next, whoever came first"

    # Pool 2: the fullest node, and who is urgent takes the place of who is not.
    low = [cluster.submit(SLEEP, "-p", "pool2", "--priority=50", "--gpus=4", "-N1") for _ in range(2)]
    for job in low:
        cluster.wait_state(job, "RUNNING")
    assert len({node_of(cluster, job) for job in low}) == 1, "the fullest node: one on top of the other"
    urgent = cluster.submit(SLEEP, "-p", "pool2", "--priority=99", "--gpus-per-node=8", "-N2")
    cluster.wait_state(urgent, "RUNNING")
    for job in low:
        cluster.wait_state(job, "PENDING")
        assert cluster.detail(job)["Preemptions"] == "1"
    # Nobody of the other pool was touched, whatever its priority.
    for job in (*ann[1:], bobs):
        assert cluster.detail(job)["Preemptions"] == "0"

    # What holds in each, and where it comes from.
    shown = {name: cluster.run("gcontrol", "show", "partition", name, "--effective").stdout for name in ("pool1", "pool2")}
    assert re.search(r"order +round_robin +.*gangway.yaml:", shown["pool1"]), shown["pool1"]
    assert re.search(r"fit +worst +.*gangway.yaml:", shown["pool1"]), shown["pool1"]
    assert re.search(r"quantum +(1m|00:01:00) +.*built-in", shown["pool2"]), shown["pool2"]

    # Each job is shown with the order that ranks it.
    orders = {row["job_id"]: row["order"] for row in cluster.json("gprio", "--json")["jobs"]}
    assert orders[waits] == "round_robin"
    assert {orders[job] for job in low} == {"priority"}


@needs_root
def test_a_pool_gets_another_policy_while_jobs_run(make_cluster):
    cluster = make_cluster(nodes=4, config=POOLS)
    low = cluster.submit(SLEEP, "-p", "pool2", "--priority=50", "--gpus-per-node=8", "-N2")
    cluster.wait_state(low, "RUNNING")
    path = (cluster.dir / "run").resolve() / "gangway.yaml"
    path.write_text(path.read_text().replace("order: priority", "order: fifo_skip"))
    shown = cluster.run("gcontrol", "reconfigure").stdout
    assert "partitions.pool2.order" in shown, shown
    high = cluster.submit(SLEEP, "-p", "pool2", "--priority=99", "--gpus-per-node=8", "-N1")
    wait_for(lambda: cluster.detail(high)["Reason"] == "Resources", "the job to wait for room")
    assert cluster.state(low) == "RUNNING", "no order takes anybody off unasked"
    path.write_text(path.read_text().replace("order: fifo_skip", "order: priority"))
    cluster.run("gcontrol", "reconfigure")
    cluster.wait_state(high, "RUNNING")
    cluster.wait_state(low, "PENDING")

    # What is wrong is told with its place, and nothing of it is taken over.
    for wrong, word in (("order: priorty", "priority"), ("order: priority, order_weights: {preemtion: 1}", "preemption")):
        path.write_text(path.read_text().replace("order: priority", wrong))
        done = cluster.run("gcontrol", "reconfigure", check=False)
        assert done.returncode != 0 and "gangway.yaml:" in done.stderr and word in done.stderr, done.stderr
        path.write_text(path.read_text().replace(wrong, "order: priority"))


def test_nodes_are_kept_for_jobs_with_gpus(make_cluster):
    cluster = make_cluster(nodes=4, config=POOLS)
    first = cluster.submit(SLEEP, "-p", "pool2", "-c1")
    cluster.wait_state(first, "RUNNING")
    full = cluster.submit(SLEEP, "-p", "pool1", "--exclusive", "-N2")
    cluster.wait_state(full, "RUNNING")
    waits = cluster.submit(SLEEP, "-p", "pool1", "-c1")
    path = (cluster.dir / "run").resolve() / "gangway.yaml"
    path.write_text(path.read_text().replace("order: round_robin", "filter: gpu_jobs").replace("order: priority", "filter: gpu_jobs"))
    assert "partitions.pool2.filter" in cluster.run("gcontrol", "reconfigure").stdout

    done = cluster.run("gbatch", "-p", "pool2", "-c1", "--wrap", "true", check=False)
    assert done.returncode == 1
    assert "the filter gpu_jobs of partition pool2 keeps its nodes for jobs that ask for GPUs" in done.stderr, done.stderr
    assert cluster.state(first) == "RUNNING", "who runs is not asked again"
    cluster.run("gcancel", full)
    told = "2 are kept for other jobs by the partition's filter"
    wait_for(lambda: told in cluster.run("gangway", "why", waits).stdout, "the job that waits to be told")
    cluster.wait_state(cluster.submit(SLEEP, "-p", "pool1", "--gpus=1"), "RUNNING")
    assert " Filter=gpu_jobs" in " " + " ".join(cluster.run("gcontrol", "show", "partition", "pool2").stdout.split())

    path.write_text(path.read_text().replace("filter: gpu_jobs", "order: round_robin", 1))
    cluster.run("gcontrol", "reconfigure")
    cluster.wait_state(waits, "RUNNING")


LAS = QUICK + """
scheduler: {order: las2d, order_weights: {queue_1: 0.01, queue_2: 0}, quantum: 1s}
"""


def test_attained_service_outlives_the_controller(make_cluster):
    """36 GPU-seconds are the first queue's. What a job has had before a crash of the controller counts after it."""
    cluster = make_cluster(nodes=1, config=LAS)
    long = cluster.submit(SLEEP, "--gpus=8", "-N1", "-t", "60")
    cluster.wait_state(long, "RUNNING")

    def has_had_its_part():
        return json.loads(cluster.run("gcontrol", "show", "job", long, "--json").stdout)["jobs"][0]["attained_gpu_seconds"] > 36

    wait_for(has_had_its_part, "the long job's first queue to be over")
    before = cluster.json("gcontrol", "show", "job", long, "--json")["jobs"][0]["attained_gpu_seconds"]
    cluster.kill("gctld")
    cluster.start("gctld")
    wait_for(cluster.ping, "the controller")
    assert cluster.json("gcontrol", "show", "job", long, "--json")["jobs"][0]["attained_gpu_seconds"] >= before
    short = cluster.submit("true", "--gpus=8", "-N1", "-t", "1")
    assert cluster.wait_ended(short) == "COMPLETED"
    assert cluster.detail(long)["Preemptions"] == "1"


THEMIS = QUICK + """
scheduler: {order: themis, order_weights: {lease_minutes: 0.1}}
"""


def test_who_is_worst_off_takes_the_gpus_at_the_end_of_a_lease(make_cluster):
    """Leases of six seconds. A job of ten hours that began at once is well off; one of ten minutes that waits for it is not."""
    cluster = make_cluster(nodes=1, config=THEMIS)
    long = cluster.submit(SLEEP, "--gpus=8", "-N1", "-t", "10:00:00")
    cluster.wait_state(long, "RUNNING")
    short = cluster.submit(f"touch {cluster.dir}/began; while [ ! -e {cluster.dir}/end ]; do sleep 0.05; done", "--gpus=8", "-N1", "-t", "10")
    cluster.wait_state(short, "RUNNING")
    cluster.wait_state(long, "PENDING")
    assert cluster.detail(long)["Preemptions"] == "1"
    wait_for((cluster.dir / "began").exists, "the short job's script to run")
    (cluster.dir / "end").touch()
    assert cluster.wait_ended(short) == "COMPLETED"
    cluster.wait_state(long, "RUNNING")


SLICED = QUICK + """
partitions:
  - {name: pool, nodes: ALL, default: true, unlimited: true, time_slice: 2s}
"""
# Counts in memory alone: who is begun anew begins at 1 again.
COUNTS = """
echo "$SLURM_RESTART_COUNT" >> {dir}/begun.$SLURM_JOB_ID
n=0
while [ ! -e {dir}/end ]; do n=$((n + 1)); echo $n > {dir}/n.$SLURM_JOB_ID.new; mv {dir}/n.$SLURM_JOB_ID.new {dir}/n.$SLURM_JOB_ID; sleep 0.02; done
"""


def turns(cluster, jobs):
    """Who began and ended a turn, in the order of their times: ("began", job) or ("ended", job)."""
    seen = []
    for job in jobs:
        for event in cluster.json("gcontrol", "show", "job", job, "--history", "--json")["jobs"][0]["history"]:
            what = {"started": "began", "resumed": "began", "suspended": "ended"}.get(event["kind"])
            if what:
                seen.append((event["time_us"], event["seq"], what, job))
    return [(what, job) for _, _, what, job in sorted(seen)]


def test_two_gangs_take_turns_over_a_crash_of_the_controller(make_cluster):
    cluster = make_cluster(nodes=1, config=SLICED)
    # Four of eight GPUs are left: who has a higher priority yields to nobody.
    high = cluster.submit(SLEEP, "--gpus=4", "-N1", "--mem=1G", "--priority=5")
    cluster.wait_state(high, "RUNNING")
    jobs = [cluster.submit(COUNTS.format(dir=cluster.work), "--gpus=4", "-N1", "--mem=1G") for _ in range(2)]

    def have_had(count):
        wait_for(lambda: min(turns(cluster, jobs).count(("began", job)) for job in jobs) >= count,
                 lambda: f"{count} turns each, not {turns(cluster, jobs)}")

    have_had(3)
    cluster.kill("gctld")
    cluster.start("gctld")
    wait_for(cluster.ping, "the controller")
    have_had(6)
    counts = [int((cluster.work / f"n.{job}").read_text()) for job in jobs]
    seen = turns(cluster, jobs)
    # One after the other, nobody twice running, and nobody begins before the other is suspended.
    began = [job for what, job in seen if what == "began"]
    assert began == [jobs[i % 2] for i in range(len(began))], seen
    assert [what for what, _ in seen] == [("began", "ended")[i % 2] for i in range(len(seen))], seen
    for job, counted in zip(jobs, counts):
        detail = cluster.detail(job)
        assert (detail["Preemptions"], detail["Restarts"], detail["LostGpuSeconds"]) == ("0", "0", "0.0"), detail
        wait_for(lambda: int((cluster.work / f"n.{job}").read_text()) > counted, "it goes on from where it stood")
        assert (cluster.work / f"begun.{job}").read_text().count("\n") == 1, "it began once"
    (cluster.work / "end").touch()
    for job in jobs:
        cluster.wait_state(job, "COMPLETED")
    assert not turns(cluster, [high])[1:], "it has kept its place"


def test_a_check_of_the_configuration_tries_every_order(make_cluster):
    cluster = make_cluster(nodes=1, config=SLICED)
    folder = cluster.dir / "plugins"
    folder.mkdir(mode=0o755)
    made = pathlib.Path(os.environ["GANGWAY_BUILD"]) / "tests/unit/order_fixtures/order_no_number.so"
    shutil.copy(made, folder)
    (folder / made.name).chmod(0o755)

    def check(text):
        path = cluster.dir / "check.yaml"
        path.write_text((cluster.dir / "run").resolve().joinpath("gangway.yaml").read_text().replace("time_slice: 2s", text) +
                        f"plugin_dirs: [{folder}]\n")
        words = [*cluster.command_of("gctld")[:1], "--config", path, "--check"]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    done = check("time_slice: 2s")
    assert done.returncode == 0, done.stderr
    done = check("order: no_number")
    assert done.returncode == 1
    assert "gctld: error: order no_number of partition pool: score() is no number: it is nan; found with a job of 64 GPUs" in done.stderr
