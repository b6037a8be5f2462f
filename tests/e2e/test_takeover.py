"""An upgrade: what an earlier build's programs have made (the state, the nodes' folders, jobs and steps that run) is taken
over by this build's. No job is lost, doubled or ended, each continues as it was, and ids and settings continue.

GANGWAY_EARLIER names the folder of the earlier build (the one that holds bin/). Without it a copy of this build stands in
for it: its programs lie elsewhere, and its step launcher is another file.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import tempfile

import pytest
from cluster import BIN, copy_of_build, is_alive, wait_for
from conftest import QUICK, needs_root

pytestmark = needs_root  # who may use a reservation

LONG = 90  # seconds; eight nodes on a busy machine
CONFIG = QUICK + """
partition_defaults: {share_suspended_gpus: true}
qos:
  - {name: patient, guaranteed: {gpu: 0}, grace: 120s}
  - {name: owner, guaranteed: {gpu: 8}}
  - {name: narrow, limit: {gpu: 4}}
  - {name: wide}
"""

# Writes down its starts, counts in memory alone, shows what it is told of its nodes, and ends when it may.
SCRIPT = """
dir={dir} name={name}
tell() {{ cp "$GANGWAY_HOSTLIST_FILE" $dir/$name.now.new; chmod u+w $dir/$name.now.new; mv $dir/$name.now.new $dir/$name.now; }}
trap tell WINCH
[ -z "$GANGWAY_HOSTLIST_FILE" ] || tell
echo $SLURMD_NODENAME $$ >> $dir/$name.starts
{first}
n=0
while [ ! -e $dir/$name.go ]; do n=$((n + 1)); echo $n > $dir/$name.n.new; mv $dir/$name.n.new $dir/$name.n; sleep 0.1; done
{last}
exit {code}
"""


@pytest.fixture(scope="module")
def earlier():
    """The bin folder of the programs that come first."""
    if os.environ.get("GANGWAY_EARLIER"):
        yield pathlib.Path(os.environ["GANGWAY_EARLIER"]).resolve() / "bin"
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gwe2e-earlier-", dir="/tmp"))
    folder.chmod(0o755)
    copy = copy_of_build(folder)
    other = copy / "gstepd.new"
    shutil.copy2(copy / "gstepd", other)
    os.utime(other)
    other.rename(copy / "gstepd")
    yield copy
    shutil.rmtree(folder, ignore_errors=True)


class Job:
    """A batch job that runs until it is told to end, and ends with its code."""

    def __init__(self, cluster, name, *options, code=0, first="", last=""):
        self.cluster, self.name, self.code = cluster, name, code
        text = SCRIPT.format(dir=cluster.work, name=name, first=first, last=last, code=code)
        self.id = cluster.submit(text, "-J", name, "-t", "60", "--mem=1G", *options)

    def file(self, kind):
        return self.cluster.work / f"{self.name}.{kind}"

    def starts(self):
        text = self.file("starts").read_text() if self.file("starts").exists() else ""
        return [line.split() for line in text.splitlines()]

    def wait_start(self):
        wait_for(lambda: self.file("n").exists(), lambda: f"start of {self.name}; {self.cluster.reason_text(self.id)}", LONG)
        self.cluster.wait_state(self.id, "RUNNING", deadline=LONG)
        return self

    def count(self):
        return int(self.file("n").read_text())

    def goes_on(self, since):
        wait_for(lambda: self.count() > since, f"{self.name} continues counting from {since}", LONG)

    def told(self):
        return sorted(self.file("now").read_text().split())

    def finish(self):
        """It ends by itself, having begun once, with its own exit code."""
        self.file("go").touch()
        self.cluster.wait_state(self.id, "FAILED" if self.code else "COMPLETED", deadline=LONG)
        detail = self.cluster.detail(self.id)
        assert (detail["ExitCode"], detail["Restarts"]) == (f"{self.code}:0", "0"), self.cluster.reason_text(self.id)
        assert len(self.starts()) == 1, self.starts()


class Everything:
    """Something of each kind, made by the earlier build on eight nodes of eight GPUs."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.settings()
        self.ended = cluster.submit("exit 4", "-t", "5")
        cluster.wait_state(self.ended, "FAILED")
        self.gang = Job(cluster, "gang", "-N2", "--gpus-per-node=8", "-w", "n[0-1]", code=3)
        self.blocker = Job(cluster, "blocker", "-N1", "--gpus-per-node=8", "-w", "n5")
        self.asked = Job(cluster, "asked", "-n1", "--gpus=2", "-w", "n4")  # an administrator suspends it
        inside = "grun -n1 sh -c 'echo $$ > $0.pid; until [ -e $0.go ]; do sleep 0.1; done; exit 6' {0} &".format(
            cluster.work / "inside")
        self.steps = Job(cluster, "steps", "-n2", "--gpus=1", "-w", "n4", first=inside,
                         last=f"wait $!; echo $? > {cluster.work}/inside.code; grun -n2 hostname > {cluster.work}/after")
        self.narrow = Job(cluster, "narrow", "-n1", "--gpus=1", "-w", "n4", "-q", "narrow")
        self.het = Job(cluster, "het", "-n1", "--gpus=1", "-w", "n4", ":", "-n1", "--gpus=1", "-w", "n4", code=2)
        self.patient = Job(cluster, "patient", "-N1", "--gpus=8", "-p", "made", "-q", "patient", "--on-preempt=suspend")
        for job in (self.gang, self.blocker, self.asked, self.steps, self.narrow, self.het, self.patient):
            job.wait_start()
        self.elastic = Job(cluster, "elastic", "-N1-3", "--gpus-per-node=8", "--elastic", "-q", "wide", "-x", "n[6-7]").wait_start()
        wait_for(lambda: self.elastic.told() == ["n2", "n3"], "the elastic gang has two nodes", LONG)
        wait_for((cluster.work / "inside.pid").exists, "the step", LONG)
        self.owner = Job(cluster, "owner", "-N1", "--gpus=8", "-p", "made", "-q", "owner").wait_start()
        cluster.wait_state(self.patient.id, "SUSPENDED")
        cluster.run("gcontrol", "suspend", self.asked.id)
        cluster.wait_state(self.asked.id, "SUSPENDED")
        self.held = cluster.submit("exit 0", "-H", "-t", "5", "--comment=as it was", "-J", "held")
        cluster.run("gcontrol", "update", f"JobId={self.held}", "TimeLimit=7", "Nice=3")
        self.behind = cluster.submit("exit 0", "-q", "narrow", "--gpus=4", "-w", "n4", "-t", "5", "-J", "behind")
        self.later = cluster.submit("exit 0", "--begin=now+2hours", "-t", "5", "-J", "later")
        self.course = cluster.submit("exit 0", "--reservation=course", "-t", "5", "-J", "course")
        wait_for(lambda: cluster.show(self.behind, "%r") == "QOSJobLimit", "the limit")
        go = cluster.work / "client.go"
        self.client = cluster.popen("grun", "-n1", "-w", "n4", "-J", "client", "-t", "60", "--mem=1G", "sh", "-c",
                                    f"echo up; until [ -e {go} ]; do sleep 0.1; done; echo over; exit 5")
        assert self.client.stdout.readline() == "up\n"
        self.last = int(cluster.run("gqueue", "-h", "-n", "client", "-o", "%A").stdout)
        self.running = [self.gang, self.blocker, self.steps, self.narrow, self.het, self.elastic, self.owner]
        self.suspended = [self.asked, self.patient]

    def settings(self):
        """What administrators change at run time."""
        cluster = self.cluster
        cluster.run("gcontrol", "create", "PartitionName=made", "Nodes=n6", "MaxTime=90")
        cluster.run("gcontrol", "update", "PartitionName=made", "PriorityTier=3")
        cluster.run("gcontrol", "create", "ReservationName=course", "StartTime=now+1days", "Duration=60", "Nodes=n1",
                    "Users=root,daemon")
        cluster.run("gacctmgr", "-i", "add", "qos", "above", "guaranteed=gpu:4", "weight=2")
        cluster.run("gacctmgr", "-i", "add", "qos", "below", "parent=above", "limit=gpu:2")
        cluster.run("gacctmgr", "-i", "add", "user", "daemon", "account=below", "default_qos=below")
        cluster.run("gacctmgr", "-i", "modify", "qos", "narrow", "set", "limit=gpu:4", "grace=10s")
        cluster.run("gcontrol", "update", "NodeName=n7", "State=DRAIN", "Reason=as it was")

    def look(self):
        """What there is, as commands show it; nothing that time changes."""
        cluster = self.cluster
        rows = cluster.run("gqueue", "-h", "-t", "all", "-o", "%A|%i|%T|%r|%N|%j|%q|%P|%l|%u").stdout.splitlines()
        ids = [int(row.split("|")[0]) for row in rows]
        assert len(set(ids)) == len(ids), rows
        found = {id: row for id, row in zip(ids, rows) if id <= self.last}
        found["steps"] = sorted(cluster.run("gqueue", "-h", "-s", "-o", "%i|%j|%N").stdout.split())
        found["nodes"] = cluster.node_states()
        found["qos"] = cluster.run("gacctmgr", "dump").stdout
        found["reservations"] = cluster.run("gcontrol", "show", "reservation").stdout
        found["held"] = re.findall("Comment=.*|TimeLimit=.*|Nice=.*", cluster.reason_text(self.held))
        for name in ("main", "made"):
            shown = cluster.json("gcontrol", "show", "partition", name, "--effective", "--json")["partitions"]
            found[f"partition {name}"] = {key: said["value"] for key, said in shown[0]["keys"].items()}
        return found

    def check(self, before):
        """All is as it was before."""
        wait_for(lambda: self.look() == before, lambda: f"all as before:\n{differences(before, self.look())}", LONG)
        counts = {job: job.count() for job in self.running + self.suspended}
        for job in self.running:
            job.goes_on(counts[job])
        for job in self.suspended:
            assert job.count() == counts[job], job.name
        for job in counts:
            assert len(job.starts()) == 1 and is_alive(int(job.starts()[0][1])), (job.name, job.starts())
            assert self.cluster.detail(job.id)["Restarts"] == "0"
        assert is_alive(int((self.cluster.work / "inside.pid").read_text()))
        assert self.client.poll() is None

    def finish(self):
        """What was to come comes: the end of what runs, the start of what waits."""
        cluster = self.cluster
        new = cluster.submit("exit 0", "-w", "n4", "-t", "5")
        assert new > self.last, "an id was given again"
        cluster.wait_state(new, "COMPLETED")
        self.blocker.finish()  # its node is the third that the elastic gang asks for
        wait_for(lambda: self.elastic.told() == ["n2", "n3", "n5"], lambda: f"the gang grows: {self.elastic.told()}", LONG)
        self.owner.finish()
        (cluster.work / "client.go").touch()  # it has cores that a suspended job left
        assert (self.client.stdout.read(), self.client.wait(LONG)) == ("over\n", 5), self.client.stderr.read()
        cluster.run("gcontrol", "resume", self.asked.id)
        for job in self.suspended:
            stood = job.count()
            cluster.wait_state(job.id, "RUNNING", deadline=LONG)
            job.goes_on(stood)
        (cluster.work / "inside.go").touch()
        for job in [self.gang, self.steps, self.het, self.elastic, *self.suspended]:
            job.finish()
        assert cluster.state(self.het.id + 1) == "FAILED"
        assert (cluster.work / "inside.code").read_text() == "6\n"
        assert (cluster.work / "after").read_text().split() == ["n4", "n4"]
        cluster.run("gcontrol", "release", self.held)
        cluster.run("gcontrol", "update", f"JobId={self.later}", "StartTime=now")
        assert cluster.state(self.behind) == "PENDING"
        self.narrow.finish()
        for job in (self.held, self.later, self.behind):
            cluster.wait_state(job, "COMPLETED", deadline=LONG)
        assert cluster.state(self.course) == "PENDING"
        history = cluster.run("gcontrol", "show", "job", self.gang.id, "--history").stdout
        assert history.count("submitted") == 1, history


def differences(before, after):
    keys = sorted(before.keys() | after.keys())
    return "\n".join(f"{key}: {before.get(key)} -> {after.get(key)}" for key in keys if before.get(key) != after.get(key))


def complaints(cluster):
    """What `gangway doctor` finds at fault; rows that the controller could not read would be there, too."""
    findings = json.loads(cluster.gangway("doctor", "--json", check=False).stdout)["findings"]
    assert cluster.run("gcontrol", "show", "heldaside").stdout == "No rows are held aside\n"
    return [(one["check"], one["level"]) for one in findings if one["level"] != "ok"]


def stop(cluster, daemon):
    pid = cluster.kill(daemon, signal.SIGTERM)
    wait_for(lambda: not is_alive(pid), f"the end of {daemon}", LONG)


def install(cluster, programs):
    """Daemons that are started from now on are these, and so are commands."""
    for record in (cluster.dir / "run").resolve().glob("*.cmd"):
        record.write_bytes(record.read_bytes().replace(bytes(cluster.bin), bytes(programs)))
    cluster.bin = programs
    cluster.env = cluster.read_env()
    assert f"{programs}:" in cluster.env["PATH"]


def folder_of(cluster, daemon):
    return pathlib.Path(f"/proc/{cluster.pid(daemon)}/exe").resolve().parent


def nodes_are_back(cluster):
    states = cluster.node_states()
    return len(states) == cluster.nodes and not any(s.endswith("*") or s == "unknown" for s in states.values())


def node_daemons(cluster):
    return [f"gnoded.{node}" for node in sorted(cluster.node_folders())]


def controller_first(cluster, world, before):
    """As the admin guide says. Meanwhile the nodes' daemons and the users' commands are the earlier ones."""
    earlier, earlier_env = cluster.bin, cluster.env
    stop(cluster, "gctld")
    install(cluster, BIN)
    cluster.start("gctld")
    wait_for(lambda: cluster.ping() and nodes_are_back(cluster), lambda: f"all nodes; {cluster.node_states()}", LONG)
    world.check(before)
    assert (folder_of(cluster, "gctld"), folder_of(cluster, "gnoded.n4")) == (BIN, earlier)
    new_env, cluster.env = cluster.env, earlier_env
    assert cluster.run("grun", "-n1", "-w", "n4", "--mem=1G", "-t", "5", "echo", "beside").stdout == "beside\n"
    cluster.wait_state(cluster.submit("exit 9", "-w", "n4", "-t", "5"), "FAILED")
    cluster.env = new_env
    for daemon in node_daemons(cluster):
        stop(cluster, daemon)
        cluster.start(daemon)


def all_at_once(cluster, _world, _before):
    daemons = ["gctld", *node_daemons(cluster)]
    for daemon in daemons:
        stop(cluster, daemon)
    install(cluster, BIN)
    for daemon in daemons:
        cluster.start(daemon)
    wait_for(cluster.ping, "the controller answers", LONG)


@pytest.mark.parametrize("way", [controller_first, all_at_once])
def test_what_an_earlier_build_has_made_is_taken_over(make_cluster, earlier, way):
    cluster = make_cluster(nodes=8, config=CONFIG, bin_folder=earlier)
    assert folder_of(cluster, "gctld") == earlier
    world = Everything(cluster)
    before, sick = world.look(), complaints(cluster)
    way(cluster, world, before)
    wait_for(lambda: nodes_are_back(cluster), lambda: f"all nodes; {cluster.node_states()}", LONG)
    world.check(before)
    assert complaints(cluster) == sick
    assert {folder_of(cluster, daemon) for daemon in ["gctld", *node_daemons(cluster)]} == {BIN}
    world.finish()
    assert complaints(cluster) == sick
