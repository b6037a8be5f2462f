"""Elastic gangs with real daemons: nodes join and leave while the script continues, and it is told of each change."""

import os

from cluster import wait_for
from conftest import QUICK

TREE = QUICK + """
qos:
  - {name: patient, guaranteed: {gpu: 0}, grace: 2s}
  - {name: owner, guaranteed: {gpu: 24}}
"""

# Keeps what it is told, with each signal, until it may end. A signal is counted before what it tells can be seen.
SCRIPT = """
tell() {{ cp "$GANGWAY_HOSTLIST_FILE" {dir}/now.new; chmod u+w {dir}/now.new; mv {dir}/now.new {dir}/now; }}
trap 'echo x >> {dir}/changes; tell' {signal}
tell
while [ ! -e {dir}/stop ]; do sleep 0.1; done
"""


class Gang:
    def __init__(self, cluster, *options, signo="WINCH"):
        self.cluster = cluster
        self.id = cluster.submit(SCRIPT.format(dir=cluster.work, signal=signo), "-q", "patient", "-t", "60", *options)

    def told(self):
        path = self.cluster.work / "now"
        return path.read_text().split() if path.exists() else []

    def is_told(self, *nodes):
        wait_for(lambda: sorted(self.told()) == sorted(nodes),
                 lambda: f"the script is told of {nodes}, not {self.told()}; the job is {self.cluster.state(self.id)}")

    def nodes(self):
        return set(self.cluster.run("gcontrol", "show", "hostnames", self.cluster.show(self.id, "%N")).stdout.split())

    def end(self):
        (self.cluster.work / "stop").touch()
        assert self.cluster.wait_ended(self.id)
        assert self.cluster.state(self.id) == "COMPLETED"


def test_it_grows_gives_back_and_grows_again(make_cluster):
    cluster = make_cluster(nodes=3, config=TREE)
    gang = Gang(cluster, "-N1-3", "--gpus-per-node=8", "--elastic")
    gang.is_told("n0", "n1", "n2")
    assert "Elastic=1-3 nodes" in cluster.reason_text(gang.id)
    due = cluster.submit("sleep 600", "-q", "owner", "-N2", "--gpus-per-node=8", "-t", "60")
    cluster.wait_state(due, "RUNNING")
    wait_for(lambda: len(gang.told()) == 1, "the script is told of the one node that it keeps")
    assert cluster.state(gang.id) == "RUNNING"
    wait_for(lambda: gang.nodes() == set(gang.told()), "what it gave back is no longer its own")
    cluster.run("gcancel", due)
    gang.is_told("n0", "n1", "n2")
    assert os.path.getsize(cluster.work / "changes") >= 4, "a signal with each change"
    gang.end()
    cluster.wait_idle()


def test_the_script_outlives_a_crash_of_the_controller_and_of_its_node(make_cluster):
    cluster = make_cluster(nodes=2, config=TREE)
    gang = Gang(cluster, "-n16", "--min-tasks=8", "--gpus-per-task=1", "--elastic", "--resize-signal=USR1",
                signo="USR1")
    gang.is_told("n0", "n1")
    first = gang.told()[0]
    for daemon in ("gctld", f"gnoded.{first}"):
        cluster.restart(daemon)
    wait_for(cluster.ping, "the controller")
    due = cluster.submit("sleep 600", "-q", "owner", "-N1", "--gpus-per-node=8", "-t", "60")
    gang.is_told(first)
    cluster.wait_state(due, "RUNNING")
    assert cluster.state(gang.id) == "RUNNING"
    gang.end()


def test_a_script_that_catches_nothing_is_not_killed_by_being_told(make_cluster):
    cluster = make_cluster(nodes=2, config=TREE)
    cluster.kill("gnoded.n1")
    script = "echo x > up; until grep -q n1 $GANGWAY_HOSTLIST_FILE; do sleep 0.1; done; echo x > grown; sleep 600"
    gang = cluster.submit(script, "-q", "patient", "-t", "60", "-N1-2", "--gpus-per-node=8", "--elastic",
                          "--resize-signal=USR1")
    wait_for(lambda: (cluster.work / "up").exists(), "the script runs on one node")
    cluster.start("gnoded.n1")
    wait_for(lambda: (cluster.work / "grown").exists(), lambda: f"the gang grows and lives: {cluster.state(gang)}")
    # The signal goes the way of the end's: had it been sent, it would have come before.
    cluster.run("gcancel", "-b", "-s", "USR2", gang)
    assert cluster.wait_ended(gang)
    assert cluster.detail(gang)["ExitCode"] == "0:12"


def test_what_contradicts_itself_is_refused(make_cluster):
    cluster = make_cluster(nodes=2, config=TREE)
    for options, what in (
        (["-N2", "--elastic"], "one size only"),
        (["--elastic"], "between which sizes?"),
        (["-N1-2", "--elastic", "--gpus=8"], "no fixed number"),
        (["-n4", "--min-tasks=4"], "not below"),
        (["-N1-2", "--elastic", "--switches=1"], "--switches"),
        (["-N1-2", "--elastic", "--resize-signal=NONSENSE"], "--resize-signal"),
    ):
        done = cluster.run("gbatch", *options, "--wrap", "true", check=False)
        assert done.returncode != 0 and what in done.stderr, (options, done.stderr)
