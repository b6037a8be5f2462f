"""A private cluster with a real cable in it: the controller and all else in one network namespace, the node daemon of n0
in another, a veth pair between them that can be cut.

Invariant: nothing of the machine's own network is changed; all that is made is removed by down().
"""

import os
import re
import shlex
import shutil
import signal
import subprocess

from cluster import Cluster, processes_with, wait_for

HEAD, NODE = "10.78.0.1", "10.78.0.2"


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


def why_not():
    """Why there can be no cable here; empty if there can."""
    if os.geteuid() != 0:
        return "needs root"
    name = f"gwc{os.getpid()}"
    if shutil.which("ip") is None or shutil.which("nsenter") is None or ip("netns", "add", name, check=False).returncode:
        return "ip netns is not permitted here"
    done = ip("-n", name, "link", "add", "name", "cable", "type", "veth", "peer", "name", "end", check=False)
    ip("netns", "del", name, check=False)
    return "" if done.returncode == 0 else "veth devices are not permitted here"


class CableCluster(Cluster):
    """Two nodes: n0 at the far end of the cable, n1 beside the controller."""

    def __init__(self, config):
        super().__init__(nodes=2, config=f"controller: {{host: {HEAD}, listen: {HEAD}}}\n" + config)
        self.head, self.far = (f"gwc{os.getpid()}{end}" for end in "hn")
        self.prefix = ["nsenter", f"--net=/run/netns/{self.head}"]

    def up(self):
        for name in (self.head, self.far):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", self.head, "link", "add", "name", "cable", "type", "veth", "peer", "name", "cable", "netns", self.far)
        for name, address in ((self.head, HEAD), (self.far, NODE)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")
        super().up()
        self.kill("gnoded.n0")
        for launcher in processes_with(f"{(self.dir / 'run').resolve()}/n0/launcher"):  # it would fork steps on this side
            os.kill(launcher, signal.SIGKILL)
        self.change_config(r"(\{name: n0, address: )[\d.]+", rf"\g<1>{NODE}")
        self.start("gnoded.n0")
        self.wait_idle()
        self.footprint.renew()
        return self

    def revive(self):
        self.mend()
        return super().revive()

    def down(self):
        try:
            super().down()
        finally:
            for name in (self.head, self.far):
                ip("netns", "del", name, check=False)

    def change_config(self, pattern, replacement):
        path = (self.dir / "run").resolve() / "gangway.yaml"
        text, count = re.subn(pattern, replacement, path.read_text())
        assert count == 1, text
        path.write_text(text)
        self.run("gcontrol", "reconfigure")

    def command_of(self, daemon):
        words = super().command_of(daemon)
        if daemon != "gnoded.n0":
            return self.prefix + words
        bind = words.index("--bind")
        return ["nsenter", f"--net=/run/netns/{self.far}", *words[:bind + 1], NODE, *words[bind + 2:]]

    def cut(self):
        ip("-n", self.far, "link", "set", "cable", "down")

    def mend(self):
        ip("-n", self.far, "link", "set", "cable", "up")

    def wait_out_of_reach(self):
        # As in Slurm a star marks a node that does not answer.
        wait_for(lambda: self.node_states().get("n0", "").endswith("*"), "n0 counts as out of reach")
