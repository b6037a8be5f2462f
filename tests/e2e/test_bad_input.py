"""Bad input: one clear message, a documented exit code, and daemons unharmed."""

import os
import resource
import socket
import struct

import pytest
from cluster import wait_for

OPTIONS = [
    (["--nodez=2"], "--nodes"),
    (["--gpus-per-node=zero"], "zero"),
    (["-N", "0"], "-N"),
    (["-N", "-1"], ""),
    (["-N", "3"], ""),
    (["-N", "99999999999999999999"], ""),
    (["-n", "0"], ""),
    (["-c", "100000"], ""),
    (["--mem=100T"], ""),
    (["--mem=abc"], "abc"),
    (["--gpus-per-node=9"], "8"),
    (["--gpus-per-node=-1"], ""),
    (["-G", "17"], "16"),
    (["--gres=gpu:h10:1"], 'did you mean "h100"?'),
    (["--gres=gpoo:1"], "gpoo"),
    (["-p", "mian"], "main"),
    (["-q", "norml"], "normal"),
    (["-C", "infiniband"], "infiniband"),
    (["-t", "-5"], ""),
    (["-t", "1:99x"], "1:99x"),
    (["-t", "99999999999999999999"], ""),
    (["--begin=yesterdayish"], "yesterdayish"),
    (["-w", "n[1-"], "n[1-"),
    (["-w", "n[1-999999999]"], ""),
    (["-w", "n7"], "partition main has n[0-1]"),
    (["--signal=BOO"], "BOO"),
    (["--export"], ""),
    (["-D", "/nonexistent/folder"], "/nonexistent/folder"),
]


@pytest.fixture(scope="module")
def cluster(shared_cluster):
    return shared_cluster


def one_message(done, text=""):
    assert done.returncode in (1, 255), (done.returncode, done.stderr)
    assert done.stdout == "", done.stdout
    assert done.stderr.count("error:") == 1 and done.stderr.count("\n") <= 3, done.stderr
    assert text in done.stderr, done.stderr


@pytest.mark.parametrize("options, text", OPTIONS, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_options(cluster, options, text):
    done = cluster.run("gbatch", *options, input="#!/bin/sh\ntrue\n", check=False)
    if options[0] == "-D" and done.returncode == 0:  # As in Slurm it may be found out on the node.
        job = int(done.stdout.split()[-1])
        assert cluster.wait_ended(job) == "FAILED" and text in cluster.reason_text(job)
        return
    one_message(done, text)
    assert cluster.ping()


SCRIPTS = [
    ("no interpreter", b"echo hello\n", "#!"),
    ("empty", b"", "empty"),
    ("binary", b"#!/bin/sh\n\0\0\x7fELF", ""),
    ("over 4 MB", b"#!/bin/sh\n" + b"# filler\n" * 600_000, "4"),
    ("unknown directive", b"#!/bin/sh\n#GBATCH -N 1\n#GBATCH --nodez=1\ntrue\n", "3"),
    ("bad value in a directive", b"#!/bin/sh\n#SBATCH --time=soon\ntrue\n", "2"),
    ("unclosed quote", b"#!/bin/sh\n#SBATCH -J 'oops\ntrue\n", "2"),
]


@pytest.mark.parametrize("content, text", [s[1:] for s in SCRIPTS], ids=[s[0] for s in SCRIPTS])
def test_scripts(cluster, content, text):
    path = cluster.work / "bad.sh"
    path.write_bytes(content)
    one_message(cluster.run("gbatch", path, check=False), text)
    assert cluster.ping()


def test_missing_and_unreadable_scripts(cluster):
    one_message(cluster.run("gbatch", cluster.work / "nowhere.sh", check=False), "nowhere.sh")
    one_message(cluster.run("gbatch", cluster.work, check=False), str(cluster.work))


def test_names_with_strange_characters(cluster):
    job = cluster.submit("exit 0", "-H", "-J", "a b\tc;$(reboot)\u2603")
    assert cluster.state(job) == "PENDING"
    cluster.run("gcancel", job)


def test_missing_output_folder_is_made_or_told(cluster):
    path = cluster.work / "new" / "deeper" / "%j.out"
    job = cluster.submit("echo hi", "-o", path)
    if cluster.wait_ended(job) == "COMPLETED":
        assert (path.parent / f"{job}.out").read_text() == "hi\n"
    else:
        assert str(path.parent) in cluster.reason_text(job)


def garbage_messages():
    yield b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    yield struct.pack("<I", 1 << 30) + b"x" * 100
    yield struct.pack("<I", 0xFFFFFFFF)
    yield struct.pack("<I", 0) * 100
    yield struct.pack("<I", 60000) + os.urandom(60000)
    yield struct.pack("<I", 20) + b"short"
    yield os.urandom(1000)


def test_garbage_on_the_socket(cluster):
    before = memory_mb(cluster.pid("gctld"))
    for _ in range(5):
        for message in garbage_messages():
            with socket.create_connection(("127.0.0.1", cluster.port()), timeout=5) as s:
                try:
                    s.sendall(message)
                    s.shutdown(socket.SHUT_WR)
                    while s.recv(4096):
                        pass
                except OSError:
                    pass
    assert cluster.ping()
    assert memory_mb(cluster.pid("gctld")) < before + 50
    cluster.wait_state(cluster.submit("exit 0"), "COMPLETED")


def memory_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))


@pytest.fixture
def many_descriptors():
    """This process may have 5,000 connections and some files for once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 6000:
        pytest.skip(f"{hard} descriptors at most are permitted here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 6000) if soft != resource.RLIM_INFINITY else soft, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_five_thousand_idle_connections(cluster, many_descriptors):
    before = memory_mb(cluster.pid("gctld"))
    idle = []
    try:
        for i in range(5000):
            idle.append(socket.create_connection(("127.0.0.1", cluster.port()), timeout=20))
            if i % 1000 == 500:  # in their midst, too
                assert cluster.run("gqueue", "-h").stderr == ""
        assert len(idle) == 5000
        job = cluster.submit("exit 0")
        assert cluster.run("gqueue", "-h", "-t", "all", "-j", job, "-o", "%i").stdout.split() == [str(job)]
        cluster.wait_state(job, "COMPLETED")
        assert set(cluster.node_states().values()) == {"idle"}
        assert memory_mb(cluster.pid("gctld")) < before + 200
    finally:
        for s in idle:
            s.close()
    wait_for(cluster.ping, "the controller answers")


def test_commands_without_a_configuration(cluster):
    for words in (["gbatch", "--wrap", "true"], ["gqueue"], ["ginfo"], ["gcontrol", "ping"], ["gcancel", "1"]):
        done = cluster.run(*words, check=False, env={"GANGWAY_CONF": "/nonexistent.yaml"})
        assert done.returncode in (1, 255) and "/nonexistent.yaml" in done.stderr, (words, done.stderr)


def test_bad_configuration_is_refused_whole(cluster):
    path = (cluster.dir / "run").resolve() / "gangway.yaml"
    good = path.read_text()
    try:
        path.write_text(good.replace("kill_wait", "kil_wait"))
        done = cluster.run("gcontrol", "reconfigure", check=False)
        assert done.returncode == 1 and "kill_wait" in done.stderr, done.stderr
        check = cluster.run("gangway", "config", "check", path, check=False)
        assert check.returncode == 1 and f"{path}:" in check.stderr and "did you mean" in check.stderr
    finally:
        path.write_text(good)
    cluster.run("gcontrol", "reconfigure")
    cluster.wait_state(cluster.submit("exit 0"), "COMPLETED")
