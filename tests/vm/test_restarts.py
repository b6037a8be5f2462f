"""Daemons that systemd stops and starts, and machines that start anew, in the middle of jobs."""

import pytest

from machine import wait_for

# What it sleeps says which script it is.
WAIT = "sleep {1} & until test -e /srv/games/go-{0}; do sleep 0.2; done; echo went on"


@pytest.fixture
def running(cluster):
    """A function that submits a job which runs until it is let go: `(number, let it go)`."""
    count = 0

    def start(*words, node="n1"):
        nonlocal count
        count += 1
        name = f"{node}-{count}"
        machine = cluster.machine(node)
        machine.run(f"rm -f /srv/games/go-{name}")
        seconds = 47000 + count
        job = cluster.submit("-w", node, *words, "--wrap", WAIT.format(name, seconds))
        cluster.wait_state(job, "RUNNING")
        wait_for(lambda: machine.run(f"pgrep -af 'sleep {seconds}'", check=False).out, "the script runs")
        return job, lambda: machine.run(f"touch /srv/games/go-{name}")

    return start


def pids(machine):
    """What stays the same while jobs run."""
    return machine.run("pgrep -u games -f 'sleep 470'", check=False).out


@pytest.mark.parametrize("how", ["restart", "stop and start", "kill"])
def test_a_job_survives_its_node_daemon(cluster, running, how):
    job, let_go = running()
    before = pids(cluster.n1)
    command = {"restart": "systemctl restart gnoded", "stop and start": "systemctl stop gnoded; systemctl start gnoded",
               "kill": "systemctl kill -s KILL --kill-whom=main gnoded"}[how]
    cluster.n1.run(command)
    wait_for(lambda: cluster.n1.run("systemctl is-active gnoded", check=False).out == "active\n", "gnoded is active")
    assert pids(cluster.n1) == before
    cluster.head.run("systemctl reset-failed")
    let_go()
    cluster.wait_state(job, "COMPLETED")
    assert cluster.n1.read(f"/srv/games/gangway-{job}.out") == "went on\n"


def test_a_job_that_ends_while_its_node_daemon_is_stopped(cluster, running):
    job, let_go = running()
    cluster.n1.run("systemctl stop gnoded")
    let_go()
    wait_for(lambda: cluster.n1.run(f"cat /srv/games/gangway-{job}.out").out == "went on\n", "the script has ended")
    cluster.n1.run("systemctl start gnoded")
    cluster.wait_state(job, "COMPLETED")
    cluster.wait_nodes()
    assert not pids(cluster.n1)


@pytest.mark.parametrize("how", ["restart", "kill"])
def test_a_job_survives_the_controller(cluster, running, how):
    job, let_go = running()
    cluster.head.run({"restart": "systemctl restart gctld", "kill": "systemctl kill -s KILL gctld"}[how])
    wait_for(lambda: cluster.head.run("gcontrol ping", check=False).status == 0, "the controller answers")
    let_go()
    cluster.wait_state(job, "COMPLETED")


def test_systemd_reads_its_units_again(cluster, running):
    """systemd may set the top of the hierarchy to its own liking then: a job's limits stay."""
    job, let_go = running("--mem=64")
    group = cluster.n1.run(f"ls -d /sys/fs/cgroup/gangway/example/n1/job_{job}.*").out.strip()
    before = cluster.n1.read(f"{group}/memory.max")
    cluster.n1.run("systemctl daemon-reload; systemctl daemon-reexec; systemctl restart systemd-networkd")
    assert cluster.n1.read(f"{group}/memory.max") == before
    after = cluster.submit("-w", "n1", "--mem=64", "--wrap", "true")
    cluster.wait_state(after, "COMPLETED")
    let_go()
    cluster.wait_state(job, "COMPLETED")


@pytest.mark.parametrize("how", ["restart", "cut_power"])
def test_a_node_starts_anew_in_the_middle_of_jobs(cluster, running, how):
    once, _ = running("--no-requeue", "-n1")
    again, let_go = running("--requeue", "-n1")
    getattr(cluster.n1, how)()
    cluster.n1.wait_until_up()
    cluster.wait_state(once, "NODE_FAIL")
    cluster.wait_state(again, "RUNNING")
    let_go()
    cluster.wait_state(again, "COMPLETED")


@pytest.mark.parametrize("how", ["restart", "cut_power"])
def test_the_controllers_machine_starts_anew(cluster, running, how):
    """Jobs of the other node continue; what was told before is still known."""
    job, let_go = running()
    processes = pids(cluster.n1)
    getattr(cluster.head, how)()
    cluster.head.wait_until_up()
    assert cluster.wait_state(job, "RUNNING") and pids(cluster.n1) == processes
    let_go()
    cluster.wait_state(job, "COMPLETED")
    cluster.wait_nodes()


def test_daemons_write_to_the_journal(cluster):
    cluster.head.run("systemctl restart gnoded")
    for machine, unit in ((cluster.head, "gctld"), (cluster.head, "gnoded"), (cluster.n1, "gnoded")):
        assert machine.run(f"journalctl -q -u {unit} -b --no-pager -o cat | wc -l").out.strip() != "0"
