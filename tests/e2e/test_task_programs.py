"""Task prolog and epilog: run as the user around the script and each task of a step, on its node and in its place; and
the programs that grun runs itself."""

import shlex

import pytest

from cluster import Cluster, wait_for
from conftest import QUICK

PROLOG = """#!/bin/sh
read line && echo "print the prolog was given input"
echo "prolog $SLURM_SCRIPT_CONTEXT $(id -u) $SLURM_JOB_ID.$SLURM_PROCID $SLURM_TASK_PID" >> {folder}/log
echo "export FROM_PROLOG = as it is = "
echo "export FROM_PROLOG=as it is = "
echo "unset TAKEN_AWAY"
echo "print [$SLURM_PROCID] hello from the prolog"
echo "something else"
[ ! -e {folder}/fail ] || {{ echo "the disk is full" >&2; exit 7; }}
[ ! -e {folder}/leave ] || setsid sleep 1000 &
[ ! -e {folder}/tarry ] || {{ touch {folder}/tarries; sleep 1; }}
"""
EPILOG = """#!/bin/sh
echo "epilog $SLURM_SCRIPT_CONTEXT $(id -u) $SLURM_JOB_ID.$SLURM_PROCID ${{FROM_PROLOG-nothing}} $PWD" >> {folder}/log
[ ! -e {folder}/slow ] || sleep 1
echo "over - - $SLURM_JOB_ID." >> {folder}/log
"""


class Programs:
    def __init__(self):
        self.cluster = Cluster(nodes=2)
        self.folder = self.cluster.root / "task-programs"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        for name, text in (("prolog", PROLOG), ("epilog", EPILOG)):
            path = self.folder / name
            path.write_text(text.format(folder=shlex.quote(str(self.folder))))
            path.chmod(0o755)
        self.cluster.overlay.write_text(QUICK + f"""
node_daemon: {{task_prolog: {self.folder}/prolog, task_epilog: {self.folder}/epilog, program_limit: 3s}}
""")

    def submit(self, script, **options):
        return self.cluster.submit(script, "-o", "out-%j", **options)

    def output(self, job):
        return (self.cluster.work / f"out-{job}").read_text()

    def lines(self, job):
        log = self.folder / "log"
        found = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [line for line in found if line[3].split(".")[0] == str(job)]


@pytest.fixture(scope="module")
def programs():
    one = Programs()
    one.cluster.up()
    yield one
    one.cluster.down()


def test_around_a_script(programs):
    cluster = programs.cluster
    script = "echo [$FROM_PROLOG] [${TAKEN_AWAY-gone}] $$ $SLURM_TASK_PID $SLURM_SCRIPT_CONTEXT"
    job = programs.submit(script, env={"TAKEN_AWAY": "still here"})
    cluster.wait_state(job, "COMPLETED")
    shown = programs.output(job).splitlines()
    assert shown[0] == "[0] hello from the prolog" and len(shown) == 2, shown
    assert shown[1].startswith("[as it is = ] [gone] "), shown
    pid, told = shown[1].split()[-2:]
    assert pid == told, "what runs is the task itself"
    prolog, epilog, _ = programs.lines(job)
    assert prolog[:2] == ["prolog", "prolog_task"] and prolog[4] == pid
    assert epilog[:2] == ["epilog", "epilog_task"] and epilog[4] == "nothing"


def test_around_each_task_of_a_step(programs):
    cluster = programs.cluster
    own = programs.folder / "own"
    own.write_text("#!/bin/sh\necho export OWN=$FROM_PROLOG+mine\n")
    own.chmod(0o755)
    after = programs.folder / "after"
    after.write_text(f"#!/bin/sh\necho $SLURM_PROCID >> {programs.folder}/after.log\n")
    after.chmod(0o755)
    done = cluster.run("srun", "-N2", "-n4", "-l", "--task-prolog", str(own), "--task-epilog", str(after),
                       "sh", "-c", "echo $OWN $SLURM_PROCID; exit 3", check=False)
    assert done.returncode == 3, done.stderr
    shown = sorted(done.stdout.splitlines())
    assert shown == sorted([f"{rank}: [{rank}] hello from the prolog" for rank in range(4)]
                           + [f"{rank}: as it is = +mine {rank}" for rank in range(4)])
    wait_for(lambda: (programs.folder / "after.log").exists() and
             sorted((programs.folder / "after.log").read_text().split()) == list("0123"), "each has had its epilog")


def test_a_prolog_that_fails(programs):
    cluster = programs.cluster
    (programs.folder / "fail").touch()
    try:
        job = programs.submit("echo never")
        cluster.wait_state(job, "FAILED")
        said = programs.output(job)
        assert "the disk is full" in said and "never" not in said
        assert f"TaskProlog failed status=7: {programs.folder}/prolog: exit code 7" in said
        assert cluster.run("sacct", "-nX", "-j", str(job), "-o", "ExitCode").stdout.strip() == "7:0"
        done = cluster.run("srun", "-n2", "echo", "never", check=False)
        assert done.returncode == 7 and "never" not in done.stdout and "TaskProlog failed status=7" in done.stderr
    finally:
        (programs.folder / "fail").unlink()


def test_a_program_that_is_not_there(programs):
    done = programs.cluster.run("srun", "-n1", "no-such-program", check=False)
    assert done.returncode == 2, done
    assert "slurmstepd: error: execve(): no-such-program: No such file or directory" in done.stderr
    job = programs.submit("#!/no/such/shell\n:")
    programs.cluster.wait_state(job, "FAILED")
    assert "script interpreter /no/such/shell: No such file or directory" in programs.output(job)


def test_what_a_prolog_leaves_holds_up_nobody(programs):
    (programs.folder / "leave").touch()
    try:
        job = programs.submit("echo done")
        programs.cluster.wait_state(job, "COMPLETED")
        assert "done" in programs.output(job)
    finally:
        (programs.folder / "leave").unlink()


def test_an_epilog_after_a_cancel(programs):
    cluster = programs.cluster
    (programs.folder / "slow").touch()
    try:
        job = programs.submit("exec sleep 1000")
        cluster.wait_state(job, "RUNNING")
        wait_for(lambda: programs.lines(job), "the prolog has run")
        cluster.run("scancel", str(job))
        cluster.wait_state(job, "CANCELLED")
        assert [line[0] for line in programs.lines(job)] == ["prolog", "epilog", "over"]
        assert cluster.run("sacct", "-n", "-j", f"{job}.batch", "-o", "ExitCode").stdout.strip() == "0:15"
        job = programs.submit("true")
        wait_for(lambda: len(programs.lines(job)) == 2, "the epilog runs")
        cluster.run("scancel", str(job))
        cluster.wait_ended(job)
        assert [line[0] for line in programs.lines(job)] == ["prolog", "epilog", "over"], "it is not for what follows"
    finally:
        (programs.folder / "slow").unlink()


def test_programs_of_srun_itself(programs):
    cluster = programs.cluster
    note = programs.folder / "note"
    note.write_text(f"#!/bin/sh\necho $SLURM_JOB_ID.$SLURM_STEP_ID $SLURM_STEP_NUM_TASKS $@ >> {programs.folder}/notes\n")
    note.chmod(0o755)
    done = cluster.run("srun", "-n2", "--prolog", str(note), "--epilog", str(note), "sh", "-c",
                       f"cat {programs.folder}/notes; echo $SLURM_JOB_ID")
    job = done.stdout.split()[-1]
    line = f"{job}.0 2 sh -c cat {programs.folder}/notes; echo $SLURM_JOB_ID"
    assert (programs.folder / "notes").read_text().splitlines() == [line] * 2
    assert done.stdout.splitlines().count(line) == 2, "it runs before the tasks"
    none = cluster.run("srun", "-n1", "--prolog", "none", "--epilog", "/no/such/program", "true")
    assert none.returncode == 0


def test_the_failure_of_a_task_does_not_end_its_epilog(programs):
    cluster = programs.cluster
    for tasks in (1, 2, 2):
        done = cluster.run("srun", "-K", f"-n{tasks}", "-o", "/dev/null", "sh", "-c", "exit 3", check=False)
        assert done.returncode in (3, 143)  # of the other, which is ended with it
        job = cluster.run("sacct", "-X", "-n", "-o", "JobID").stdout.split()[-1]
        words = [line[0] for line in programs.lines(job)]
        assert words.count("epilog") == words.count("over") > 0


def test_a_copy_has_neither(programs):
    cluster = programs.cluster
    cluster.run("srun", "-n1", f"--bcast={programs.folder}/true", "/bin/true")
    job = cluster.run("sacct", "-X", "-n", "-o", "JobID").stdout.split()[-1]
    assert [line[0] for line in programs.lines(job)] == ["prolog", "epilog", "over"]


def test_frozen_time_does_not_count(programs):
    cluster = programs.cluster
    (programs.folder / "tarry").touch()
    try:
        job = programs.submit("echo ran")
        wait_for((programs.folder / "tarries").exists, "its prolog")
        cluster.run("scontrol", "suspend", str(job))
        cluster.wait_state(job, "SUSPENDED")
        (programs.folder / "tarry").unlink()
        other = programs.submit("sleep 4")  # longer than the limit
        cluster.wait_state(other, "COMPLETED")
        cluster.run("scontrol", "resume", str(job))
        cluster.wait_state(job, "COMPLETED")
        assert "ran" in programs.output(job)
    finally:
        (programs.folder / "tarry").unlink(missing_ok=True)


def test_the_limit_holds_for_the_stubborn(programs):
    stubborn = programs.folder / "stubborn"
    stubborn.write_text("#!/bin/sh\ntrap '' TERM ALRM INT\nsleep 1000\n")
    stubborn.chmod(0o755)
    programs.cluster.run("srun", "-n1", "--task-epilog", stubborn, "true")
    done = programs.cluster.run("srun", "-n1", "--task-prolog", stubborn, "true", check=False)
    assert done.returncode == 1 and "it ran longer than 00:00:03" in done.stderr


def test_srun_is_not_deaf_while_its_own_programs_run(programs):
    cluster = programs.cluster
    sleeper = programs.folder / "sleeper"
    sleeper.write_text(f"#!/bin/sh\ntrap '' TERM INT HUP\ntouch {programs.folder}/sleeps\nsleep 1000\n")
    sleeper.chmod(0o755)
    for option, code in (("--prolog", 143), ("--epilog", 0)):
        (programs.folder / "sleeps").unlink(missing_ok=True)
        srun = cluster.popen("srun", "-n1", option, str(sleeper), "touch", f"{programs.folder}/ran{option}")
        wait_for((programs.folder / "sleeps").exists, f"{option} runs")
        srun.terminate()
        assert srun.wait(timeout=30) == code
    assert not (programs.folder / "ran--prolog").exists() and (programs.folder / "ran--epilog").exists()


def test_srun_tells_its_programs_of_its_own_step(programs):
    cluster = programs.cluster
    name = programs.folder / "name"
    name.write_text(f"#!/bin/sh\necho $SLURM_STEP_ID >> {programs.folder}/names\n")
    name.chmod(0o755)
    job = programs.submit(f"srun -n1 srun --overlap -n1 --prolog {name} true")
    cluster.wait_state(job, "COMPLETED")
    assert (programs.folder / "names").read_text() == "1\n"
