"""An abuser beside a victim: whatever one user sends, nothing of the other's is refused, omitted, fenced or late."""

import os
import signal
import subprocess

import pytest
from cluster import IS_ROOT, as_user, wait_for
from conftest import QUICK, needs_root

VICTIM, ABUSER = "daemon", "games"

pytestmark = needs_root

# Small, so that the abuser meets each of them within the test.
BUDGETS = """
users: {requests_per_second: 200, request_burst: 400, max_jobs: 150, max_stored_bytes: 16M}
jobs: {min_job_age: 30s}
"""

# What an account can do to a controller with its own commands. Each runs again and again.
ABUSES = {
    "listings": "gqueue -a",
    "long listings": "gqueue -a -o '%.500j %.2000k %Z'; ginfo -N; gcontrol show job",
    "pings": "gcontrol ping",
    "jobs": "gbatch --wrap='sleep 1000' -n1 -J $(head -c 400 /dev/zero | tr '\\0' n) --comment=$(head -c 900 /dev/zero | tr '\\0' c)",
    "large scripts": "(echo '#!/bin/sh'; echo '#' $RANDOM$RANDOM; head -c 2000000 /dev/zero | tr '\\0' x) | gbatch",
    "filters": "gqueue -j $(seq -s, 1 3000); gcancel -n $(seq -s, 1 3000)",
    "comments": "for j in $(gqueue -h -o %i -u games | head -50); do gcontrol update jobid=$j comment=$(head -c 60000 /dev/zero | tr '\\0' z); done",
}


@pytest.fixture
def cluster(make_cluster):
    one = make_cluster(nodes=2, config=QUICK + BUDGETS)
    done = one.run("gqueue", user=VICTIM, check=False)
    if done.returncode != 0 and "ermission denied" in done.stderr:
        pytest.skip("other users cannot run the programs in this build folder")
    return one


@pytest.fixture
def abuse(cluster):
    """All abuses at once; messages of the commands go to files of their names in the scratch folder."""
    loops = []
    for name, words in ABUSES.items():
        log = cluster.work / name.replace(" ", "_")
        loop = f"while :; do {{ {words}; }} >/dev/null 2>>{log}; echo >> {log}.rounds; done"
        argv = (as_user(ABUSER) if IS_ROOT else []) + ["bash", "-c", loop]
        env = {**os.environ, **cluster.env, "GANGWAY_TIMEOUT": "2"}
        loops.append(subprocess.Popen(argv, env=env, cwd=cluster.work, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True))
    try:
        for name in ABUSES:
            rounds = cluster.work / (name.replace(" ", "_") + ".rounds")
            wait_for(rounds.exists, f"the first round of {name}", deadline=120)
        yield cluster
    finally:
        for loop in loops:
            os.killpg(loop.pid, signal.SIGKILL)
            loop.wait()


def victim(cluster, *words, **options):
    """A command of the victim, with the patience that commands have by default; that it is not refused is checked."""
    done = cluster.run(*words, user=VICTIM, timeout=300, env={"GANGWAY_TIMEOUT": "60"}, **options)
    assert "error" not in done.stderr, (words, done.stderr)
    return done.stdout


def stalled_readers(cluster, count=8):
    """Commands that ask for long lists and never read the answers."""
    readers = []
    for _ in range(count):
        reader = cluster.popen("gcontrol", "show", "job", user=ABUSER)
        os.kill(reader.pid, signal.SIGSTOP)
        readers.append(reader)
    return readers


def test_nothing_of_the_victims_is_refused_omitted_or_fenced(abuse):
    cluster = abuse
    readers = stalled_readers(cluster)
    try:
        jobs = [victim(cluster, "gbatch", "-n1", "-t", "10", "-o", "/dev/null", "--wrap=true").split()[-1] for _ in range(10)]
        held = [victim(cluster, "gbatch", "-H", "-n1", "-t", "10", "--wrap=true").split()[-1] for _ in range(5)]
        listed = victim(cluster, "gqueue", "-h", "-t", "all", "-u", VICTIM, "-o", "%i").split()
        assert set(held) <= set(listed), "a job of the victim's is missing in the list"
        everything = victim(cluster, "gqueue", "-h", "-t", "all", "-o", "%i").split()
        assert set(held) <= set(everything), "a job of the victim's is missing in the list of all"
        assert len(everything) == len(set(everything)), "a job is listed twice"
        assert "hello" in victim(cluster, "grun", "-n1", "-t", "10", "echo", "hello")
        for job in held:
            victim(cluster, "gcancel", job)
        for job in jobs:
            wait_for(lambda: victim(cluster, "gqueue", "-h", "-t", "all", "-j", job, "-o", "%T").strip() == "COMPLETED",
                     f"job {job} of the victim", deadline=240)
        states = victim(cluster, "ginfo", "-N", "-h", "-o", "%N %T")
        assert "down" not in states and "unk" not in states, states
    finally:
        for reader in readers:
            reader.kill()
            reader.wait()
    mine = int(cluster.run("gqueue", "-h", "-u", ABUSER, "-o", "%i").stdout.count("\n"))
    assert mine <= 150


def test_who_goes_beyond_a_budget_is_told_what_to_do(cluster):
    for _ in range(150):
        cluster.run("gbatch", "-H", "-n1", "--wrap=true", user=ABUSER)
    done = cluster.run("gbatch", "-H", "-n1", "--wrap=true", user=ABUSER, check=False)
    assert done.returncode == 1 and "users.max_jobs" in done.stderr and "wait until one of your jobs ends" in done.stderr
    cluster.run("gbatch", "-H", "-n1", "--wrap=true", user=VICTIM)
    cluster.run("gcancel", "-u", ABUSER, user=ABUSER)
    cluster.run("gbatch", "-H", "-n1", "--wrap=true", user=ABUSER)
    script = "#!/bin/sh\n" + "x" * 3_000_000
    outcomes = [cluster.run("gbatch", "-H", "-n1", user=ABUSER, check=False, input=f"{script}{n}\n") for n in range(8)]
    refused = [done for done in outcomes if done.returncode != 0]
    assert refused and len(refused) < len(outcomes)
    assert all("users.max_stored_bytes" in done.stderr and done.returncode == 1 for done in refused)


def test_a_list_of_several_pieces_is_complete(cluster):
    # Components are jobs: 1,280 of them in 10 submissions, more than a piece of a list has rows.
    more = [":", "-n1"] * 127
    for _ in range(10):
        cluster.submit("true", "-H", "-n1", *more)
    listed = cluster.run("gqueue", "-h", "-o", "%A").stdout.split()
    assert len(listed) == len(set(listed)) == 1280
    cluster.run("gcancel", *listed)
    assert cluster.run("gqueue", "-h").stdout == ""
