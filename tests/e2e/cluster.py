"""A private cluster for tests: `gangway dev up`, commands, daemons found by their pid files, and waiting with deadlines.

Invariants: a test never sleeps for a fixed time, it waits for a condition; only processes of its own cluster get signals.
"""

import atexit
import functools
import json
import os
import pathlib
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

import leaks

BIN = pathlib.Path(os.environ.get("GANGWAY_BIN", "")).resolve()
DEADLINE = 30.0  # seconds; for what should take far less
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "DEADLINE",
         "BOOT_FAIL"}
IS_ROOT = os.geteuid() == 0


def wait_for(condition, what, deadline=DEADLINE):
    """Asks `condition` until it returns something true, which is returned; fails with `what` and the last answer."""
    end = time.monotonic() + deadline
    pause = 0.01
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            what = what() if callable(what) else what
            raise AssertionError(f"not within {deadline:.0f} s: {what}; last answer: {value!r}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.2)


def command_line(pid):
    """The arguments of a process; empty if it is gone or a zombie."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def full_fifo(path):
    """Makes a FIFO; who writes to it waits until what is returned is drained, and gets SIGPIPE once it is closed."""
    os.mkfifo(path)
    end = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        while True:
            os.write(end, b"x" * 4096)
    except BlockingIOError:
        return end


def drain(end):
    """Reads all that is there."""
    try:
        while os.read(end, 65536):
            pass
    except BlockingIOError:
        return


def is_alive(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def parent_of(pid):
    """Pid of the parent; None if the process has gone."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return None


def processes_with(text):
    """Pids of processes whose command line holds `text`, this one left out."""
    own = {os.getpid(), os.getppid()}
    pids = [int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit()]
    return [pid for pid in pids if pid not in own and any(text in word for word in command_line(pid))]


def as_user(name):
    """Words in front of a command that run it as another user, with that user's groups."""
    entry = pwd.getpwnam(name)
    return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--init-groups", "--"]


def copy_of_build(target):
    """Copies what a cluster needs of the build to a folder; returns the copy's bin folder."""
    for part in ("bin", "libexec/gangway", "lib/gangway"):
        shutil.copytree(BIN.parent / part, target / part, symlinks=True, copy_function=_link_or_copy)
    return target / "bin"


def _link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@functools.lru_cache(maxsize=None)
def bin_for(user):
    """The programs where a user reaches them: a build in root's home is closed to others, who would have one of their own."""
    if not (user and IS_ROOT):
        return BIN
    if subprocess.run(as_user(user) + ["test", "-x", BIN / "gangway"], check=False).returncode == 0:
        return BIN
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gwe2e-bin-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    return copy_of_build(folder / "build")


def without_forecasts(config):
    """The same, without forecasts unless it says otherwise: they come at a time of their own, so that two listings of
    one job could differ."""
    if "forecast_every" in config:
        return config
    if re.search(r"(?m)^scheduler: *\{", config):
        return re.sub(r"(?m)^scheduler: *\{", "scheduler: {forecast_every: 0s, ", config, count=1)
    if re.search(r"(?m)^scheduler: *$", config):
        return re.sub(r"(?m)^scheduler: *\n( *)", r"scheduler:\n\1forecast_every: 0s\n\1", config, count=1)
    return config + "\nscheduler: {forecast_every: 0s}\n"


class Cluster:
    """A running private cluster and a scratch folder that every user may write to. Nothing of any job is left in it
    after a test, and when it is taken down: see leaks.py."""

    test_failed = False  # one of this run: what it left is not news
    are_up = []  # all

    def __init__(self, nodes=2, topology="dgx-h100", config="", user=None, bin_folder=None):
        self.nodes, self.topology, self.user = nodes, topology, user
        self.bin = bin_folder or bin_for(user)
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="gwe2e-", dir="/tmp"))
        self.root.chmod(0o755)
        self.started_again = []
        self.dir = self.root / "d"
        self.work = self.root / "work"
        self.work.mkdir()
        self.work.chmod(0o1777)
        self.overlay = self.root / "overlay.yaml"
        self.overlay.write_text(without_forecasts(config))
        self.env = {}
        self.footprint = None
        self.prefix = []  # words in front of every command
        if user:
            shutil.chown(self.root, user)

    def up(self):
        options = ["--dir", self.dir, "--nodes", self.nodes, "--topology", self.topology, "--config", self.overlay]
        self.gangway("dev", "up", *options, timeout=120)
        self.env = self.read_env()
        self.footprint = leaks.Footprint(self)
        Cluster.are_up.append(self)
        return self

    def read_env(self):
        text = self.gangway("dev", "env", "--dir", self.dir).stdout
        env = {}
        for line in text.splitlines():
            name, value = line.removeprefix("export ").split("=", 1)
            env[name] = shlex.split(value)[0]
        return env

    def down(self):
        try:
            self.check_leaks()
        finally:
            self.footprint = None
            Cluster.are_up = [one for one in Cluster.are_up if one is not self]
            try:
                if (self.dir / "run").is_symlink():
                    self.gangway("dev", "down", "--dir", self.dir, timeout=180)
                for process in self.started_again:  # found by nobody whose pid file was taken away meanwhile
                    if process.poll() is None:
                        process.kill()
                    process.wait()
            finally:
                shutil.rmtree(self.root, ignore_errors=True)

    # what is left behind

    def check_leaks(self):
        """Ends what runs, and fails with what stays; not once a test has failed."""
        self.kill_stopped()
        if self.footprint and not Cluster.test_failed:
            leaks.check(self.footprint)

    def cluster_name(self):
        return re.search(r"(?m)^cluster: (\S+)", (self.dir / "gangway.yaml").read_text())[1]

    def node_folders(self):
        """Node -> folder where its daemon keeps its runs."""
        nodes = [name.removeprefix("gnoded.") for name in self.daemons() if name.startswith("gnoded.")]
        return {node: (self.dir / "run").resolve() / node for node in nodes}

    def daemon_pids(self):
        return {name: self.pid(name) for name in self.daemons() if self.pid(name)}

    def is_launcher(self, _pid, words):
        runtime = (self.dir / "run").resolve()
        return any(word.startswith(f"{runtime}/") for word in words)

    def revive(self):
        """Starts what the test has taken away; False: the cluster was taken down."""
        for daemon in sorted(self.daemons(), key=lambda name: name != "munged"):
            if not self.pid(daemon):
                self.start(daemon)
        return bool(self.daemons())

    def ask(self, *words):
        return self.run(*words, user=self.user, check=False)

    def kill_stopped(self):
        """Daemons that a test left stopped continue."""
        for daemon in self.daemons():
            pid = self.pid(daemon)
            if pid:
                os.kill(pid, signal.SIGCONT)

    # commands

    def gangway(self, *words, **options):
        user = options.pop("user", self.user)
        program = (self.bin if user == self.user else bin_for(user)) / "gangway"
        return self.run(program, *words, user=user, **options)

    def run(self, *words, user=None, check=True, timeout=60, env=None, cwd=None, **options):
        """Runs a command with the cluster's environment; fails the test on an exit code other than 0 if `check`."""
        argv = self.prefix + (as_user(user) if user and IS_ROOT else []) + [str(w) for w in words]
        full = {**os.environ, "LC_ALL": "C.UTF-8", "GANGWAY_TIMEOUT": "20", **self.env, **(env or {})}
        for name in [n for n in full if n.startswith(("SBATCH_", "GBATCH_", "SLURM_"))]:
            del full[name]
        if "stdin" not in options and "input" not in options:
            options["stdin"] = subprocess.DEVNULL
        if options.setdefault("text", True):
            options["errors"] = "replace"
        done = subprocess.run(argv, env=full, cwd=cwd or self.work, capture_output=True, timeout=timeout, check=False,
                              **options)
        if check:
            assert done.returncode == 0, f"{argv} -> {done.returncode}\n{done.stdout}{done.stderr}{self.logs()}"
        return done

    def popen(self, *words, user=None, env=None, **options):
        argv = self.prefix + (as_user(user) if user and IS_ROOT else []) + [str(w) for w in words]
        full = {**os.environ, "LC_ALL": "C.UTF-8", **self.env, **(env or {})}
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen(argv, env=full, cwd=self.work, text=True, **options)

    # jobs

    def submit(self, script, *options, user=None, env=None):
        """Submits a script text and returns the job's number."""
        text = script if script.startswith("#!") else "#!/bin/sh\n" + script
        done = self.run("gbatch", *options, user=user, env=env, input=text)
        match = re.fullmatch(r"Submitted batch job (\d+)\n", done.stdout)
        assert match, (done.stdout, done.stderr)
        return int(match[1])

    def rows(self, job, field="%T"):
        """A field of the job, of each component and of each task of an array, those of lower ids first."""
        done = self.run("gqueue", "-h", "-t", "all", "-S", "i", "-j", job, "-o", field, check=False)
        return [line.strip() for line in done.stdout.strip().split("\n")]

    def show(self, job, field="%T"):
        """A field of the job; of the first component of a heterogeneous one."""
        return self.rows(job, field)[0]

    def state(self, job):
        return self.show(job)

    def wait_state(self, job, *states, deadline=DEADLINE):
        wanted = set(states)

        def look():
            state = self.state(job)
            if state in ENDED and state not in wanted:
                raise AssertionError(f"job {job} is {state}, not {wanted}: {self.detail(job)}{self.logs()}")
            return state if state in wanted else None

        return wait_for(look, f"job {job} in {wanted}, is {self.state(job)}", deadline)

    def wait_ended(self, job, deadline=DEADLINE):
        """The state in which the job ended, with all its components and tasks; of those, the first one's."""
        def look():
            states = self.rows(job)
            return states[0] if set(states) <= set(ENDED) else None

        return wait_for(look, f"end of job {job}", deadline)

    def detail(self, job):
        """`gcontrol show job` as a dictionary."""
        text = self.run("gcontrol", "show", "job", job, check=False).stdout
        return dict(re.findall(r"(\S+?)=(.*?)(?=\s+\S+?=|\s*$)", text, re.M))

    def reason_text(self, job):
        return self.run("gcontrol", "show", "job", job, check=False).stdout

    # nodes and daemons

    def node_states(self):
        """Node name -> state as `ginfo -N -o '%N %T'` shows it."""
        done = self.run("ginfo", "-N", "-h", "-o", "%N %T", check=False)
        return dict(line.split()[:2] for line in done.stdout.splitlines() if len(line.split()) >= 2)

    def wait_idle(self, deadline=DEADLINE):
        wait_for(lambda: self.node_states() and set(self.node_states().values()) == {"idle"},
                 f"all nodes idle; {self.node_states()}", deadline)

    def daemons(self):
        runtime = self.dir / "run"
        return sorted(p.stem for p in runtime.glob("*.cmd")) if runtime.exists() else []

    def pid(self, daemon):
        """The daemon's pid, or None if it does not live; checked to be ours."""
        path = (self.dir / "run").resolve() / f"{daemon}.pid"
        try:
            pid = int(path.read_text())
        except (OSError, ValueError):
            return None
        named = any(word.endswith(str(path)) for word in command_line(pid))
        return pid if named else None

    def kill(self, daemon, signo=signal.SIGKILL):
        pid = self.pid(daemon)
        assert pid, f"{daemon} does not run"
        os.kill(pid, signo)
        if signo == signal.SIGKILL:
            wait_for(lambda: not is_alive(pid), f"end of {daemon}")
        return pid

    def command_of(self, daemon):
        """The command that `gangway dev status` shows for a daemon."""
        text = self.gangway("dev", "status", "--dir", self.dir, check=False).stdout
        return shlex.split(text.split(f"\n{daemon}: ", 1)[1].splitlines()[1])

    def start(self, daemon):
        command = self.command_of(daemon)
        with open(self.dir / "log" / f"{daemon}.again", "a", encoding="utf-8") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
                                       cwd="/", env={"PATH": "/usr/bin:/bin"})
        self.started_again.append(process)
        # One that was told to end may still be there, with its pid file. What forks itself away has another pid.
        wait_for(lambda: self.pid(daemon) == process.pid or (process.poll() is not None and self.pid(daemon)), f"{daemon} runs again")

    def restart(self, daemon):
        self.kill(daemon)
        self.start(daemon)

    def ping(self):
        return self.run("gcontrol", "ping", check=False, env={"GANGWAY_TIMEOUT": "1"}).returncode == 0

    def logs(self):
        """The ends of all logs, for a failed test."""
        text = ""
        for path in sorted((self.dir / "log").glob("*")):
            lines = path.read_text(errors="replace").splitlines()[-15:]
            text += f"\n--- {path.name}\n" + "\n".join(lines)
        return text

    def config_with(self, name, **controller):
        """A copy of the configuration with other values below controller:, readable by all; for clients."""
        text = (self.dir / "gangway.yaml").read_text()
        for key, value in controller.items():
            text, count = re.subn(rf"(?m)^  {key}: .*$", f"  {key}: {value}", text)
            assert count == 1, (key, text)
        path = self.work / name
        path.write_text(text)
        path.chmod(0o644)
        return path

    def port(self):
        return int(re.search(r"(?m)^  port: (\d+)", (self.dir / "gangway.yaml").read_text())[1])

    def json(self, *words):
        return json.loads(self.run(*words).stdout)
