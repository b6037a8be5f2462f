"""A snapshot of the running controller, replayed: the simulator takes the daemon's own decisions."""

import hashlib
import json

import pytest

from cluster import wait_for
from conftest import needs_root


@pytest.fixture(name="busy")
def busy_cluster(cluster):
    """Two nodes of eight GPUs: one full, one half full; behind it jobs that wait."""
    cluster.wait_idle()
    cluster.running = [cluster.submit("sleep 600", "-N1", "--gpus-per-node=8", "-t", "60"),
                       cluster.submit("sleep 600", "-N1", "--gpus-per-node=4", "-t", "30")]
    for job in cluster.running:
        cluster.wait_state(job, "RUNNING")
    cluster.pending = [cluster.submit("true", "-N2", "--gpus-per-node=8", "-t", "20"),
                       cluster.submit("true", "-N1", "--gpus-per-node=6", "-t", "90"),
                       cluster.submit("true", "-N1", "--gpus-per-node=6", "-t", "90")]
    wait_for(lambda: all("(" in cluster.show(job, "%R") for job in cluster.pending), "all jobs told why they wait")
    return cluster


def simulate(cluster, *words, code=0):
    done = cluster.gangway("simulate", *words, check=False)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr, cluster.logs())
    return done


def test_the_replay_takes_the_daemons_decisions(busy):
    file = busy.work / "one.snapshot"
    done = busy.run("gcontrol", "snapshot", file)
    assert done.stdout == f"{file}: {file.stat().st_size} bytes\n"
    seen = json.loads(simulate(busy, f"--from-live={file}", "--json", "--forward").stdout)
    assert seen["same"] and seen["daemon"] == seen["replay"]
    assert (seen["running"], seen["pending"], seen["nodes"]) == (2, 3, 2)
    waits = [line for line in seen["daemon"]["decisions"] if line.startswith("wait ")]
    planned_starts = [line for line in seen["daemon"]["decisions"] if line.startswith("planned start ")]
    assert len(waits) == 2, "equal requests wait as one"
    assert f"planned start {busy.pending[0]} " in planned_starts[0]
    # Looking ahead: the gang of two nodes starts when the longer of the two jobs reaches its limit.
    ahead = {job["job_id"]: job for job in seen["forecast"]}
    assert set(ahead) == set(busy.pending)
    assert ahead[busy.pending[0]]["start"] >= seen["time"] + 50 * 60
    assert all(job["start"] for job in seen["forecast"])


def test_without_a_file_the_controller_is_asked_and_goes_on(busy):
    text = simulate(busy, "--from-live").stdout
    assert "the daemon took the same decisions" in text
    job = busy.submit("true", "-N1", "--gpus-per-node=2", "-t", "1")
    busy.wait_state(job, "COMPLETED")


def test_a_decision_that_differs_is_named(busy):
    """The replay under another order: the file says so, and its hashes are right, but the daemon did otherwise."""
    file = busy.work / "one.snapshot"
    busy.run("gcontrol", "snapshot", file)
    changed = busy.work / "changed.snapshot"
    changed.write_bytes(with_other_decision(file.read_bytes(), busy.pending[0]))
    done = simulate(busy, "--from-live", changed, code=1)
    assert "the daemon decided otherwise" in done.stdout
    assert f"+ planned start {busy.pending[0]} " in done.stdout and f"- planned start {busy.pending[0]} " in done.stdout


@pytest.mark.parametrize("place", [0.3, 0.6, 0.99])
def test_a_changed_byte_is_noticed(shared_cluster, place):
    file = shared_cluster.work / f"flip-{place}.snapshot"
    shared_cluster.run("gcontrol", "snapshot", file)
    data = bytearray(file.read_bytes())
    data[int(len(data) * place)] ^= 1
    file.write_bytes(data)
    assert simulate(shared_cluster, "--from-live", file, code=2).stderr


@needs_root
def test_only_administrators_may_take_one(shared_cluster):
    done = shared_cluster.run("gcontrol", "snapshot", "-", user="nobody", check=False)
    assert done.returncode == 1 and "only administrators" in done.stderr


def test_a_file_that_is_there_is_not_overwritten(shared_cluster):
    file = shared_cluster.work / "there"
    file.write_text("mine")
    done = shared_cluster.run("gcontrol", "snapshot", file, check=False)
    assert done.returncode == 1 and "name a file that does not exist" in done.stderr
    assert file.read_text() == "mine"


# ---- The file from outside: fields of wire/snapshot.proto, by number


def fields(data):
    """(number, wire type, value) of a message, in order."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, 0, varint()
        elif key & 7 == 1:
            yield key >> 3, 1, data[at:at + 8]
            at += 8
        else:
            size = varint()
            yield key >> 3, 2, data[at:at + size]
            at += size


def message(parts):
    def varint(value):
        out = b""
        while value > 0x7f:
            out += bytes([value & 0x7f | 0x80])
            value >>= 7
        return out + bytes([value])

    out = b""
    for number, kind, value in parts:
        out += varint(number << 3 | kind)
        out += varint(value) if kind == 0 else value if kind == 1 else varint(len(value)) + value
    return out


def blake(data):
    """As auth::hash_parts() of one part: its length in front, eight bytes, little-endian."""
    return hashlib.blake2b(len(data).to_bytes(8, "little") + data, digest_size=32).hexdigest().encode()


def with_other_decision(data, job):
    """The same snapshot with the planned start of `job` a minute later, and the hash made anew."""
    file = list(fields(data))
    plan = [(n, k, v) for n, k, v in fields(dict((n, v) for n, k, v in file)[7])]
    moved = []
    for number, kind, value in plan:
        if number == 2:
            planned_start = list(fields(value))
            if (1, 0, job) in planned_start:
                value = message([(n, k, v + 60_000_000 if n == 3 else v) for n, k, v in planned_start])
        moved.append((number, kind, value))
    wordless = []
    for number, kind, value in moved:
        if number == 1:
            value = message([(n, k, message([(dn, dk, message([f for f in fields(dv) if (dn, f[0]) not in ((3, 4), (4, 3))]))
                                             for dn, dk, dv in fields(v)])) for n, k, v in fields(value)])
        wordless.append((number, kind, value))
    new = {7: message(moved), 8: blake(message(wordless))}
    old = dict((n, v) for n, k, v in file)
    assert blake(old[5]) == old[6], "the hash is not what this test takes it for"
    return message([(n, k, new.get(n, v)) for n, k, v in file])


