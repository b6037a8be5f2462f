"""What a test leaves behind in a private cluster: nothing, once its jobs have ended.

Looked at are step folders and records of runs, control groups, processes below the launchers, and of the daemons that
lived through the test descriptors, threads' stacks and mapped files. Invariant: nothing is changed but that jobs are
cancelled.
"""

import collections
import pathlib
import re

import cluster as tools

THREAD_STACKS_KEPT = 5  # The C library keeps 40 MB of stacks for the next threads, 8 MB each.
# Made when they are first needed, once: a reader of the store, its log, and what a name service loads.
LAZY = re.compile(r"/state/|/log/|\.so(\.[\d.]+)?$|/nss|/etc/|locale|^socket:|^pipe:|anon_inode")


def descriptors(pid):
    """What the descriptors of a process point to, each with its number of times."""
    found = collections.Counter()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found[re.sub(r"\d{3,}", "N", str(entry.readlink()))] += 1
        except OSError:
            pass
    return found


def spare_stacks(pid):
    """Thread stacks beyond one for each thread: those of threads that ended and were never joined."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    sizes = [(int(a, 16), int(b, 16), words) for a, b, words in re.findall(r"(?m)^(\w+)-(\w+) (\S+) ", "\n".join(maps))]
    stacks = sum(1 for guard, stack in zip(sizes, sizes[1:])
                 if guard[2] == "---p" and stack[2] == "rw-p" and guard[1] == stack[0] and stack[1] - stack[0] == 8 << 20)
    threads = len(list(pathlib.Path(f"/proc/{pid}/task").iterdir()))
    return stacks - threads


def mapped_files(pid):
    text = pathlib.Path(f"/proc/{pid}/maps").read_text()
    return collections.Counter(re.sub(r"\d{3,}", "N", path) for path in re.findall(r"(?m) (/\S.*)$", text))


def state_folder(cluster, daemon):
    """Where a node daemon of a private cluster keeps its runs."""
    return (cluster.dir / "run").resolve() / daemon.removeprefix("gnoded.")


class Footprint:
    """What there is of a cluster between jobs."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.nodes = {name.removeprefix("gnoded."): state_folder(cluster, name) for name in cluster.daemons()
                      if name.startswith("gnoded.")}
        self.name = re.search(r"(?m)^cluster: (\S+)", (cluster.dir / "gangway.yaml").read_text())[1]
        self.daemons = {name: cluster.pid(name) for name in cluster.daemons() if cluster.pid(name)}
        self.descriptors = {pid: descriptors(pid) for pid in self.daemons.values()}
        self.files = {pid: mapped_files(pid) for pid in self.daemons.values()}

    def of_jobs(self):
        """Folders, records, groups and processes that belong to some run; there is none while no job runs."""
        found = [str(p) for folder in self.nodes.values() for part in ("steps", "runs") for p in (folder / part).iterdir()]
        for hierarchy in ("", "*/"):
            found += [str(p) for p in pathlib.Path("/sys/fs/cgroup").glob(f"{hierarchy}gangway/{self.name}/*/job_*")]
        launchers = set()
        parents = {}
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                words = tools.command_line(entry.name)
                parents[int(entry.name)] = tools.parent_of(entry.name)
                if "--launcher" in words and any(word.startswith(f"{f}/") for word in words for f in self.nodes.values()):
                    launchers.add(int(entry.name))
        found += [f"process {pid}: {tools.command_line(pid)}" for pid, parent in parents.items()
                  if parent in launchers and pid not in launchers and tools.is_alive(pid)]
        return found

    def of_daemons(self):
        """What the daemons have more than at the beginning."""
        found = []
        for name, pid in self.daemons.items():
            if self.cluster.pid(name) != pid:
                continue
            try:
                more = descriptors(pid) - self.descriptors[pid]
                maps = mapped_files(pid) - self.files[pid]
                spare = spare_stacks(pid)
            except OSError:
                continue  # it ends
            found += [f"{name}: descriptor of {what} ({n} more)" for what, n in more.items() if not LAZY.search(what)]
            sockets = sum(n for what, n in more.items() if what.startswith(("socket:", "pipe:", "anon_inode")))
            if sockets > len(self.cluster.daemons()) + 8:
                found.append(f"{name}: {sockets} more sockets and pipes")
            found += [f"{name}: mapping of {what} ({n} more)" for what, n in maps.items() if not LAZY.search(what)]
            if spare > THREAD_STACKS_KEPT:
                found.append(f"{name}: {spare} stacks of threads that are gone")
        return found


def check(footprint, deadline=30):
    """Ends all jobs of the cluster and waits until it is as it was; fails with what stays. A cluster whose controller
    the test has taken away is left alone."""
    cluster = footprint.cluster
    if not cluster.pid("gctld") or not cluster.ping():
        return
    alive = {name for name in footprint.daemons if cluster.pid(name)}
    cluster.run("gcancel", "-t", "PENDING,CONFIGURING,RUNNING,SUSPENDED", user=cluster.user, check=False)
    for job in cluster.run("gqueue", "-h", "-t", "COMPLETING", "-o", "%i", check=False).stdout.split():
        cluster.run("gcancel", "-s", "KILL", job, user=cluster.user, check=False)  # it may have a long grace
    if alive < set(footprint.daemons):
        return  # the test took a node away: what ran there stays until somebody says that it is dead
    tools.wait_for(lambda: not footprint.of_jobs(), lambda: f"nothing left of any job: {footprint.of_jobs()}", deadline)
    tools.wait_for(lambda: not footprint.of_daemons(), lambda: f"daemons as they were: {footprint.of_daemons()}", deadline)
