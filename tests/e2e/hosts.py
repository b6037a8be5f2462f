"""Hosts for the installation test: each has a root folder of its own (an overlay over this machine's), a network, mount
and host name of its own, and one cable to the others. Nothing of any job is left on them after a test: see leaks.py.

Invariant: nothing of the machine itself is changed; all that is made is removed by close().
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import leaks
from cluster import Cluster, command_line, is_alive, wait_for

CLUSTER = "example"  # As the admin guide calls it.


def sh(*words, check=True, **options):
    return subprocess.run([str(w) for w in words], check=check, capture_output=True, text=True, **options)


def why_not():
    """Why hosts cannot be made here; empty if they can."""
    if os.geteuid() != 0:
        return "needs root"
    name = f"gwt{os.getpid()}"
    if shutil.which("ip") is None or sh("ip", "netns", "add", name, check=False).returncode != 0:
        return "ip netns is not permitted here"
    sh("ip", "netns", "del", name, check=False)
    with tempfile.TemporaryDirectory(dir="/tmp") as base:
        for part in ("u", "w", "m"):
            os.mkdir(f"{base}/{part}")
        sh("mount", "-t", "tmpfs", "tmpfs", f"{base}/u", check=False)
        for part in ("u", "w"):
            os.makedirs(f"{base}/u/{part}", exist_ok=True)
        options = f"lowerdir=/,upperdir={base}/u/u,workdir={base}/u/w"
        done = sh("mount", "-t", "overlay", "overlay", "-o", options, f"{base}/m", check=False)
        sh("umount", f"{base}/m", check=False)
        sh("umount", f"{base}/u", check=False)
    return "" if done.returncode == 0 else "overlay mounts are not permitted here"


class Host:
    def __init__(self, name, address, base):
        self.name, self.address = name, address
        self.netns = f"gw{os.getpid()}{name}"
        self.base = base / name
        self.root = self.base / "root"
        self.daemons = []
        self.has_firewall = False

    def make(self):
        self.base.mkdir()
        sh("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", self.base)
        for part in ("upper", "work", "root"):
            (self.base / part).mkdir()
        options = f"lowerdir=/,upperdir={self.base}/upper,workdir={self.base}/work"
        sh("mount", "-t", "overlay", "overlay", "-o", options, self.root)
        for part in ("proc", "sys", "dev"):
            sh("mount", "--rbind", f"/{part}", self.root / part)
            sh("mount", "--make-rslave", self.root / part)
        for part in ("run", "tmp"):
            sh("mount", "-t", "tmpfs", "-o", "mode=1777" if part == "tmp" else "mode=0755", "tmpfs", self.root / part)
        sh("ip", "netns", "add", self.netns)
        sh("ip", "-n", self.netns, "link", "set", "lo", "up")

    def argv(self, *words):
        """Words that run a command on this host, as root."""
        inside = ["unshare", "--uts", "sh", "-c", f'hostname {self.name} && exec chroot {self.root} "$@"', "sh"]
        return ["ip", "netns", "exec", self.netns, *inside, *[str(w) for w in words]]

    def run(self, *words, check=True, **options):
        done = subprocess.run(self.argv(*words), capture_output=True, text=True, check=False, timeout=120,
                              stdin=subprocess.DEVNULL, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"},
                              **options)
        assert done.returncode == 0 or not check, f"{self.name}: {words} -> {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def shell(self, script, **options):
        return self.run("sh", "-ec", script, **options)

    def as_user(self, user, *words):
        """Words that run a command as an ordinary user, in a folder of the user's own."""
        return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups",
                "sh", "-c", f'cd /tmp/{user} && exec "$@"', "sh", *words]

    def popen(self, *words):
        """A command that continues beside the test."""
        process = subprocess.Popen(self.argv(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True,
                                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"})
        self.daemons.append(process)
        return process

    def daemon(self, name, *words):
        """What `systemctl start` does here: runs a daemon in the foreground of its own session."""
        with open(self.base / f"{name}.log", "ab") as out:
            process = subprocess.Popen(self.argv(*words), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       start_new_session=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        self.daemons.append(process)
        return process

    def has(self, pid):
        """Is the process on this host?"""
        try:
            return os.readlink(f"/proc/{pid}/root") == str(self.root)
        except OSError:
            return False

    def inner_pids(self):
        """Processes whose root folder is this host's."""
        return [int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit() and self.has(p.name)]

    def logs(self):
        return "".join(f"\n--- {self.name}:{p.name}\n" + "\n".join(p.read_text(errors="replace").splitlines()[-15:])
                       for p in sorted(self.base.glob("*.log")))

    @staticmethod
    def remove_groups():
        """Control groups of the cluster and its nodes, which its daemons had no time to remove; all are empty by now.
        Those of jobs were looked for before."""
        for hierarchy in ("/sys/fs/cgroup", "/sys/fs/cgroup/*"):
            for group in sorted(pathlib.Path("/").glob(f"{hierarchy[1:]}/gangway/{CLUSTER}"), reverse=True):
                for path in sorted([group, *group.rglob("*/")], reverse=True):
                    try:
                        path.rmdir()
                    except OSError:
                        pass

    def close(self):
        for _ in range(2):
            for pid in self.inner_pids():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for process in self.daemons:
            process.wait(30)
        wait_for(lambda: not [p for p in self.inner_pids() if is_alive(p)], f"the end of host {self.name}")
        self.remove_groups()
        sh("umount", "-R", "-l", self.root, check=False)
        sh("umount", "-l", self.base, check=False)
        sh("ip", "netns", "del", self.netns, check=False)


class Hosts:
    """Two hosts with a cable between them: `head` at 10.77.0.1 and `n1` at 10.77.0.2."""

    def __init__(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="gwhosts-", dir="/tmp"))
        self.head = Host("head", "10.77.0.1", self.base)
        self.node = Host("n1", "10.77.0.2", self.base)
        self.all = [self.head, self.node]
        self.footprint = None

    def make(self):
        for host in self.all:
            host.make()
        cable = [f"gwe{os.getpid()}a", f"gwe{os.getpid()}b"]
        sh("ip", "link", "add", cable[0], "type", "veth", "peer", "name", cable[1])
        for end, host in zip(cable, self.all):
            sh("ip", "link", "set", end, "netns", host.netns)
            sh("ip", "-n", host.netns, "addr", "add", f"{host.address}/24", "dev", end)
            sh("ip", "-n", host.netns, "link", "set", end, "up")
        for host in self.all:  # a host's own name as Debian's installer writes it
            names = [("127.0.1.1" if other is host else other.address, other.name) for other in self.all]
            lines = ["127.0.0.1 localhost", *(" ".join(name) for name in names)]
            (host.root / "etc/hosts").write_text("".join(f"{line}\n" for line in lines))
        return self

    def host(self, where):
        return self.head if where == "head" else self.node

    # what is left behind

    def check_leaks(self):
        """Ends what runs, and fails with what stays; not once a test has failed, nor before a controller runs."""
        if Cluster.test_failed or "gctld head" not in self.daemon_pids():
            return
        if self.footprint is None:
            self.footprint = leaks.Footprint(self)
        leaks.check(self.footprint)

    def cluster_name(self):
        return CLUSTER

    def node_folders(self):
        """Node -> folder where its daemon keeps its runs; there need not be one yet."""
        return {host.name: host.root / "var/spool/gangway" / host.name for host in self.all}

    def daemon_pids(self):
        found = {}
        for host in self.all:
            for pid in host.inner_pids():
                program = pathlib.Path(command_line(pid)[0]).name if command_line(pid) else ""
                if program in ("gctld", "gnoded", "munged"):
                    found[f"{program} {host.name}"] = pid
        return found

    def is_launcher(self, pid, _words):
        return any(host.has(pid) for host in self.all)

    def revive(self):
        return True  # no test takes a daemon away

    def ask(self, *words):
        return self.head.run(*words, check=False)

    def close(self):
        for host in self.all:
            host.close()
        shutil.rmtree(self.base, ignore_errors=True)
