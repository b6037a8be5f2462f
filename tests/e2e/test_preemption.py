"""Preempted jobs, with real daemons: what they are told, what becomes of them, what is counted."""

import datetime
import json
import signal
import time

import pytest
from cluster import wait_for
from conftest import QUICK, needs_root

ALICE, BOB = "daemon", "games"  # Ordinary users that every Debian has.

# Nobody is protected, so that the same job can be preempted twice at once.
TREE = QUICK + """
scheduler: {reclaim_delay_max: 0s}
qos:
  - {name: patient, guaranteed: {gpu: 0}, grace: 120s}
  - {name: hasty, guaranteed: {gpu: 0}, grace: 1s}
  - {name: owner, guaranteed: {gpu: 8}}
"""

# Says what it knows at its start; at the signal shows what it is told there, and then does as it was written.
SCRIPT = """
echo "$GANGWAY_PREEMPTIONS ${{SLURM_RESTART_COUNT:-0}} $GANGWAY_ON_PREEMPT" >> {dir}/runs
[ -e "$GANGWAY_PREEMPT_FILE" ] && echo early >> {dir}/runs
trap 'cat "$GANGWAY_PREEMPT_FILE" > {dir}/told.new; mv {dir}/told.new {dir}/told; {then}' {signal}
touch {dir}/up
while :; do sleep 0.1; done
"""


class Loan:
    """A job that runs on GPUs which another QOS is guaranteed."""

    def __init__(self, cluster, *options, qos="patient", then="exit 1", signo="USR1", user=None):
        self.cluster = cluster
        script = SCRIPT.format(dir=cluster.work, then=then, signal=signo)
        self.id = cluster.submit(script, "-q", qos, "--gpus=8", "-N1", "-t", "60", *options, user=user)
        wait_for((cluster.work / "up").exists, "the job's script")

    def take_back(self):
        self.due = self.cluster.submit("sleep 600", "-q", "owner", "--gpus=8", "-N1", "-t", "60")
        return self.due

    def told(self):
        path = self.cluster.work / "told"
        wait_for(path.exists, "the job is told")
        return json.loads(path.read_text())

    def runs(self):
        return (self.cluster.work / "runs").read_text().split("\n")[:-1]

    def detail(self):
        return self.cluster.detail(self.id)


def test_a_victim_gets_its_signal_and_reads_why_and_until_when(make_cluster):
    cluster = make_cluster(nodes=1, config=TREE)
    loan = Loan(cluster, "--preempt-signal=USR1")
    before = time.time()
    due = loan.take_back()
    told = loan.told()
    assert (told["reason"], told["by_job"], told["rule"], told["what"]) == ("preempted", due, 5, "requeue")
    assert told["grace_seconds"] == 120
    assert before + 119 <= told["until_unix"] <= time.time() + 121
    until = datetime.datetime.strptime(told["until"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
    assert until.timestamp() == told["until_unix"]
    cluster.wait_state(due, "RUNNING")
    cluster.wait_state(loan.id, "PENDING")
    detail = loan.detail()
    assert (detail["OnPreempt"], detail["Preemptions"], detail["Restarts"]) == ("requeue", "1", "1")
    assert float(detail["LostGpuSeconds"]) > 0
    cluster.run("gcancel", due)
    wait_for(lambda: len(loan.runs()) == 2, "the next run")
    assert loan.runs() == ["0 0 requeue", "1 1 requeue"]
    row = cluster.json("gcontrol", "show", "job", loan.id, "--json")["jobs"][0]
    assert (row["on_preempt"], row["preemption_count"], row["preempt_signal"]) == ("requeue", 1, signal.SIGUSR1)
    assert row["lost_gpu_seconds"] > 0


@needs_root
def test_nobody_else_reads_what_a_job_is_told(make_cluster):
    cluster = make_cluster(nodes=1, config=TREE)
    if cluster.run("gqueue", user=ALICE, check=False).returncode != 0:
        pytest.skip("other users cannot run the programs in this build folder")
    path = cluster.work / "path"
    loan = Loan(cluster, "--preempt-signal=USR1", then=f'echo "$GANGWAY_PREEMPT_FILE" > {path}.new; mv {path}.new {path}; sleep 600',
                user=ALICE)
    due = loan.take_back()
    assert loan.told()["by_job"] == due  # by Alice
    wait_for(path.exists, "the name of the file")
    words = ["cat", path.read_text().strip()]
    assert cluster.run(*words, user=ALICE).stdout.startswith("{")
    assert "ermission denied" in cluster.run(*words, user=BOB, check=False).stderr


def test_who_does_not_listen_is_killed_when_the_grace_is_over(make_cluster):
    cluster = make_cluster(nodes=1, config=TREE)
    loan = Loan(cluster, qos="hasty", then="true", signo="TERM")
    due = loan.take_back()
    assert loan.told()["grace_seconds"] == 1
    cluster.wait_state(due, "RUNNING")
    assert loan.detail()["Preemptions"] == "1"


def test_a_job_may_rather_end_than_wait_again(make_cluster):
    cluster = make_cluster(nodes=1, config=TREE)
    loan = Loan(cluster, "--on-preempt=cancel", "--no-requeue", then="exit 3", signo="TERM")
    due = loan.take_back()
    assert loan.told()["what"] == "cancel"
    cluster.wait_state(loan.id, "PREEMPTED")
    detail = loan.detail()
    assert (detail["Preemptions"], detail["Restarts"], detail["ExitCode"]) == ("1", "0", "3:0")
    assert f"preempted for job {due}" in detail["ReasonDetail"] + cluster.reason_text(loan.id)
    cluster.wait_state(due, "RUNNING")
    assert loan.runs() == ["0 0 cancel"]


def test_what_was_saved_is_not_lost(make_cluster):
    cluster = make_cluster(nodes=1, config=TREE)
    # The first time it saves and ends well; the second time it says that it has saved, and then fails.
    then = f"if [ -e {cluster.work}/again ]; then gangway checkpointed && exit 1; else touch {cluster.work}/again; exit 0; fi"
    loan = Loan(cluster, "--on-preempt=checkpoint", then=then, signo="TERM")
    due = loan.take_back()
    assert loan.told()["what"] == "checkpoint"
    cluster.wait_state(due, "RUNNING")
    cluster.wait_state(loan.id, "PENDING")  # code 0 is not its end
    detail = loan.detail()
    assert (detail["Preemptions"], detail["LostGpuSeconds"]) == ("1", "0.0")
    (cluster.work / "up").unlink()
    cluster.run("gcancel", due)
    wait_for((cluster.work / "up").exists, "the next run")
    cluster.wait_state(loan.take_back(), "RUNNING")
    assert loan.detail()["Preemptions"] == "2"
    history = cluster.run("gcontrol", "show", "job", loan.id, "--history").stdout
    assert "checkpointed" in history
    assert loan.runs() == ["0 0 checkpoint", "1 1 checkpoint"]


def test_a_node_daemon_that_is_started_anew_changes_no_grace(make_cluster):
    cluster = make_cluster(nodes=1, config=TREE)
    leave = cluster.work / "leave"
    loan = Loan(cluster, then=f"until [ -e {leave} ]; do sleep 0.1; done; exit 1", signo="TERM")
    due = loan.take_back()
    told = loan.told()
    cluster.restart("gnoded.n0")
    wait_for(lambda: set(cluster.node_states().values()) == {"completing"}, f"the node is back: {cluster.node_states()}")
    (cluster.work / "told").unlink()
    assert "COMPLETING" in cluster.state(loan.id) and cluster.state(due) == "PENDING"
    leave.touch()
    cluster.wait_state(due, "RUNNING")
    cluster.wait_state(loan.id, "PENDING")
    assert not (cluster.work / "told").exists()  # it was told once
    assert told["by_job"] == due and loan.detail()["Preemptions"] == "1"
