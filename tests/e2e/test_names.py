"""Names that do not exist, or that belong to somebody else: commands say so, and change nothing."""

import subprocess

import pytest
from cluster import as_user, bin_for
from conftest import needs_root


@pytest.fixture(scope="module")
def cluster(shared_cluster):
    return shared_cluster


@pytest.fixture
def nobody(cluster):
    done = cluster.run("gqueue", user="nobody", check=False)
    if done.returncode != 0 and "ermission denied" in done.stderr:
        pytest.skip("other users cannot run the programs in this build folder")
    return "nobody"


UNKNOWN = [
    (["-u", "rooot"], 'Invalid user: rooot (did you mean "root"?)'),
    (["-p", "mian"], 'partition mian not found (did you mean "main"?)'),
    (["-p", "main,nope"], "partition nope not found (there are: main)"),
    (["-w", "n[0-5]"], "node n2 not found"),
    (["-q", "norml"], 'QOS norml not found (did you mean "normal"?)'),
]


@pytest.mark.parametrize("command", ["gqueue", "gcancel"])
@pytest.mark.parametrize("options, text", UNKNOWN, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_unknown_names(cluster, command, options, text):
    job = cluster.submit("exit 0", "-H")
    done = cluster.run(command, *options, check=False)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith(f"{command}: error: ") and text in done.stderr, done.stderr
    assert cluster.state(job) == "PENDING", "nothing is cancelled by a filter that names what does not exist"
    cluster.run("gcancel", job)


@pytest.mark.parametrize("words, text", [
    (["gqueue", "-t", "all,foo"], "Invalid job state specified: foo"),
    (["ginfo", "-t", "foo"], "states: all, alloc"),
    (["gcontrol", "re", "7"], "possibilities: release, requeue, requeuehold, resume, reconfigure"),
    (["gcontrol", "ping", "foo"], "ping takes no arguments"),
    (["gcontrol", "show", "config", "foo"], "show config takes no arguments"),
    (["gangway", "config", "dump", "--defaults", "x"], "--defaults takes no file"),
    (["gangway", "topo", "--file", "dgx-h100", "n0"], "exclude each other"),
])
def test_words_that_mean_nothing(cluster, words, text):
    done = cluster.run(*words, check=False)
    assert (done.returncode, done.stdout) == (1, "") and text in done.stderr, done.stderr


@pytest.mark.parametrize("options", [["-u", "root"], ["-p", "main"], ["-w", "n0"], ["-q", "normal"], ["-u", "54321"]])
def test_known_names_without_jobs_are_no_error(cluster, options):
    assert cluster.run("gqueue", "-h", *options).stdout == ""
    assert cluster.run("gcancel", *options).stderr == ""


def test_cancel_tells_what_there_was_to_do(cluster):
    job = cluster.submit("exit 0", "-H")
    assert cluster.run("gcancel", "-v", job).stderr == f"gcancel: Terminating job {job}\n"
    again = cluster.run("gcancel", "-v", job).stderr
    assert again == f"gcancel: nothing to cancel: job {job} has ended already: CANCELLED\n"
    gone = cluster.run("gcancel", "999999", check=False)
    assert (gone.returncode, gone.stderr) == (1, "gcancel: error: Invalid job id specified: 999999\n")
    assert cluster.run("scancel", "999999").stderr == ""
    done = cluster.run("gcontrol", "update", f"jobid={job}", "nice=5", check=False)
    assert done.stderr == f"gcontrol: error: job {job} has ended already: CANCELLED\n"


def test_commands_say_more_when_asked(cluster):
    done = cluster.run("sbatch", "-vv", "-H", "-n2", "-t5", "--wrap", "true")
    said = done.stderr.splitlines()
    rule = "sbatch: " + " ".join(["-" * 20] * 2)
    pairs = [("hold", "set"), ("ntasks", "2"), ("time", "5"), ("verbose", "2"), ("wrap", "true")]
    shown = [f"sbatch: {name:<20}: {value}" for name, value in pairs]
    assert said[:9] == ["sbatch: defined options", rule, *shown, rule, "sbatch: end of defined options"]
    assert [line.split(":")[1] for line in said[10:]] == [" debug", " debug"], said
    job = done.stdout.split()[-1]
    listed = cluster.run("squeue", "-v", "-h", "-o", "%i", "-j", job)
    assert listed.stdout.split() == [job] and "\nverbose     = 1\n" in listed.stderr, listed
    assert "verbose     = 1" in cluster.run("sinfo", "-v").stderr
    assert cluster.run("scontrol", "-v", "show", "job", job).stdout.startswith("last_update_time=2")
    assert cluster.run("scancel", "-v", job).stderr == f"scancel: Terminating job {job}\n"
    none = cluster.run("scancel", "-v", "-n", "nobody", "-u", "root").stderr
    assert none == "scancel: No active jobs match ALL job filters, including: user=root name=nobody\n"
    ran = cluster.run("srun", "-v", "-N2", "-n3", "-t1", "true").stderr
    assert "srun: launching StepId=" in ran and "nodes(2):`" in ran and "2 tasks: [0-1]\n" in ran, ran
    granted = cluster.run("salloc", "-v", "-t1", "true").stderr
    assert "salloc: verbose             : 1\n" in granted, granted


@pytest.mark.parametrize("words", [["gacct"], ["gprio"], ["gshare"], ["greport", "--by=user"], ["gacctmgr", "show", "tree"],
                                   ["gacctmgr", "show", "qos"], ["ginfo"], ["gqueue"],
                                   ["gcancel", "-t", "PENDING"], ["gcontrol", "show", "node"]])
def test_every_command_tells_its_requests_to_those_who_ask_twice(cluster, words):
    assert "debug:" not in cluster.run(*words, "-v").stderr
    done = cluster.run(*words, "-vv")
    assert f"{words[0]}: debug:  asking 127.0.0.1:" in done.stderr and " was answered by " in done.stderr, done


def test_cancel_reads_its_environment(cluster):
    held, other = cluster.submit("exit 0", "-H", "-J", "one"), cluster.submit("exit 0", "-H", "-J", "two")
    bad = cluster.run("gcancel", held, env={"SCANCEL_PARTITION": "mian"}, check=False)
    assert bad.returncode == 1 and "mian not found" in bad.stderr, bad.stderr
    cluster.run("gcancel", f"{held},{other}", env={"SCANCEL_NAME": "one"})
    assert (cluster.state(held), cluster.state(other)) == ("CANCELLED", "PENDING")
    cluster.run("gcancel", other, env={"GCANCEL_NAME": "one", "SCANCEL_NAME": "two"})
    assert cluster.state(other) == "PENDING", "the own prefix wins"
    cluster.run("gcancel", env={"GCANCEL_NAME": "two"})
    assert cluster.state(other) == "CANCELLED"


@needs_root
def test_cancel_of_jobs_of_others_by_their_name(cluster, nobody):
    job = cluster.submit("exit 0", "-H")
    done = cluster.run("gcancel", "-u", "root", user=nobody, check=False)
    assert done.returncode == 1 and "access denied to the job of root" in done.stderr, done.stderr
    assert cluster.state(job) == "PENDING"
    cluster.run("gcancel", job)


def test_all_nodes_at_once(cluster):
    cluster.run("gcontrol", "update", "node=ALL", "state=drain", "reason=the pump of the cooling loop is replaced")
    assert cluster.node_states() == {"n0": "drained", "n1": "drained"}
    reasons = cluster.run("ginfo", "-R", "-h").stdout
    assert reasons.startswith("the pump of the cooling loop is replaced "), reasons
    cluster.run("gcontrol", "update", "nodename=all", "state=resume")
    cluster.wait_idle()


def test_names_with_umlauts_are_cut_between_letters(cluster):
    job = cluster.submit("exit 0", "-H", "-J", "äöüäöüäöüäöü")
    assert cluster.run("gqueue", "-h", "-j", job, "-o", "%.8j|").stdout == "äöüäöüäö|\n"
    assert cluster.run("gqueue", "-h", "-j", job, "-o", "%14j|").stdout == "äöüäöüäöüäöü  |\n"
    cluster.run("gcancel", job)


def test_environment_of_a_cluster_does_not_grow(cluster):
    def look(env):
        return cluster.gangway("dev", "env", "--dir", cluster.dir, env=env).stdout

    once = look({"PATH": "/usr/bin:/bin"})
    path = next(line for line in once.splitlines() if line.startswith("export PATH=")).split("=", 1)[1]
    assert look({"PATH": path}) == once


@needs_root
def test_cluster_of_another_user(cluster, nobody):
    cluster.root.chmod(0o755)
    for verb in ("status", "down", "up"):
        argv = as_user(nobody) + [str(bin_for("nobody") / "gangway"), "dev", verb, "--dir", str(cluster.dir)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1 and "belongs to root (uid 0)" in done.stderr, (verb, done.stderr)
    assert cluster.gangway("dev", "env", "--dir", cluster.dir, user=nobody).stdout.startswith("export GANGWAY_CONF=")
    assert cluster.ping()
