"""An installation on two hosts, by the steps of docs/admin-guide.md: the commands are taken from the guide itself.

A step is a block fenced as ```sh with the words `host=head`, `host=node` or `host=all`; what needs systemd stands in a
block fenced as ```systemd, and is done here by starting the daemon that the unit names.
"""

import os
import pathlib
import re
import shlex
import subprocess

import pytest
from cluster import wait_for
from hosts import Hosts, why_not

BUILD = pathlib.Path(os.environ.get("GANGWAY_BUILD", ""))
GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "admin-guide.md"

REASON = why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)


def steps():
    """(language, host, text) of the guide's marked blocks, in order."""
    return re.findall(r"(?m)^```(\w+) host=(\w+)\n(.*?)^```$", GUIDE.read_text(), re.S | re.M)


@pytest.fixture(scope="module")
def hosts():
    made = Hosts()
    try:
        yield made.make()
    finally:
        made.close()


def install(host):
    env = {**os.environ, "DESTDIR": str(host.root)}
    done = subprocess.run(["cmake", "--install", str(BUILD), "--prefix", "/usr"], env=env, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def start_unit(host, unit):
    """Does what the unit file says, as systemd would."""
    if unit == "munge":
        host.shell("mkdir -p -m 0755 /run/munge && chown munge:munge /run/munge")
        host.daemon("munged", "setpriv", "--reuid=munge", "--regid=munge", "--init-groups",
                    "/usr/sbin/munged", "--foreground")
        wait_for((host.root / "run/munge/munge.socket.2").exists, "munged's socket")
        return
    text = (host.root / f"usr/lib/systemd/system/{unit}.service").read_text()
    user = re.search(r"(?m)^User=(\S+)", text)
    command = shlex.split(re.search(r"(?m)^ExecStart=(.*)$", text)[1])
    words = ["setpriv", f"--reuid={user[1]}", f"--regid={user[1]}", "--init-groups"] if user else []
    host.daemon(unit, *words, *command)


def test_every_step_of_the_guide(hosts):
    """Runs the guide from a bare pair of hosts to a finished job."""
    marked = steps()
    assert len(marked) >= 6
    for host in hosts.all:
        install(host)
    for language, where, text in marked:
        chosen = {"head": [hosts.head], "node": [hosts.node], "all": hosts.all}[where]
        for host in chosen:
            if language == "systemd":
                for unit in re.findall(r"systemctl enable --now (.*)", text):
                    for name in unit.split():
                        start_unit(host, name)
            elif language == "sh":
                done = host.shell(re.sub(r"(?m)^scp .*$", ":", text), check=False)
                assert done.returncode == 0, text + done.stdout + done.stderr + host.logs()
                # `scp` between the hosts: the guide's only command that has no meaning between overlays; always last.
                for source, target in re.findall(r"(?m)^scp (\S+) n1:(\S+)$", text):
                    copy = (host.root / source.lstrip("/")).read_bytes()
                    (hosts.node.root / target.lstrip("/")).write_bytes(copy)
    key = (hosts.head.root / "etc/munge/munge.key").read_bytes()
    assert key == (hosts.node.root / "etc/munge/munge.key").read_bytes()


def test_the_node_joined(hosts):
    def idle():
        return hosts.head.run("ginfo", "-N", "-h", "-o", "%N %T", check=False).stdout.strip() == "n1 idle"

    try:
        wait_for(idle, "n1 is idle")
    except AssertionError as e:
        raise AssertionError(f"{e}\n{hosts.head.logs()}{hosts.node.logs()}") from None


@pytest.mark.parametrize("where", ["head", "node"])
def test_an_ordinary_user_runs_a_job(hosts, where):
    host = hosts.head if where == "head" else hosts.node
    for each in hosts.all:
        each.shell("mkdir -p -m 1777 /tmp/games")
    words = ["setpriv", "--reuid=games", "--regid=games", "--init-groups", "sh", "-c",
             "cd /tmp/games && gbatch --wait --wrap 'hostname; id -un'"]
    done = host.run(*words, check=False)
    assert done.returncode == 0, done.stderr + hosts.head.logs() + hosts.node.logs()
    job = done.stdout.split()[-1]
    output = hosts.node.root / f"tmp/games/gangway-{job}.out"
    assert output.read_text() == "n1\ngames\n"


def test_root_is_refused_by_default(hosts):
    done = hosts.head.run("gbatch", "--wrap", "true", check=False)
    assert done.returncode == 1 and "allow_root_jobs" in done.stderr


def test_doctor_is_content_on_both_hosts(hosts):
    for host in hosts.all:
        done = host.run("gangway", "doctor", check=False)
        failures = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
        assert done.returncode == 0 and not failures, done.stdout
        assert "PMIx is there for MPI programs" in done.stdout, done.stdout


def test_the_controller_does_not_run_as_root(hosts):
    done = hosts.head.shell("stat -c %U /proc/$(cat /run/gangway/gctld.pid)/cmdline")
    assert done.stdout.strip() == "gangway"
