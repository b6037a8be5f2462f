"""What users are told: arguments that are not understood, time limits, signals, the end of waiting, widths."""

import os
import pathlib
import shlex
import signal
import subprocess

import pytest
from cluster import BIN, wait_for
from conftest import needs_root

COMMANDS = ["gbatch", "galloc", "grun", "gattach", "gstat", "gacct", "greport", "gbcast", "gqueue", "gcancel", "ginfo", "gcontrol", "gprio",
            "gacctmgr", "gshare", "gdiag", "gangway"]


def test_a_colon_is_no_argument_of_the_program(shared_cluster):
    done = shared_cluster.run("srun", "-n1", "echo", "a", ":", "-n1", "echo", "b")
    assert sorted(done.stdout.split()) == ["a", "b"]
    shared_cluster.wait_idle()
    done = shared_cluster.run("srun", "-n1", ":", "echo", check=False)
    assert done.returncode == 1 and not done.stdout and "a part of the call names no program" in done.stderr
    done = shared_cluster.run("salloc", "-n1", ":", "-n1", "--colour", "true", check=False)
    assert done.returncode == 1 and "--colour" in done.stderr
    assert shared_cluster.run("gqueue", "-h").stdout == "", "nothing was submitted"
    assert shared_cluster.run("grun", "-n1", "sh", "-c", "echo a :").stdout == "a :\n"


@pytest.mark.parametrize("words", [
    ["gqueue", "stray"], ["ginfo", "stray"], ["gprio", "stray"], ["gshare", "stray"], ["gdiag", "stray"], ["gstat", "stray"], ["gacct", "stray"], ["greport", "stray"], ["gcancel", "stray"],
    ["gattach", "1.0", "stray"], ["gbcast", "a", "b", "stray"], ["gcontrol", "ping", "stray"], ["gcontrol", "version", "stray"],
    ["gcontrol", "reconfigure", "stray"], ["gcontrol", "show", "job", "stray"], ["gcontrol", "hold", "stray"],
    ["gcontrol", "show", "config", "stray"], ["gcontrol", "show", "node", "stray"], ["gcontrol", "show", "partition", "stray"],
    ["gacctmgr", "version", "stray"], ["gacctmgr", "show", "qos", "stray"], ["gangway", "doctor", "stray"],
    ["gangway", "dev", "status", "stray"], ["gangway", "topo", "n0", "stray"], ["gangway", "logs", "1", "stray"]])
def test_left_over_arguments_are_errors(shared_cluster, words):
    done = shared_cluster.run(*words, check=False)
    assert done.returncode != 0 and not done.stdout, done
    assert "error" in done.stderr and ("stray" in done.stderr or "one job number" in done.stderr or "one node" in done.stderr
                                       or "3 file names" in done.stderr), done.stderr


@pytest.fixture
def nobody(shared_cluster):
    done = shared_cluster.run("gqueue", user="nobody", check=False)
    if done.returncode != 0 and "ermission denied" in done.stderr:
        pytest.skip("other users cannot run the programs in this build folder")
    return "nobody"


NONE = ("0", "UNLIMITED", "infinite", "-1")


@pytest.fixture
def timed(shared_cluster):
    """A partition with a longest time."""
    shared_cluster.run("gcontrol", "create", "PartitionName=timed", "Nodes=n0", "MaxTime=60", "DefaultTime=30")
    yield shared_cluster
    shared_cluster.run("gcontrol", "delete", "PartitionName=timed")


@needs_root
def test_no_time_limit_is_refused_where_there_is_a_longest(timed, nobody):
    script = timed.work / "pbs.sh"
    script.write_text("#!/bin/sh\n#PBS -l walltime=00:00:00\ntrue\n")
    script.chmod(0o755)
    calls = [["gbatch", "-p", "timed", f"--time={none}", "--wrap", "true"] for none in NONE]
    calls += [["env", f"GBATCH_TIMELIMIT={none}", "gbatch", "-p", "timed", "--wrap", "true"] for none in NONE]
    calls += [["grun", "-p", "timed", "-t0", "true"], ["galloc", "-p", "timed", "-t0", "true"], ["sbatch", "-p", "timed", str(script)],
              ["env", "SLURM_TIMELIMIT=0", "srun", "-p", "timed", "true"], ["env", "SALLOC_TIMELIMIT=0", "salloc", "-p", "timed", "true"]]
    for words in calls:
        done = timed.run(*words, check=False, user=nobody, cwd="/")
        assert done.returncode == 1 and "UNLIMITED asked; partition timed allows 01:00:00" in done.stderr, (words, done.stderr)
    job = timed.run("gbatch", "-p", "timed", "-H", "--parsable", "--wrap", "true", user=nobody, cwd="/").stdout.strip()
    done = timed.run("gcontrol", "update", f"JobId={job}", "TimeLimit=0", check=False, user=nobody)
    assert done.returncode == 1 and "UNLIMITED asked" in done.stderr, done.stderr
    assert timed.run("gqueue", "-h", "-j", job, "-o", "%l").stdout.strip() == "30:00"
    timed.run("gcancel", job)


def test_no_time_limit_is_none_where_that_is_allowed(timed):
    for options, limit in [([], "30:00"), *((["-t", none], "UNLIMITED") for none in NONE)]:  # an administrator may exceed
        job = timed.run("gbatch", "-p", "timed", "-H", "--parsable", *options, "--wrap", "true").stdout.strip()
        assert timed.run("gqueue", "-h", "-j", job, "-o", "%l").stdout.strip() == limit, options
        for value, shown in (("5", "5:00"), ("UNLIMITED", "UNLIMITED"), ("7", "7:00"), ("0", "UNLIMITED")):
            timed.run("gcontrol", "update", f"JobId={job}", f"TimeLimit={value}")
            assert timed.run("gqueue", "-h", "-j", job, "-o", "%l").stdout.strip() == shown
        timed.run("gcancel", job)


def test_signals_go_to_steps_and_leave_the_script_alone(cluster):
    script = f"""#!/bin/bash
grun -n1 -c1 sh -c 'trap "echo step >> {cluster.work}/got; exit 0" USR1; touch {cluster.work}/up; while :; do sleep 0.1; done'
echo script >> {cluster.work}/got
trap 'echo shell >> {cluster.work}/got; exit 0' USR1
touch {cluster.work}/alone
while :; do sleep 0.1; done
"""
    job = cluster.submit(script, "-n1", "-t", "10")
    wait_for((cluster.work / "up").exists, "the step runs")
    cluster.run("scancel", "--signal=USR1", job)
    wait_for((cluster.work / "alone").exists, "the script lives on after its step was signalled")
    wait_for(lambda: cluster.run("gqueue", "-h", "-s", "-j", job, "-o", "%i").stdout.split() == [f"{job}.batch"], "no step is left")
    assert (cluster.work / "got").read_text() == "step\nscript\n"
    done = cluster.run("gcancel", "-s", "USR1", job, check=False)
    assert done.returncode == 1 and f"job {job} runs no step" in done.stderr and "-b signals" in done.stderr
    done = cluster.run("scancel", "--signal=USR1", job)
    assert not done.stderr
    assert cluster.state(job) == "RUNNING"
    cluster.run("gcancel", "-b", "-s", "USR1", job)
    cluster.wait_state(job, "COMPLETED")
    assert (cluster.work / "got").read_text() == "step\nscript\nshell\n"


def test_kill_ends_what_is_ending_and_unknown_ids_are_told(make_cluster):
    cluster = make_cluster(nodes=1, config="jobs: {kill_wait: 10m}\n")
    job = cluster.submit(f"#!/bin/bash\ntrap '' TERM\ntouch {cluster.work}/up\nwhile :; do sleep 0.1; done\n", "-n1", "-t", "600")
    wait_for((cluster.work / "up").exists, "the script runs")
    cluster.run("gcancel", job)
    cluster.wait_state(job, "COMPLETING")
    row = cluster.run("gqueue", "-h", "-j", job, "-o", "%t %M %l").stdout.split()
    assert row[0] == "CG" and row[1] != row[2], row
    cluster.run("gcancel", "-s", "KILL", job)
    cluster.wait_state(job, "CANCELLED")
    done = cluster.run("gcancel", "999999", check=False)
    assert done.returncode == 1 and "999999" in done.stderr
    done = cluster.run("scancel", "999999")
    assert not done.stderr and not done.stdout
    assert not cluster.run("gcancel", job).stderr  # it has ended, which is what was wanted


@pytest.mark.parametrize("first_line", ["#!/bin/bash -l", "#!/bin/bash", "#!/bin/sh"])
@pytest.mark.parametrize("options", [[], ["--export=NONE"]])
def test_jobs_find_the_commands_that_they_were_submitted_with(shared_cluster, first_line, options):
    cluster = shared_cluster
    script = cluster.work / "find.sh"
    script.write_text(f"{first_line}\nsrun -n1 echo a step ran\nscontrol show hostnames $SLURM_JOB_NODELIST\n")
    folder = BIN.parent / "libexec/gangway/slurm"
    plain = {"PATH": "/usr/local/bin:/usr/bin:/bin"}  # as with a full path to sbatch
    out = cluster.work / "find.out"
    done = cluster.run(str(folder / "sbatch"), "--wait", "-n1", "-t5", "-o", str(out), *options, str(script), env=plain, check=False)
    assert done.returncode == 0, done.stderr + out.read_text()
    assert out.read_text().startswith("a step ran\nn"), out.read_text()


@pytest.mark.parametrize("words", [["gcontrol", "show", "job", "1"], ["scontrol", "show", "job", "1"], ["gqueue", "-j", "1"],
                                   ["gcancel", "1"], ["scancel", "1"], ["gcontrol", "show", "step", "1.0"], ["gprio", "-j", "1"],
                                   ["gcontrol", "hold", "1"], ["gattach", "1"], ["gstat", "1"], ["gangway", "topo", "1"]])
def test_without_a_configuration_no_command_speaks_of_the_job(words, tmp_path):
    env = {"PATH": f"{BIN}:{BIN.parent}/libexec/gangway/slurm", "GANGWAY_CONF": str(tmp_path / "none.yaml"), "HOME": str(tmp_path)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "none.yaml" in done.stderr and "Invalid job id" not in done.stderr, done.stderr


def test_a_cluster_comes_up_again_with_jobs_that_waited(make_cluster):
    cluster = make_cluster(nodes=2)
    cluster.run("gcontrol", "update", "nodename=n1", "state=drain", "reason=fan")
    full = [cluster.submit("sleep 1000", "-N1", "--gpus-per-node=8") for _ in range(2)]
    cluster.gangway("dev", "down", "--dir", cluster.dir)
    cluster.up()
    wait_for(lambda: cluster.state(full[1]) == "RUNNING" or cluster.state(full[0]) == "RUNNING", "one of them runs on n0")
    assert "drain" in cluster.node_states()["n1"]


@pytest.mark.parametrize("words,said", [(["grun", "--gpus-per-node=8", "-N1", "true"], "job {} has been cancelled"),
                                        (["galloc", "--gpus-per-node=8", "-N1", "true"], "Job allocation {} has been cancelled")])
def test_who_stops_waiting_is_told_what_becomes_of_the_job(shared_cluster, words, said):
    cluster = shared_cluster
    full = [cluster.submit("sleep 1000", "-N1", "--gpus-per-node=8", "-t", "10") for _ in range(2)]
    for job in full:
        cluster.wait_state(job, "RUNNING")
    waiting = cluster.popen(*words)
    line = waiting.stderr.readline()
    assert "queued and waiting for resources" in line
    job = line.split(" job ")[1].split()[0]
    waiting.send_signal(signal.SIGINT)
    assert said.format(job) in waiting.communicate(timeout=60)[1]
    assert waiting.returncode == 128 + signal.SIGINT and cluster.state(job) == "CANCELLED"
    cluster.run("gcancel", *full)


def test_login_shells_of_jobs_get_their_path_back():
    file = pathlib.Path(__file__).parents[2] / "etc/profile.d/gangway_jobs.sh"
    inside = {"GANGWAY_COMMAND_PATH": "/a b/slurm:/g/bin", "GANGWAY_JOB_ID": "7", "PATH": "/usr/bin:/bin"}
    for shell in ("bash", "dash"):
        for env, path in ((inside, "/a b/slurm:/g/bin:/usr/bin:/bin"), ({"PATH": "/usr/bin:/bin"}, "/usr/bin:/bin"),
                          ({**inside, "GANGWAY_JOB_ID": ""}, "/usr/bin:/bin")):
            text = f". {shlex.quote(str(file))}; . {shlex.quote(str(file))}; printenv PATH"
            done = subprocess.run([f"/bin/{shell}", "-uec", text], env=env, capture_output=True, text=True, check=True)
            assert done.stdout == path + "\n", (shell, env)


def test_a_wait_that_is_interrupted_says_what_becomes_of_the_job(shared_cluster):
    cluster = shared_cluster
    argv = [str(BIN / "gbatch"), "--wait", "-H", "--parsable", "--wrap", "true"]
    waiting = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **cluster.env},
                               cwd=cluster.work)
    job = waiting.stdout.readline().strip()
    waiting.send_signal(signal.SIGINT)
    text = waiting.communicate(timeout=60)[1]
    assert f"job {job} continues: gqueue -j {job} shows it, gcancel {job} ends it" in text, text
    assert waiting.returncode == -signal.SIGINT
    assert cluster.state(job) == "PENDING"
    cluster.run("gcancel", job)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_80_columns(command):
    argv = [str(BIN / command), "--help"]
    text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    wide = [line for line in text.splitlines() if len(line) > 80]
    assert not wide, "\n".join(wide)


def test_listings_fit_80_columns(shared_cluster):
    cluster = shared_cluster
    job = cluster.submit("exit 0", "-H", "-J", "a-long-name-of-a-job")
    for words in (["gqueue"], ["gqueue", "-l"], ["gqueue", "--start"], ["gqueue", "-s"], ["ginfo"], ["ginfo", "-l"], ["ginfo", "-N"],
                  ["ginfo", "-Nl"], ["ginfo", "-s"], ["ginfo", "-R"], ["ginfo", "--fragmentation"], ["gprio"], ["gshare"],
                  ["gacctmgr", "show", "qos"], ["gacctmgr", "show", "tree"], ["gangway", "--help"], ["gangway", "dev", "--help"]):
        text = cluster.run(*words, check=False).stdout
        wide = [line for line in text.splitlines() if len(line) > 80]
        assert not wide, f"{words}:\n" + "\n".join(wide)
    cluster.run("gcancel", job)
