"""gangway dev: a cluster comes up whole, goes down whole, and leaves nothing."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest
from cluster import (BIN, IS_ROOT, Cluster, as_user, bin_for, command_line, copy_of_build, is_alive, parent_of,
                     processes_with, wait_for)

GANG = ("gbatch --wait -N2 --gpus-per-node=8 "
        "--wrap 'echo gang of $SLURM_JOB_NUM_NODES nodes, GPUs $CUDA_VISIBLE_DEVICES' >/dev/null; cat gangway-*.out")
GANG_SAYS = "gang of 2 nodes, GPUs 0,1,2,3,4,5,6,7\n"


@pytest.fixture
def folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="gwe2e-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def dev_run(*words, cwd, user=None, nodes=1, **options):
    argv = (as_user(user) if user and IS_ROOT else []) + [str(bin_for(user) / "gangway"), "dev", "run", "--nodes", str(nodes), "--",
                                                          *words]
    return subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, check=False,
                          **options)


def runtime_folders():
    return set(pathlib.Path("/tmp").glob(f"gw-{os.geteuid()}-*"))


def test_gang_prints_its_environment_also_from_a_private_folder(folder):
    folder.chmod(0o700)
    done = dev_run("sh", "-c", GANG, cwd=folder, nodes=2)
    assert (done.returncode, done.stdout) == (0, GANG_SAYS), done.stderr


def test_run_passes_the_exit_code_and_leaves_nothing(folder):
    before = runtime_folders()
    done = dev_run("sh", "-c", "echo $GANGWAY_CONF; exit 7", cwd=folder)
    assert done.returncode == 7, done.stderr
    runtime = os.path.dirname(done.stdout.strip())
    assert done.stdout.count("\n") == 1 and runtime.startswith(("/dev/shm/gw-", "/tmp/gw-"))
    assert not os.path.exists(runtime) and not processes_with(runtime)
    assert runtime_folders() <= before | {p for p in runtime_folders() if processes_with(str(p))}


def test_run_of_a_missing_command_is_127(folder):
    done = dev_run("no-such-command-here", cwd=folder)
    assert done.returncode == 127 and "no-such-command-here" in done.stderr and done.stdout == ""


def test_a_signal_takes_the_cluster_down(folder):
    argv = [str(BIN / "gangway"), "dev", "run", "--nodes", "1", "--", "sh", "-c", "echo $GANGWAY_CONF; exec sleep 1000"]
    with subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, text=True) as run:
        runtime = os.path.dirname(run.stdout.readline().strip())
        assert processes_with(runtime)
        run.send_signal(signal.SIGTERM)
        assert run.wait(60) == 128 + signal.SIGTERM
    assert not os.path.exists(runtime) and not processes_with(runtime)


def children_of(parent):
    """First words of the command lines of a process's children."""
    pids = [int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit()]
    return [(command_line(pid) or [""])[0] for pid in pids if parent_of(pid) == parent]


@pytest.mark.parametrize("stage", ["munged", "gctld", "gnoded"])
def test_a_signal_while_it_comes_up_leaves_nothing(folder, stage):
    temporary = folder / "tmp"
    temporary.mkdir()
    argv = [str(BIN / "gangway"), "dev", "run", "--nodes", "2", "--", "sleep", "1000"]
    with subprocess.Popen(argv, cwd=folder, env=os.environ | {"TMPDIR": str(temporary)}) as run:
        try:
            wait_for(lambda: any(word.endswith(stage) for word in children_of(run.pid)), f"{stage} starts")
        finally:
            run.send_signal(signal.SIGINT)
        assert run.wait(60) in (1, 128 + signal.SIGINT)
    assert not list(temporary.iterdir()) and not processes_with(str(temporary))


def test_deep_folder(folder):
    deep = folder
    while len(str(deep)) < 300:
        deep = deep / "a-folder-with-quite-a-long-name"
    deep.mkdir(parents=True, mode=0o700)
    done = dev_run("sh", "-c", GANG, cwd=deep, nodes=2)
    assert (done.returncode, done.stdout) == (0, GANG_SAYS), done.stderr


@pytest.mark.skipif(not IS_ROOT, reason="needs root to become another user")
def test_ordinary_user(folder):
    os.chown(folder, 65534, -1)
    done = dev_run("sh", "-c", GANG + "; id -un", cwd=folder, user="nobody", nodes=2,
                   env={"PATH": os.environ["PATH"], "HOME": str(folder)})
    assert (done.returncode, done.stdout) == (0, GANG_SAYS + "nobody\n"), done.stderr


@pytest.mark.skipif(not IS_ROOT, reason="needs root to become another user")
def test_programs_in_a_home_that_others_may_not_enter(folder, make_cluster):
    """As a clone in root's home, of mode 0700: jobs of other users have commands and PMIx all the same."""
    (folder / "home").mkdir(mode=0o700)
    cluster = make_cluster(nodes=2, bin_folder=copy_of_build(folder / "home" / "build"))
    copy = (cluster.dir / "run" / "programs").resolve()
    job = cluster.submit("id -un; gqueue -h -o %j -j $SLURM_JOB_ID; gcancel --help >/dev/null && grun -N2 id -un", "-N2",
                         "-J", "mine", user="nobody")
    cluster.wait_state(job, "COMPLETED")
    assert (cluster.work / f"gangway-{job}.out").read_text() == "nobody\nmine\nnobody\nnobody\n"
    bare = cluster.submit("gqueue -h -o %j -j $SLURM_JOB_ID", "--export=NONE", "-J", "bare", user="nobody")
    cluster.wait_state(bare, "COMPLETED")
    assert (cluster.work / f"gangway-{bare}.out").read_text() == "bare\n"
    subprocess.run(["mpicc.openmpi", "-o", cluster.work / "mpi", pathlib.Path(__file__).with_name("mpi_check.c")], check=True)
    done = cluster.run("grun", "-N2", cluster.work / "mpi", user="nobody", env={"OMPI_MCA_mpi_yield_when_idle": "1"})
    assert sorted(done.stdout.splitlines()) == ["0 2 n0", "1 2 n1"]
    assert (copy / "bin" / "gangway").exists()
    cluster.gangway("dev", "down", "--dir", cluster.dir)
    assert not copy.exists()


def test_layout_status_and_restart_by_hand(make_cluster):
    cluster = make_cluster(nodes=2)
    for name in ("gangway.yaml", "log", "state", "run/munged.pid", "run/gctld.pid", "run/gscriptd.pid",
                 "run/gnoded.n0.pid", "run/gnoded.n1.pid"):
        assert (cluster.dir / name).exists(), name
    assert oct((cluster.dir / "run").resolve().stat().st_mode & 0o7777) == "0o711"
    for daemon in ("gctld", "gnoded.n1"):
        cluster.kill(daemon)
        status = cluster.gangway("dev", "status", "--dir", cluster.dir, check=False)
        assert status.returncode == 1 and f"{daemon}: not running" in status.stdout
        cluster.start(daemon)
    cluster.wait_idle()
    assert cluster.gangway("dev", "status", "--dir", cluster.dir).stdout.count("alive") == 5


def test_up_twice_is_refused_and_state_outlives_down(make_cluster):
    cluster = make_cluster(nodes=1)
    first = cluster.submit("exit 0")
    cluster.wait_state(first, "COMPLETED")
    again = cluster.gangway("dev", "up", "--dir", cluster.dir, check=False)
    assert again.returncode == 1 and "is up in" in again.stderr
    cluster.gangway("dev", "down", "--dir", cluster.dir)
    assert not (cluster.dir / "gangway.yaml").is_symlink() and (cluster.dir / "gangway.yaml").exists()
    cluster.up()
    assert cluster.submit("exit 0") > first


def test_down_ends_jobs_of_this_cluster_only(make_cluster):
    one, other = make_cluster(nodes=1), make_cluster(nodes=1)
    pids = {}
    for c in (one, other):
        job = c.submit(f"setsid sh -c 'echo $$ > {c.work}/pid; exec sleep 1000' & sleep 1000")
        c.wait_state(job, "RUNNING")
        pids[c] = int(wait_for(lambda c=c: (c.work / "pid").exists() and (c.work / "pid").read_text(), "the job's pid"))
    runtime = (one.dir / "run").resolve()
    one.gangway("dev", "down", "--dir", one.dir)
    wait_for(lambda: not is_alive(pids[one]), "end of the job that left its session")
    assert not runtime.exists() and not processes_with(str(runtime))
    assert is_alive(pids[other]) and other.ping()


def test_failure_shows_the_log_and_leaves_nothing(folder):
    config = folder / "bad.yaml"
    config.write_text("controller: {listen: 192.0.2.1}\n")
    one = Cluster(nodes=1)
    done = one.gangway("dev", "up", "--dir", one.dir, "--config", config, check=False, timeout=120)
    assert done.returncode == 1 and "gctld" in done.stderr and "192.0.2.1" in done.stderr, done.stderr
    assert not (one.dir / "run").exists() and not processes_with(str(one.dir))
    one.down()


@pytest.mark.parametrize("options, message", [
    (["--nodes", "0"], "--nodes: 0 is out of range"),
    (["--nodes", "99999999999999999999"], "--nodes"),
    (["--topology", "dgx-h10"], "did you mean \"dgx-h100\""),
    (["--topology", "/nonexistent.xml"], "/nonexistent.xml"),
    (["--config", "/nonexistent.yaml"], "/nonexistent.yaml"),
    (["--nodez", "2"], "did you mean"),
])
def test_bad_options(folder, options, message):
    argv = [str(BIN / "gangway"), "dev", "up", "--dir", str(folder / "d"), *options]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and message in done.stderr and done.stdout == "", done.stderr
    assert done.stderr.count("error:") == 1
