"""Two virtual machines with Gangway installed by the admin guide: `head` is the controller and a node, `n1` a node."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

import image
from machine import Machine, processor, wait_for

BUILD = pathlib.Path(os.environ.get("GANGWAY_BUILD", ""))
RELEASE = os.environ.get("GANGWAY_VM_DEBIAN", "12")
STEP = re.compile(r"(?m)^```(\w+) host=(\w+)\n(.*?)^```$", re.S)
NODES = "  - name: n1 "
SMI = pathlib.Path(__file__).with_name("rocm_smi.c")


def pytest_configure(config):
    if not (BUILD / "bin" / "gctld").exists():
        pytest.exit(f"GANGWAY_BUILD={BUILD}: no bin/gctld there; run scripts/test --vm", returncode=2)
    if os.geteuid() != 0:
        pytest.exit("the machines' disks are made as root: run scripts/test --vm as root", returncode=2)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed and "cluster" in getattr(item, "funcargs", {}):
        for one in item.funcargs["cluster"].machines:
            done = one.logs()
            report.sections.append((f"logs of {one.name}", done.out + done.err))


class Cluster:
    def __init__(self, head, n1):
        self.head, self.n1 = head, n1
        self.machines = [head, n1]

    def machine(self, name):
        return self.head if name == "head" else self.n1

    def state(self, job):
        lines = self.head.run(f"gcontrol show job {job}").out
        return re.search(r"JobState=(\S+)", lines)[1]

    def wait_state(self, job, *states):
        return wait_for(lambda: (state := self.state(job)) in states and state, lambda: f"job {job} is {states}: "
                        + self.head.run(f"gcontrol show job {job} --history; ginfo -N -o '%N %T %E'", check=False).out)

    def submit(self, *words, where="head"):
        return int(self.machine(where).as_user("gbatch", *words).out.split()[-1])

    def wait_nodes(self, *names):
        """Until these nodes are idle."""
        def idle():
            lines = self.head.run("ginfo -N -h -o '%N %T'", check=False).out.splitlines()
            return all(f"{name} idle" in lines for name in names or ("head", "n1"))
        wait_for(idle, lambda: "the nodes are idle: " + self.head.run("ginfo -N; ginfo -R; gqueue", check=False).out)


def installed_tree(folder):
    """A tar file with what `cmake --install` puts into the system."""
    stage = folder / "stage"
    done = subprocess.run(["cmake", "--install", BUILD, "--prefix", "/usr", "--strip"], env={**os.environ, "DESTDIR": str(stage)},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    tree = folder / "tree.tar"
    subprocess.run(["tar", "-C", stage, "--owner=0", "--group=0", "-cf", tree, "."], check=True)
    shutil.rmtree(stage)
    return tree


def add_gpus(machine, folder):
    """Device files for the two GPUs: real devices that an ordinary user may open, by the names that AMD's driver gives."""
    library = folder / "librocm_smi64.so.7"
    if not library.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", library, SMI], check=True)
    machine.write("/usr/lib/x86_64-linux-gnu/librocm_smi64.so.7", library.read_bytes())
    # As /etc/tmpfiles.d does it at each boot: full, tun and fuse stand in for the driver's.
    machine.write("/etc/modules-load.d/gpus.conf", "tun\nfuse\n")
    machine.write("/etc/tmpfiles.d/gpus.conf", "c /dev/kfd 0666 root root - 1:7\nd /dev/dri 0755 root root -\n"
                  "c /dev/dri/renderD128 0666 root root - 10:200\nc /dev/dri/renderD129 0666 root root - 10:229\n")
    machine.run("modprobe -a tun fuse && systemd-tmpfiles --create gpus.conf")


def follow_the_guide(machines):
    """Every marked step of the admin guide, as it stands there, on the machines that it names."""
    head, n1 = machines
    for language, where, text in STEP.findall(image.GUIDE.read_text()):
        for machine in {"head": [head], "node": [n1], "all": machines}[where]:
            if language == "nft":
                machine.write("/etc/nftables.conf", "flush ruleset\n" + text)
                machine.run("systemctl enable --now nftables || { journalctl -u nftables -n 20 --no-pager; exit 1; }")
                continue
            # There is no ssh between them: what the guide copies goes by way of the test.
            machine.run("set -e\n" + re.sub(r"(?m)^scp .*$", ":", text))
            for source, target in re.findall(r"(?m)^scp (\S+) n1:(\S+)$", text):
                data = machine.run(f"base64 -w0 {source}").out
                n1.run(f"umask 077; base64 -d > {target} <<<{data}")


def make_head_a_node(cluster):
    file = "/etc/gangway/gangway.yaml"
    text = cluster.head.read(file).replace(NODES, "  - name: head\n" + NODES, 1)
    # Nodes that are lost and come back are what is tested here: in seconds, not minutes.
    text += "\nlinks: {heartbeat: 2s, node_timeout: 20s}\njobs: {kill_wait: 5s}\n"
    for machine in cluster.machines:
        machine.write(file, text)
        machine.run(f"chmod 0644 {file}")
    cluster.head.run("gangway config check && systemctl restart gctld && systemctl enable --now gnoded")
    cluster.n1.run("systemctl restart gnoded")


@pytest.fixture(scope="session")
def folder():
    # Short: names of unix sockets are.
    made = pathlib.Path(tempfile.mkdtemp(prefix="gwvm", dir="/var/tmp"))
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="session")
def installation(folder):
    """Both machines, as the guide leaves them, plus GPUs; `head` has become a node as well."""
    system = image.Image(RELEASE, os.environ.get("GANGWAY_VM_IMAGES", image.ROOT / "build" / "vm")).make()
    tree = installed_tree(folder)
    cpu = processor(system, folder)
    cluster = Cluster(*(Machine(name, system, cpu, tree, folder, peer) for name, peer in (("head", "n1"), ("n1", "head"))))
    try:
        for machine in cluster.machines:
            machine.start()
        for machine in cluster.machines:
            machine.wait_until_up()
            machine.run("tar -xf /dev/vdb -C / && systemctl daemon-reload")
            add_gpus(machine, folder)
        follow_the_guide(cluster.machines)
        cluster.wait_nodes("n1")
        make_head_a_node(cluster)
        for machine in cluster.machines:
            machine.run("install -d -m 0700 -o games -g games /srv/games")
        cluster.wait_nodes()
        yield cluster
    except AssertionError as e:
        logs = "".join(str(machine.logs()) for machine in cluster.machines if machine.wire)
        raise AssertionError(f"{e}\n{logs}") from None
    finally:
        for machine in cluster.machines:
            machine.stop()


@pytest.fixture
def cluster(installation):
    """The machines with nothing running, before and after."""
    installation.wait_nodes()
    yield installation
    installation.head.run("gcancel -u games; true")
    installation.wait_nodes()
