"""gattach: coming back to steps that are kept, through a real terminal, and watching those that run."""

import os
import signal
import subprocess

import pytest
from cluster import drain, full_fifo, wait_for
from conftest import needs_root
from terminal import Terminal
from test_terminal import EDITOR

ALICE, BOB = "daemon", "games"  # Ordinary users that every Debian has.
LEAVE = "\x1c\x1c"


@pytest.fixture
def cluster(shared_cluster):
    yield shared_cluster
    shared_cluster.run("gcancel", "-u", "root", check=False)
    shared_cluster.run("gcancel", "-u", ALICE, check=False)
    shared_cluster.wait_idle()


@pytest.fixture
def terminal(cluster):
    opened = []

    def start(*argv, **options):
        env = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", "PS1": "$ ", **cluster.env}
        for name in [n for n in env if n.startswith("SLURM_")]:
            del env[name]
        opened.append(Terminal([str(word) for word in argv], env, cluster.work, **options))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def job_of(cluster, user="root"):
    return int(wait_for(lambda: cluster.run("gqueue", "-h", "-u", user, "-t", "R", "-o", "%i").stdout.split()[:1],
                        "a job that runs")[0])


def shell(terminal, **options):
    """A kept shell that has started."""
    t = terminal("grun", "--keep", "--pty", "bash", "--norc", **options)
    t.type("echo r''eady\n")
    t.wait("ready")
    return t


def detached(cluster, script, *options):
    """The number of the job of a step that continues by itself."""
    cluster.run("grun", "--detach", *options, "sh", "-c", script)
    return job_of(cluster)


def test_leaving_by_key_and_coming_back(terminal, cluster):
    t = shell(terminal)
    job = job_of(cluster)
    t.type("here=still; echo first '' line\n")
    t.wait("first  line")
    t.type(LEAVE)
    assert t.wait_exit() == 0
    assert f"gattach {job}.0" in t.text()
    again = terminal("gattach", job, rows=33, columns=101)
    again.wait("first  line")
    again.type("echo it is $here; stty size\n")
    again.wait("it is still")
    again.wait("33 101")
    again.type("exit 7\n")
    assert again.wait_exit() == 7


def test_one_ctrl_backslash_is_the_programs(terminal, cluster):
    t = shell(terminal)
    t.type("sleep 1000\n")
    t.wait("sleep 1000")
    t.type("\x1c")
    t.wait("Quit")
    t.type("exit 0\n")
    assert t.wait_exit() == 0


def test_a_full_screen_program_is_drawn_anew(terminal, cluster):
    (cluster.work / "editor.py").write_text(EDITOR)
    t = terminal("grun", "-Q", "--keep", "--pty", "python3", "editor.py", rows=24, columns=80)
    t.wait("top 80x24")
    t.type("x")
    t.wait("key 120")
    t.type(LEAVE)
    assert t.wait_exit() == 0
    job = job_of(cluster)
    same = terminal("gattach", job, rows=24, columns=80)
    wait_for(lambda: "top 80x24" in same.text() and "key 120" not in same.text(), "a screen that is drawn anew")
    assert same.screen.display[23].startswith("bottom")
    same.type("y")
    same.wait("key 121")
    same.type(LEAVE)
    assert same.wait_exit() == 0
    # What is said is said on the user's own screen.
    assert same.seen.rfind(b"\x1b[?1049l") < same.seen.find(b"left step") > 0, same.seen[-500:]
    larger = terminal("gattach", job, rows=40, columns=120)
    larger.wait("top 120x40")
    larger.type("q")
    assert larger.wait_exit() == 0


def test_the_terminal_is_as_it_was_after_leaving(terminal, cluster):
    (cluster.work / "editor.py").write_text(EDITOR)
    t = terminal("bash", "--norc")
    t.wait("$")
    before = t.modes()
    t.type("grun -Q --keep --pty python3 editor.py\n")
    t.wait("top 80x24")
    t.type(LEAVE)
    t.wait("$")
    t.type("echo ba''ck\n")
    t.wait("back")
    assert t.modes()[:4] == before[:4]
    t.type("exit\n")
    assert t.wait_exit() == 0


def test_a_client_that_was_killed_is_followed_by_another(terminal, cluster):
    t = shell(terminal)
    job = job_of(cluster)
    os.kill(t.pid, signal.SIGKILL)
    assert t.wait_exit() == 128 + signal.SIGKILL
    again = terminal("gattach", f"{job}.0")
    again.wait("ready")
    again.type("echo al''ive; exit 3\n")
    again.wait("alive")
    assert again.wait_exit() == 3


def test_another_client_takes_over_while_the_old_one_lives(terminal, cluster):
    t = shell(terminal)
    job = job_of(cluster)
    again = terminal("gattach", job)
    again.wait("ready")
    assert t.wait_exit() == 75
    assert "another client took step" in t.text()
    again.type("echo mi''ne; exit 0\n")
    again.wait("mine")
    assert again.wait_exit() == 0


def test_two_watch_a_shell(terminal, cluster):
    t = shell(terminal)
    job = job_of(cluster)
    watchers = [terminal("gattach", "--watch", job) for _ in range(2)]
    for one in watchers:
        one.wait("ready")
        one.type("echo from a watcher\n")
    t.type("echo sh''own\n")
    t.wait("shown")
    for one in watchers:
        one.wait("shown")
        assert "from a watcher" not in one.text()
    watchers[0].type("\x03")
    assert watchers[0].wait_exit() == 0
    t.type("exit 4\n")
    assert t.wait_exit() == 4
    assert watchers[1].wait_exit() == 4


def test_a_step_without_a_terminal(cluster):
    script = f"while ! test -e {cluster.work}/go; do echo early; sleep 0.05; done; echo late; exit 5"
    job = detached(cluster, script, "-n2")
    client = cluster.popen("gattach", "-l", job)
    watcher = cluster.popen("gattach", "-r", "--output-filter=1", job)
    layout = cluster.run("gattach", "--layout", job).stdout
    assert layout.startswith("Job step layout:\n\t2 tasks, ") and "(n0)" in layout and "task(s): 0" in layout
    # Both are there before the step goes on.
    assert client.stdout.readline() in ("0: early\n", "1: early\n")
    assert watcher.stdout.readline() == "early\n"
    (cluster.work / "go").touch()
    out, _ = client.communicate(timeout=60)
    assert client.returncode == 5 and set(out.splitlines()) <= {"0: early", "1: early", "0: late", "1: late"}
    watcher.communicate(timeout=60)
    assert watcher.returncode == 5


@pytest.mark.parametrize("last", [0, 4])
def test_tasks_that_ended_before_count_too(cluster, last):
    script = (f"if [ $SLURM_PROCID = 0 ]; then exit 3; fi; while ! test -e {cluster.work}/let-go{last}; do sleep 0.05; "
              f"done; exit {last}")
    job = detached(cluster, script, "-N2", "-n2")
    # The controller knows it, and with it the code; the node says it some milliseconds before.
    wait_for(lambda: "1 tasks, 1 nodes (n1)" in cluster.run("gattach", "--layout", job, check=False).stdout,
             "the end of the first task")
    client = cluster.popen("gattach", job, stderr=subprocess.PIPE)
    said = client.stderr.readline()
    assert "the tasks on n0 have ended" in said
    (cluster.work / f"let-go{last}").touch()
    client.communicate(timeout=60)
    assert client.returncode == max(3, last)


def is_running(pid_file):
    pid = pid_file.read_text().strip() if pid_file.exists() else ""
    return not pid or os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize("last", [False, True])
def test_tasks_of_whose_end_the_controller_does_not_know_yet_count_too(cluster, last):
    at = cluster.work / f"late{last}"
    at.mkdir()
    script = (f"echo $$ > {at}/pid$SLURM_PROCID; while ! test -e {at}/go$SLURM_PROCID; do sleep 0.05; done; "
              "exit $((4 * SLURM_PROCID))")
    job = detached(cluster, script, "-N2", "-n2")
    ended = [0, 1] if last else [1]
    for i in ended:
        cluster.kill(f"gnoded.n{i}", signal.SIGSTOP)
    try:
        for i in ended:
            (at / f"go{i}").touch()
            wait_for(lambda: not is_running(at / f"pid{i}"), "the end of the task")
        client = cluster.popen("gattach", job, stderr=subprocess.PIPE)
        assert "the tasks on n" in client.stderr.readline()
        (at / "go0").touch()
        said = ""
        while "waiting for the controller to know how" not in said:
            said = client.stderr.readline()
            assert said, f"it did not wait, and ended with {client.wait()}"
    finally:
        cluster.kill_stopped()
    _, said = client.communicate(timeout=60)
    assert client.returncode == 4, said


def test_a_step_that_has_not_started_is_waited_for(cluster):
    job = cluster.submit("sleep 1000", "-N1", "-w", "n0")
    cluster.wait_state(job, "RUNNING")
    cluster.kill("gnoded.n0", signal.SIGSTOP)
    try:
        inside = cluster.popen("grun", "-Q", f"--jobid={job}", "--overlap", "sh", "-c", "while :; do echo tick; sleep 0.1; done")
        wait_for(lambda: any(s["name"] == "sh" for s in cluster.json("gqueue", "-s", "--json")["steps"]), "the step")
        watcher = cluster.popen("gattach", "--watch", job, stderr=subprocess.PIPE)
        assert "has not started yet: waiting for it" in watcher.stderr.readline()
    finally:
        cluster.kill("gnoded.n0", signal.SIGCONT)
    assert watcher.stdout.readline() == "tick\n"
    cluster.run("gcancel", job)
    watcher.communicate(timeout=60)
    inside.communicate(timeout=60)


def test_a_step_whose_tasks_are_being_started_is_taken_over_only_then(cluster):
    end = full_fifo(cluster.work / "errors.0")  # The task says how it is bound before it runs its program, and waits.
    job = cluster.submit("sleep 1000", "-N1")
    cluster.wait_state(job, "RUNNING")
    client = cluster.popen("grun", f"--jobid={job}", "--overlap", "--keep", "-n1", "--cpu-bind=verbose,none",
                           "-e", f"{cluster.work}/errors.%t", "sh", "-c", "read line; echo got $line; exit 5",
                           stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: any(s["name"] == "sh" and s["state"] == "RUNNING"
                         for s in cluster.json("gqueue", "-s", "--json")["steps"]), "nodes that stand ready")
    again = cluster.popen("gattach", f"{job}.0", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    again.stdin.write("a line\n")
    again.stdin.flush()
    assert "has not started yet: waiting for it" in again.stderr.readline()
    assert client.poll() is None, client.communicate()
    drain(end)
    out, said = again.communicate(timeout=60)
    assert (again.returncode, out) == (5, "got a line\n"), said
    assert "another client took step" in client.communicate(timeout=60)[1] and client.returncode == 75
    os.close(end)
    cluster.run("gcancel", job)


def test_a_filter_names_a_task_that_is_there(cluster):
    job = detached(cluster, "sleep 1000", "-n2")
    done = cluster.run("gattach", "--output-filter=2", job, check=False)
    assert done.returncode == 1 and f"step {job}.0 has no task 2 (its tasks are 0 to 1)" in done.stderr, done.stderr


def test_why_the_job_ended_is_told(cluster):
    job = detached(cluster, "while :; do echo up; sleep 0.2; done")
    client = cluster.popen("gattach", job, stderr=subprocess.PIPE)
    assert client.stdout.readline() == "up\n"
    inside = cluster.popen("grun", f"--jobid={job}", "--overlap", "sh", "-c", "echo up; sleep 1000", stderr=subprocess.PIPE)
    assert inside.stdout.readline() == "up\n"
    cluster.run("gcancel", job)
    for one in (client, inside):
        said = one.communicate(timeout=60)[1]
        assert f"job {job} ended CANCELLED" in said, said
        assert one.returncode > 128


def test_input_that_ends_is_no_control_d(terminal, cluster):
    t = shell(terminal)
    t.type(LEAVE)
    assert t.wait_exit() == 0
    job = job_of(cluster)
    client = cluster.popen("gattach", job, stdin=subprocess.DEVNULL)
    again = ""
    while "ready" not in again:
        again += client.stdout.read(1)
    client.terminate()
    client.wait(timeout=60)
    back = terminal("gattach", job)
    back.type("echo al''ive\n")
    back.wait("alive")
    back.type("exit\n")
    assert back.wait_exit() == 0


def test_control_c_shows_and_then_leaves(terminal, cluster):
    job = detached(cluster, "while :; do echo tick; sleep 0.5; done")
    t = terminal("gattach", job)
    t.wait("tick")
    t.type("\x03")
    t.wait("task 0: running")
    t.type("\x03\x03")
    assert t.wait_exit() == 0
    assert "which continues" in t.text()
    assert cluster.state(job) == "RUNNING"


@pytest.mark.parametrize("words, text", [
    ([], "No job step given"),
    (["x"], "Invalid job id"),
    (["7.x"], "Invalid step id"),
    (["7", "8"], "more than one step given"),
    (["7-9"], "one step at a time"),
    (["7.batch"], "a batch script has no client"),
    (["99999"], "99999"),
    (["--output-filter=x", "7"], "--output-filter"),
    (["--input-filter=1", "7"], "input-filter"),
])
def test_bad_calls(cluster, words, text):
    done = cluster.run("gattach", *words, check=False)
    assert (done.returncode, done.stdout) == (1, "") and text in done.stderr, done.stderr
    assert done.stderr.startswith("gattach: error: "), done.stderr


def test_nothing_to_attach_to(cluster):
    job = cluster.submit("sleep 1000", "-N1")
    cluster.wait_state(job, "RUNNING")
    done = cluster.run("gattach", job, check=False)
    assert done.returncode == 1 and "no step of it" in done.stderr, done.stderr
    cluster.run("gcancel", job)
    cluster.wait_ended(job)
    done = cluster.run("gattach", f"{job}.0", check=False)
    assert done.returncode == 1 and "the job is CANCELLED" in done.stderr, done.stderr


def test_several_steps_are_named(cluster):
    job = cluster.submit("grun --overlap --keep -n1 sleep 1000 & grun --overlap -n1 sleep 1001 & wait", "-N1", "-n2")
    wait_for(lambda: [s["state"] for s in cluster.json("gqueue", "-s", "--json")["steps"] if s["name"] == "sleep"] == ["RUNNING"] * 2,
             "two steps that run")
    done = cluster.run("gattach", job, check=False)
    assert done.returncode == 1 and f"{job}.0 (sleep), {job}.1 (sleep)" in done.stderr, done.stderr
    kept = [n for n in "01" if "not started with --keep" not in cluster.run(
        "timeout", "-s", "TERM", "2", "gattach", f"{job}.{n}", check=False).stderr]
    assert len(kept) == 1
    done = cluster.run("gattach", f"{job}.{1 - int(kept[0])}", check=False)
    assert done.returncode == 1 and "gattach --watch" in done.stderr, done.stderr


@needs_root
def test_strangers_neither_take_nor_watch(cluster):
    if cluster.run("gqueue", user=ALICE, check=False).returncode != 0:
        pytest.skip("other users cannot run the programs in this build folder")
    alice = cluster.popen("grun", "--keep", "-n1", "sh", "-c", "echo up; sleep 1000", user=ALICE)
    assert alice.stdout.readline() == "up\n"
    job = job_of(cluster, ALICE)
    for words in ([str(job)], ["--watch", f"{job}.0"], ["--layout", str(job)]):
        done = cluster.run("gattach", *words, user=BOB, check=False)
        assert done.returncode == 1 and "denied" in done.stderr, (words, done.stderr)
    root = cluster.run("gattach", job, check=False)
    assert root.returncode == 1 and "others may only watch" in root.stderr, root.stderr
    assert "0 (n" in cluster.run("gattach", "--layout", job).stdout, "administrators may look"
    assert alice.poll() is None
    cluster.run("gcancel", job, user=ALICE)
    alice.communicate(timeout=60)
