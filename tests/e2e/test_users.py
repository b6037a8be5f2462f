"""Nobody reads, changes or runs anything as somebody else."""

import os
import pathlib
import pwd

import pytest
from cluster import is_alive, wait_for
from conftest import QUICK, needs_root

ALICE, BOB = "daemon", "games"  # Ordinary users that every Debian has.

pytestmark = needs_root


@pytest.fixture
def cluster(shared_cluster):
    done = shared_cluster.run("gqueue", user=ALICE, check=False)
    if done.returncode != 0 and "ermission denied" in done.stderr:
        pytest.skip("other users cannot run the programs in this build folder")
    return shared_cluster


def test_a_job_runs_as_its_user_with_all_groups(cluster):
    job = cluster.submit(f"umask 077; id > {cluster.work}/id.txt; echo out", user=ALICE)
    cluster.wait_state(job, "COMPLETED")
    expected = cluster.run("id", user=ALICE).stdout
    assert (cluster.work / "id.txt").read_text() == expected
    output = cluster.work / f"gangway-{job}.out"
    assert output.stat().st_uid == pwd.getpwnam(ALICE).pw_uid and output.read_text() == "out\n"


def test_tasks_of_a_step_run_as_their_user(cluster):
    done = cluster.run("grun", "-n1", "sh", "-c", "id", user=ALICE)
    assert done.stdout == cluster.run("id", user=ALICE).stdout
    closed = cluster.work / "closed"
    closed.mkdir(mode=0o700)
    denied = cluster.run("grun", "-o", closed / "x.%t", "-n1", "echo", "no", user=ALICE, check=False)
    assert denied.returncode != 0 and "Permission denied" in denied.stderr
    assert not list(closed.iterdir())


def test_other_users_cannot_touch_a_step(cluster):
    alice = cluster.popen("grun", "-n1", "sh", "-c", "echo up; sleep 1000", user=ALICE)
    assert alice.stdout.readline() == "up\n"
    job = cluster.run("gqueue", "-h", "-u", ALICE, "-o", "%i").stdout.strip()
    for words in (["gcancel", f"{job}.0"], ["gcancel", "-s", "USR1", f"{job}.0"], ["grun", f"--jobid={job}", "--overlap", "id"]):
        done = cluster.run(*words, user=BOB, check=False)
        assert done.returncode != 0 and "denied" in done.stderr, (words, done.stderr)
    assert alice.poll() is None
    cluster.run("gcancel", f"{job}.0", user=ALICE)
    assert alice.wait(timeout=60) != 0


def test_other_users_cannot_touch_a_job(cluster):
    script = f"echo $$ > {cluster.work}/alice.pid; echo my secret is 42; sleep 1000"
    job = cluster.submit(script, user=ALICE, env={"TOKEN": "hunter2"})
    cluster.wait_state(job, "RUNNING")
    pid = int(wait_for(lambda: read(cluster.work / "alice.pid"), "the job's pid"))
    attempts = [
        ["gcancel", job],
        ["gcancel", "--signal=USR1", job],
        ["gcontrol", "hold", job],
        ["gcontrol", "requeue", job],
        ["gcontrol", "update", f"jobid={job}", "timelimit=1"],
        ["gcontrol", "update", f"jobid={job}", "priority=100"],
    ]
    for words in attempts:
        done = cluster.run(*words, user=BOB, check=False)
        assert done.returncode != 0 and done.stderr, words
        assert cluster.state(job) == "RUNNING", words
    assert cluster.run("gcancel", "-u", ALICE, user=BOB, check=False).stdout == ""
    assert cluster.state(job) == "RUNNING" and is_alive(pid)
    shown = cluster.run("gcontrol", "show", "job", job, user=BOB, check=False)
    assert "hunter2" not in shown.stdout and "my secret" not in shown.stdout
    kill = cluster.submit(f"kill -9 {pid}; echo $? > {cluster.work}/bob.kill", user=BOB)
    cluster.wait_state(kill, "COMPLETED")
    assert read(cluster.work / "bob.kill") != "0" and is_alive(pid)
    cluster.run("gcancel", job, user=ALICE)
    cluster.wait_state(job, "CANCELLED")


def read(path):
    return path.read_text().strip() if path.exists() else ""


def test_scripts_and_step_folders_are_closed_to_others(cluster):
    job = cluster.submit(f"echo $0 > {cluster.work}/where; sleep 1000", user=ALICE)
    cluster.wait_state(job, "RUNNING")
    script = wait_for(lambda: read(cluster.work / "where"), "the script's path")
    if os.path.exists(script):
        assert cluster.run("cat", script, user=BOB, check=False).returncode != 0
    for path in (cluster.dir / "state").glob("*"):
        assert cluster.run("cat", path, user=BOB, check=False).returncode != 0, path
    runtime = (cluster.dir / "run").resolve()
    for name in ("munge.key", "munged.seed"):
        if (runtime / name).exists():
            assert cluster.run("cat", runtime / name, user=BOB, check=False).returncode != 0, name
    cluster.run("gcancel", job)
    cluster.wait_state(job, "CANCELLED")


def test_ordinary_users_are_no_administrators(cluster):
    for words in (["gcontrol", "update", "nodename=n0", "state=drain", "reason=x"],
                  ["gcontrol", "update", "partitionname=main", "state=down"],
                  ["gcontrol", "reconfigure"],
                  ["gangway", "backup", cluster.work / "stolen.db"]):
        done = cluster.run(*words, user=BOB, check=False)
        assert done.returncode != 0 and done.stderr.count("error") == 1, (words, done.stderr)
    assert set(cluster.node_states().values()) == {"idle"} and not (cluster.work / "stolen.db").exists()


def test_output_is_opened_as_the_user(cluster):
    private = cluster.work / "private"
    private.mkdir(exist_ok=True)
    private.chmod(0o700)
    job = cluster.submit("echo stolen", "-o", private / "x.out", user=BOB)
    assert cluster.wait_ended(job) == "FAILED"
    assert str(private) in cluster.reason_text(job) and not list(private.iterdir())
    victim = cluster.work / "victim.txt"
    victim.write_text("precious\n")
    victim.chmod(0o600)
    (cluster.work / "link.out").symlink_to(victim)
    job = cluster.submit("echo stolen", "-o", cluster.work / "link.out", user=BOB)
    assert cluster.wait_ended(job) == "FAILED" and victim.read_text() == "precious\n"


def test_root_jobs_need_permission(make_cluster):
    cluster = make_cluster(nodes=1, config=QUICK.replace("jobs: {", "jobs: {allow_root_jobs: false, "))
    done = cluster.run("gbatch", "--wrap", "true", check=False)
    assert done.returncode == 1 and "allow_root_jobs" in done.stderr and done.stderr.count("error") == 1
    assert cluster.ping()


def test_another_key_is_refused_with_its_reason(make_cluster, cluster):
    other = make_cluster(nodes=1)
    config = cluster.config_with("foreign.yaml", host="127.0.0.1")
    text = config.read_text().replace(str((cluster.dir / "run").resolve() / "munge.socket"),
                                      str((other.dir / "run").resolve() / "munge.socket"))
    config.write_text(text)
    done = other.run("gqueue", env={"GANGWAY_CONF": str(config), "GANGWAY_TIMEOUT": "2"}, check=False)
    assert done.returncode == 1 and "key" in done.stderr, done.stderr
    assert cluster.ping()


def test_munged_stopped(make_cluster):
    cluster = make_cluster(nodes=1)
    cluster.kill("munged")
    done = cluster.run("gqueue", env={"GANGWAY_TIMEOUT": "2"}, check=False)
    assert done.returncode == 1 and "munged does not answer" in done.stderr
    doctor = cluster.run("gangway", "doctor", check=False)
    assert doctor.returncode == 1 and "FAIL" in doctor.stdout and "remedy" in doctor.stdout
    cluster.start("munged")
    wait_for(cluster.ping, "the controller answers again")
    assert pathlib.Path(cluster.env["GANGWAY_CONF"]).exists()
