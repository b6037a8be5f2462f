"""What a test leaves behind in a cluster: nothing, once its jobs have ended.

Looked at are step folders and records of runs, control groups, processes of jobs wherever they went, and of the daemons
that lived through the test descriptors, threads' stacks and mapped files. A cluster is what has the methods that
Cluster and Hosts have for this: cluster_name(), node_folders(), daemon_pids(), is_launcher(), revive(), ask().
Invariant: nothing is changed but that daemons which the test took away run again, and that jobs are cancelled.
"""

import collections
import os
import pathlib
import re
import time

import cluster as tools

THREAD_STACKS_KEPT = 5  # The C library keeps 40 MB of stacks for the next threads, 8 MB each.
PATIENCE = float(os.environ.get("GANGWAY_E2E_PATIENCE", "60"))  # seconds; nearly always it is some tenths
AGAIN = 3  # seconds after which what is still there is cancelled once more: clients may have sent more meanwhile
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


def has_lock(pid):
    try:
        return any(what.endswith(".sock.lock") for what in descriptors(pid))
    except OSError:
        return False  # it ends


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


class Footprint:
    """What there is of a cluster between jobs. `kept`: jobs that run on from test to test, whose traces are none."""

    def __init__(self, cluster, kept=()):
        self.cluster, self.kept = cluster, {str(job) for job in kept}
        self.folders, self.name = cluster.node_folders(), cluster.cluster_name()
        self.daemons, self.descriptors, self.files = {}, {}, {}
        self.found = set(self.traces()) if kept else set()
        self.renew()

    def renew(self):
        """Daemons that began meanwhile belong to it as they are now."""
        for name, pid in self.daemons_now().items():
            if self.daemons.get(name) == pid:
                continue
            try:
                self.descriptors[pid], self.files[pid] = descriptors(pid), mapped_files(pid)
                self.daemons[name] = pid
            except OSError:
                pass  # it ends

    def daemons_now(self):
        """Name -> pid of what lives as long as its node. Launchers are not waited for by `gangway dev up`: they count
        from when they have their lock, the last that they open by name."""
        launchers = [pid for pid, kind, _ in self.processes() if kind == "launcher" and has_lock(pid)]
        return {**self.cluster.daemon_pids(), **{f"launcher {pid}": pid for pid in launchers}}

    def processes(self):
        """(pid, "launcher", "job" or "", parent) of every process that lives."""
        pids = [entry.name for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]
        return [(int(pid), self.kind_of(pid), tools.parent_of(pid)) for pid in pids if tools.is_alive(pid)]

    def kind_of(self, pid):
        words = tools.command_line(pid)
        try:
            if "--launcher" in words and self.cluster.is_launcher(pid, words):
                name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
                return "launcher" if name == "gstepd" else "job"  # its children take other names
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return ""  # it has gone, or is none of ours
        return "job" if f"GANGWAY_CLUSTER_NAME={self.name}".encode() in environment else ""

    def traces(self):
        """Folders, records, groups and processes that belong to some run."""
        found = [str(p) for folder in self.folders.values() for part in ("steps", "runs") for p in (folder / part).glob("*")]
        for hierarchy in ("", "*/"):
            found += [str(p) for p in pathlib.Path("/sys/fs/cgroup").glob(f"{hierarchy}gangway/{self.name}/*/job_*")]
        processes = self.processes()
        launchers = {pid for pid, kind, _ in processes if kind == "launcher"}
        return found + [f"process {pid}: {tools.command_line(pid)}" for pid, kind, parent in processes
                        if kind == "job" or (parent in launchers and pid not in launchers)]

    def of_jobs(self):
        """What is there of jobs that nobody keeps; nothing while none runs."""
        return [what for what in self.traces() if what not in self.found]

    def of_daemons(self):
        """What the daemons have more than at the beginning."""
        found = []
        now = self.daemons_now()
        for name, pid in self.daemons.items():
            if now.get(name) != pid:
                continue
            try:
                more = descriptors(pid) - self.descriptors[pid]
                maps = mapped_files(pid) - self.files[pid]
                spare = spare_stacks(pid)
            except OSError:
                continue  # it ends
            found += [f"{name}: descriptor of {what} ({n} more)" for what, n in more.items() if not LAZY.search(what)]
            sockets = sum(n for what, n in more.items() if what.startswith(("socket:", "pipe:", "anon_inode")))
            if sockets > len(self.daemons) + 8:
                found.append(f"{name}: {sockets} more sockets and pipes")
            found += [f"{name}: mapping of {what} ({n} more)" for what, n in maps.items() if not LAZY.search(what)]
            if spare > THREAD_STACKS_KEPT:
                found.append(f"{name}: {spare} stacks of threads that are gone")
        return found

    # jobs

    def queue(self):
        """Number -> state of the jobs that have not ended, but for those that are kept; None: there is no answer."""
        done = self.cluster.ask("gqueue", "-h", "-a", "-o", "%A %T")
        if done.returncode != 0:
            return None
        return {job: state for job, state in (line.split() for line in done.stdout.splitlines()) if job not in self.kept}

    def cancel(self, jobs):
        waiting = [job for job, state in jobs.items() if state != "COMPLETING"]
        for part in range(0, len(waiting), 1000):
            self.cluster.ask("gcancel", *waiting[part:part + 1000])
        for job in jobs.keys() - set(waiting):
            self.cluster.ask("gcancel", "-s", "KILL", job)  # it may have a long grace

    def end_foreign_runs(self):
        for node in self.folders:
            self.cluster.ask("gcontrol", "update", f"nodename={node}", "foreign=end")


def end_jobs(footprint, deadline):
    """Ends all jobs and waits until nothing of them is there; fails with what stays."""
    due, rounds = time.monotonic(), 0

    def is_done():
        nonlocal due, rounds
        jobs = footprint.queue()
        if jobs == {} and not footprint.of_jobs():
            return True
        if time.monotonic() >= due:
            due, rounds = time.monotonic() + AGAIN, rounds + 1
            footprint.cancel(jobs or {})
            if rounds > 1:
                footprint.end_foreign_runs()
        return False

    tools.wait_for(is_done, lambda: f"nothing left of any job: {footprint.queue()}, {footprint.of_jobs()}", deadline)


def check(footprint, deadline=PATIENCE):
    """Daemons that the test has taken away run again, all jobs are ended, and the cluster is waited for until it is as
    it was; fails with what stays. Of a cluster that the test has taken down nothing stays."""
    if footprint.cluster.revive():
        end_jobs(footprint, deadline)
    else:
        tools.wait_for(lambda: not footprint.of_jobs(), lambda: f"nothing left of any job: {footprint.of_jobs()}", deadline)
    tools.wait_for(lambda: not footprint.of_daemons(), lambda: f"daemons as they were: {footprint.of_daemons()}", deadline)
    footprint.renew()
