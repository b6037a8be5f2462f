"""An installation on two hosts, by the steps of docs/admin-guide.md: the commands are taken from the guide itself.

A step is a block fenced as ```sh with the words `host=head`, `host=node` or `host=all`; what needs systemd stands in a
block fenced as ```systemd, and is done here by starting the daemon that the unit names.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest
from cluster import wait_for
from hosts import Hosts, why_not

BUILD = pathlib.Path(os.environ.get("GANGWAY_BUILD", ""))
MPI_SOURCE = pathlib.Path(__file__).with_name("mpi_check.c")
# As docs/mpi.md says: the commands under Slurm's names. Ranks that wait let others run.
MPI_ENV = ["PATH=/usr/libexec/gangway/slurm:/usr/local/bin:/usr/bin:/bin", "OMPI_MCA_mpi_yield_when_idle=1"]
MPI_GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "mpi.md"
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


@pytest.fixture(autouse=True)
def nothing_is_left(hosts):
    yield
    hosts.check_leaks()


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


def put_up_firewall(host, rules):
    """The guide's rules, where this machine lets network namespaces have some."""
    done = subprocess.run(["ip", "netns", "exec", host.netns, "nft", "-f", "-"], input=rules, capture_output=True,
                          text=True, check=False) if shutil.which("nft") else None
    host.has_firewall = done is not None and done.returncode == 0


def user_runs(hosts, where, *words):
    """What an ordinary user sees of a command that goes well."""
    for each in hosts.all:
        each.shell("mkdir -p -m 1777 /tmp/games")
    host = hosts.host(where)
    done = host.run(*host.as_user("games", *words), check=False)
    assert done.returncode == 0, done.stdout + done.stderr + hosts.head.logs() + hosts.node.logs()
    return done


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
            elif language == "nft":
                put_up_firewall(host, text)
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
    done = user_runs(hosts, where, "gbatch", "--wait", "--wrap", "hostname; id -un")
    job = done.stdout.split()[-1]
    output = hosts.node.root / f"tmp/games/gangway-{job}.out"
    assert output.read_text() == "n1\ngames\n"


def test_the_controllers_host_becomes_a_node(hosts):
    """It reaches the controller over loopback, so that nobody sees by which address others reach it."""
    file = "etc/gangway/gangway.yaml"
    text = (hosts.head.root / file).read_text().replace("  - name: n1 ", "  - name: head\n  - name: n1 ", 1)
    for host in hosts.all:
        (host.root / file).write_text(text)
    hosts.head.run("gangway", "config", "check")
    hosts.head.run("gcontrol", "reconfigure")
    start_unit(hosts.head, "gnoded")

    def idle():
        return hosts.head.run("ginfo", "-N", "-h", "-o", "%N %T", check=False).stdout.split("\n")[:2] == ["head idle", "n1 idle"]

    wait_for(idle, "both nodes are idle")
    done = hosts.head.run("ginfo", "-N", "-h", "-o", "%N %o")
    assert done.stdout.split("\n")[:2] == [f"{h.name} {h.address}" for h in hosts.all]


BOTH = pytest.mark.parametrize("where", ["head", "node"])


@BOTH
def test_a_step_on_both_hosts(hosts, where):
    done = user_runs(hosts, where, "grun", "-N2", "-l", "sh", "-c", "hostname; id -un")
    assert sorted(done.stdout.splitlines()) == ["0: games", "0: n1", "1: games", "1: head"]


@BOTH
def test_an_allocation_and_its_steps(hosts, where):
    done = user_runs(hosts, where, "galloc", "-N2", "sh", "-c", "grun hostname; grun -n1 -w n1 hostname")
    lines = done.stdout.splitlines()
    assert sorted(lines[:2]) == ["head", "n1"] and lines[2:] == ["n1"]


@BOTH
@pytest.mark.parametrize("width", [1, 32])
def test_a_file_is_sent_to_both_hosts(hosts, where, width):
    """With a width of 1 the second host gets it from the first."""
    name = f"/tmp/games/sent-{where}-{width}"
    source = hosts.host(where).root / "tmp/games/source"
    source.write_bytes(bytes(range(256)) * 5000)
    user_runs(hosts, where, "galloc", "-N2", "gbcast", f"--fanout={width}", "/tmp/games/source", name)
    for host in hosts.all:
        assert (host.root / name.lstrip("/")).read_bytes() == source.read_bytes()


@BOTH
def test_somebody_joins_a_step(hosts, where):
    """Who comes later hears both hosts, and how it ends."""
    go = f"/tmp/games/go-{where}"
    script = f"while ! test -e {go}; do echo I am $(hostname); sleep 0.05; done; exit 4"
    user_runs(hosts, "head", "grun", "--detach", "-N2", "sh", "-c", script)
    job = user_runs(hosts, "head", "gqueue", "-h", "-o", "%i").stdout.strip()
    host = hosts.host(where)
    client = host.popen(*host.as_user("games", "gattach", "-l", job))
    heard = set()
    while heard < {"0: I am n1\n", "1: I am head\n"}:
        heard.add(client.stdout.readline())
    assert heard == {"0: I am n1\n", "1: I am head\n"}
    for each in hosts.all:
        each.shell(f"touch {go}")
    client.communicate(timeout=60)
    assert client.returncode == 4


@pytest.fixture(scope="module")
def mpi_programs(hosts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mpi")
    for kind in ("openmpi", "mpich"):
        subprocess.run([f"mpicc.{kind}", "-O1", "-o", folder / kind, MPI_SOURCE], check=True)
        for host in hosts.all:
            target = host.root / f"usr/local/bin/check-{kind}"
            target.write_bytes((folder / kind).read_bytes())
            target.chmod(0o755)


@BOTH
@pytest.mark.parametrize("words", [
    "grun -N2 check-openmpi",
    "galloc -N2 mpirun.openmpi check-openmpi",
    "galloc -N2 mpiexec.hydra check-mpich",
])
@pytest.mark.usefixtures("mpi_programs")
def test_an_mpi_program_on_both_hosts(hosts, where, words):
    ports = re.findall(r"\w+=\S+", re.search(r"### Behind a firewall.*?```sh\n(.*?)```", MPI_GUIDE.read_text(), re.S)[1])
    done = user_runs(hosts, where, "env", *MPI_ENV, *ports, *words.split())
    lines = [line.split() for line in sorted(done.stdout.splitlines()) if line[:1].isdigit()]
    assert [line[0] for line in lines] == ["0", "1"] and {line[2] for line in lines} == {"head", "n1"}, done.stdout + done.stderr


def test_root_is_refused_by_default(hosts):
    done = hosts.head.run("gbatch", "--wrap", "true", check=False)
    assert done.returncode == 1 and "allow_root_jobs" in done.stderr


def test_doctor_is_content_on_both_hosts(hosts):
    for host in hosts.all:
        done = host.run("gangway", "doctor", check=False)
        failures = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
        assert done.returncode == 0 and not failures, done.stdout
        assert "PMIx is there for MPI programs" in done.stdout, done.stdout


def test_ports_that_the_guide_does_not_name_are_closed(hosts):
    """So that what else is tested here shows that the ports which it names are enough."""
    if not all(host.has_firewall for host in hosts.all):
        pytest.skip("nft is not permitted here")
    script = "import socket; socket.create_connection(('10.77.0.2', {}), timeout={})"
    server = hosts.node.popen("python3", "-c", "import socket; s = [socket.create_server(('', p)) for p in (20000, 61999)]; "
                              "print('listens', flush=True); s[1].accept()")
    assert server.stdout.readline() == "listens\n"
    closed = hosts.head.run("python3", "-c", script.format(20000, 1), check=False)
    assert closed.returncode != 0 and "timed out" in closed.stderr
    hosts.head.run("python3", "-c", script.format(61999, 60))
    assert server.wait(60) == 0


def test_the_controller_does_not_run_as_root(hosts):
    done = hosts.head.shell("stat -c %U /proc/$(cat /run/gangway/gctld.pid)/cmdline")
    assert done.stdout.strip() == "gangway"


ASK = """
import json, sys, urllib.request
path, token, body = sys.argv[1:4]
where, _, path = path.partition('/')
headers = {'Authorization': 'Bearer ' + token} if token else {}
try:
    with urllib.request.urlopen(urllib.request.Request(f'http://{where}/{path}', body.encode() or None, headers), timeout=60) as reply:
        print(reply.status, reply.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""
LISTEN = """
import urllib.request
with urllib.request.urlopen('http://10.77.0.2:61800/api/v1/stream', timeout=120) as reply:
    for line in reply:
        if line.startswith(b'data'):
            print('told', flush=True)
"""


def test_the_page_is_served_from_another_host_than_the_controllers(hosts):
    """As docs/web.md says, with its port in a range that the firewall lets through."""
    file = "etc/gangway/gangway.yaml"
    for host in hosts.all:
        host.shell("useradd --system --no-create-home --uid 987 gwebd")
        with open(host.root / file, "a") as config:
            config.write('\nweb: {listen: "*:61800", hosts: ["10.77.0.2"], open_to_read: true}\n')
    hosts.head.run("gcontrol", "reconfigure")
    start_unit(hosts.node, "gwebd")

    def ask(host, where, path, token="", body=""):
        done = host.run("python3", "-c", ASK, f"{where}/api/v1/{path}", token, body, check=False)
        status, _, text = done.stdout.partition(" ")
        return (int(status), json.loads(text)) if status else (0, done.stderr)

    wait_for(lambda: ask(hosts.head, "10.77.0.2:61800", "ping")[0] == 200, "the page")
    status, nodes = ask(hosts.head, "10.77.0.2:61800", "nodes")
    assert status == 200 and sorted(node["name"] for node in nodes["nodes"]) == ["head", "n1"]
    listener = hosts.head.popen("python3", "-c", LISTEN)
    assert listener.stdout.readline() == "told\n"
    secret = user_runs(hosts, "node", "gangway", "token", "make").stdout.strip()
    status, refused = ask(hosts.head, "10.77.0.2:61800", "me", secret)
    assert status == 401 and "unencrypted" in refused["error"]["message"], "a network may be listened to"
    job = json.dumps({"script": "#!/bin/sh\nid -un\n", "chdir": "/tmp/games", "options": ["-w", "n1", "-o", "by-page"]})
    status, submitted = ask(hosts.node, "127.0.0.1:61800", "jobs", secret, job)
    assert status == 200, submitted
    output = hosts.node.root / "tmp/games/by-page"
    wait_for(lambda: output.exists() and output.read_text() == "games\n", "the job's output")
    assert listener.stdout.readline() == "told\n", "somebody who watches from another host hears of it"
    listener.kill()
    said = [pathlib.Path(f"/proc/{pid}/status").read_text() for pid in hosts.node.inner_pids()]
    assert [re.search(r"Uid:\s+(\d+)", text)[1] for text in said if "Name:\tgwebd\n" in text] == ["987"]
