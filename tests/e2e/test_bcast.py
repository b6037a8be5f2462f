"""gbcast: a file to all nodes of an allocation, whole or not at all."""

import hashlib
import os
import signal
import stat
import subprocess

import pytest

import leaks
from cluster import parent_of, processes_with, wait_for
from conftest import QUICK


@pytest.fixture(scope="module")
def five():
    """Five nodes in an allocation that stays."""
    from cluster import Cluster
    one = Cluster(nodes=5, config=QUICK)
    try:
        one.up()
        before = one.footprint
        one.run("galloc", "-N5", "-n5", "--no-shell", "-J", "holder")
        one.job = one.run("gqueue", "-h", "-o", "%i").stdout.strip()
        one.footprint = leaks.Footprint(one, kept=[one.job])
        yield one
        one.footprint = before  # its end is looked at with the rest
    finally:
        one.down()


def gbcast(cluster, *words, **options):
    return cluster.run("gbcast", "-j", cluster.job, *words, **options)


@pytest.fixture
def there(five, tmp_path_factory):
    """A folder for each node, which all nodes of this machine see, and a source of some megabytes."""
    root = five.work / tmp_path_factory.mktemp("bcast").name
    root.mkdir()
    for node in range(5):
        (root / f"n{node}").mkdir()
    (root / "source").write_bytes(os.urandom(3_000_000) + b"end")
    return root


def left_over(root):
    return sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and p.name != "source")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("fanout", [32, 2, 1])
def test_each_node_gets_the_whole_file(five, there, fanout):
    source = there / "source"
    done = gbcast(five, "-v", "-F", fanout, source, f"{there}/%N/copy")
    assert left_over(there) == [f"n{i}/copy" for i in range(5)]
    assert {digest(there / f"n{i}" / "copy") for i in range(5)} == {digest(source)}
    assert "3000003 bytes on 5 nodes" in done.stderr and done.stdout == ""


def test_a_hundred_megabytes_over_a_tree(five, there):
    source = there / "source"
    source.write_bytes(os.urandom(1 << 20) * 100)
    gbcast(five, "-F2", source, f"{there}/%N/copy")
    assert {digest(there / f"n{i}" / "copy") for i in range(5)} == {digest(source)}


def test_more_nodes_than_the_command_feeds(make_cluster):
    cluster = make_cluster(nodes=40, config=QUICK)
    source = cluster.work / "source"
    source.write_bytes(os.urandom(1_000_000))
    for node in range(40):
        (cluster.work / f"n{node}").mkdir()
    cluster.run("galloc", "-N40", "-n40", "gbcast", source, f"{cluster.work}/%N/copy")
    assert [digest(cluster.work / f"n{i}" / "copy") for i in range(40)] == [digest(source)] * 40
    cluster.wait_idle()


def test_an_empty_file_and_one_by_small_pieces(five, there):
    source = there / "source"
    gbcast(five, "-F2", "-s", "1000", source, f"{there}/%N/small")
    source.write_bytes(b"")
    gbcast(five, "-F2", source, f"{there}/%N/empty")
    assert (there / "n4/empty").stat().st_size == 0 and (there / "n4/small").stat().st_size == 3_000_003


def test_a_folder_takes_the_name_and_modes_follow(five, there):
    source = there / "source"
    source.chmod(0o750)
    os.utime(source, (1_000_000_000, 1_100_000_000))
    gbcast(five, "-p", source, f"{there}/%N/")
    copy = (there / "n3/source").stat()
    assert stat.S_IMODE(copy.st_mode) == 0o750 and copy.st_mtime == 1_100_000_000


def test_what_is_there_stays_unless_forced(five, there):
    source = there / "source"
    (there / "n3/copy").write_text("mine")
    done = gbcast(five, "-F2", source, f"{there}/%N/copy", check=False)
    assert done.returncode == 1
    assert "n3: " in done.stderr and "File exists" in done.stderr and "--force" in done.stderr
    assert done.stderr.count("error:") == 1, done.stderr
    assert (there / "n3/copy").read_text() == "mine"
    gbcast(five, "-F2", "--force", source, f"{there}/%N/copy")
    assert digest(there / "n3/copy") == digest(source)


@pytest.mark.parametrize("make,says", [
    (lambda folder: folder.rmdir(), "No such file or directory"),
    (lambda folder: (folder / "copy").mkdir() or (folder / "copy/source").write_text("x"), "File exists"),
])
def test_a_node_that_cannot_names_itself(five, there, make, says):
    make(there / "n4")
    before = left_over(there)
    done = gbcast(five, "-F2", there / "source", f"{there}/%N/copy", check=False)
    assert done.returncode == 1 and "n4: " in done.stderr and says in done.stderr
    assert [name for name in left_over(there) if ".gbcast-" in name] == []
    assert set(before) <= set(left_over(there))


def test_a_disk_that_is_full(five, there):
    if os.geteuid() != 0:
        return
    five.run("mount", "-t", "tmpfs", "-o", "size=1m,mode=777", "none", there / "n4")
    try:
        done = gbcast(five, "-F2", there / "source", f"{there}/%N/copy", check=False)
        assert done.returncode == 1 and "n4: " in done.stderr and "No space left on device" in done.stderr
        assert os.listdir(there / "n4") == []
    finally:
        five.run("umount", there / "n4")


def test_ctrl_c_leaves_nothing(five, there):
    source = there / "source"
    os.truncate(source, 300 << 20)
    client = five.popen("gbcast", "-j", five.job, "-F2", "-s", "1000", source, f"{there}/%N/copy")
    steps = lambda: five.run("gqueue", "-h", "-s", "-j", five.job, "-o", "%j").stdout
    wait_for(lambda: processes_with(f"{there}/n4/copy"), "the last of the receivers")
    client.send_signal(signal.SIGINT)
    assert client.wait(timeout=60) != 0
    wait_for(lambda: "gbcast" not in steps(), "its end")
    assert left_over(there) == []


@pytest.mark.parametrize("whose", ["receiver", "shepherd"])
def test_a_node_that_dies_in_the_middle_ends_the_copy(five, there, whose):
    source = there / "source"
    os.truncate(source, 300 << 20)
    client = five.popen("gbcast", "-j", five.job, "-F2", "-s", "1000", source, f"{there}/%N/copy", stderr=subprocess.PIPE)
    steps = lambda: five.run("gqueue", "-h", "-s", "-j", five.job, "-o", "%j").stdout
    receiver = wait_for(lambda: processes_with(f"{there}/n2/copy"), "the receiver on n2")[0]
    wait_for(lambda: processes_with(f"{there}/n4/copy"), "the last of the receivers")
    os.kill(receiver if whose == "receiver" else parent_of(receiver), signal.SIGKILL)
    said = client.communicate(timeout=60)[1]
    assert client.returncode == 1 and "n2" in said, said
    wait_for(lambda: "gbcast" not in steps(), "its end")
    wait_for(lambda: not processes_with(f"{there}/n"), "the end of all receivers")
    assert left_over(there) == []


def test_a_receiver_that_stands_still_is_not_waited_for(five, there):
    source = there / "source"
    os.truncate(source, 300 << 20)
    client = five.popen("gbcast", "-j", five.job, "-t", "1", source, f"{there}/%N/copy", stderr=subprocess.PIPE)
    receiver = wait_for(lambda: processes_with(f"{there}/n2/copy"), "the receiver on n2")[0]
    os.kill(receiver, signal.SIGSTOP)
    said = client.communicate(timeout=60)[1]
    assert client.returncode == 1 and "nothing moved for 1 s" in said, said
    wait_for(lambda: not processes_with(f"{there}/n"), "the end of all receivers")
    assert left_over(there) == []


def test_ctrl_c_while_the_step_is_made_ends_it(five, there):
    steps = lambda: five.run("gqueue", "-h", "-s", "-j", five.job, "-o", "%j").stdout
    for _ in range(3):
        client = five.popen("gbcast", "-j", five.job, there / "source", f"{there}/%N/copy")
        wait_for(lambda: "gbcast" in steps() or client.poll() is not None, "the step of receivers")
        client.send_signal(signal.SIGINT)
        client.wait(timeout=60)
        wait_for(lambda: "gbcast" not in steps(), "its end")
        for left in left_over(there):
            (there / left).unlink()


@pytest.mark.parametrize("words,says", [
    (["/nonexistent", "/tmp/x"], "/nonexistent: No such file"),
    (["/", "/tmp/x"], "is no file"),
    (["/etc/passwd"], "SOURCE DESTINATION"),
    (["/etc/passwd", ""], "the destination is empty"),
    (["-F0", "/etc/passwd", "/tmp/x"], "--fanout"),
    (["-s", "9m", "/etc/passwd", "/tmp/x"], "--size"),
    (["--send-libs", "/etc/passwd", "/tmp/x"], "send-libs"),
])
def test_bad_calls(five, words, says):
    done = gbcast(five, *words, check=False)
    assert done.returncode != 0 and says in done.stderr


def test_without_an_allocation(five):
    done = five.run("gbcast", "/etc/passwd", "/tmp/x", check=False)
    assert done.returncode == 1 and "there is no allocation" in done.stderr
    done = five.run("gbcast", "-j", "4711", "/etc/passwd", "/tmp/x", check=False)
    assert done.returncode == 1 and "4711" in done.stderr


def test_inside_a_batch_job_as_sbcast(five, there):
    script = f"sbcast {there}/source {there}/%N/inside && srun -l sha256sum {there}/$SLURMD_NODENAME/inside > {there}/sums"
    job = five.submit(f"cd {there}; PATH=$(dirname $(readlink -f $(command -v grun)))/slurm:$PATH; {script}", "-N2", "-t", "5")
    assert five.wait_ended(job)
    assert digest(there / "source") in (there / "sums").read_text()


def test_srun_runs_copies(five, there):
    program = there / "a 50% program"
    program.write_text('#!/bin/sh\necho "$0 $*"\n')
    program.chmod(0o755)
    copies = f"{there}/copies/"
    os.mkdir(copies)
    done = five.run("srun", "-N3", f"--bcast={copies}", program, "x y", cwd=there)
    lines = sorted(done.stdout.splitlines())
    job = lines[0].split("slurm_bcast_")[1].split(".")[0]
    assert [line.rsplit("_", 1) for line in lines] == [
        [f"{copies}slurm_bcast_{job}.0", f"n{node} x y"] for node in range(3)]
    assert left_over(there / "copies") == [f"slurm_bcast_{job}.0_n{node}" for node in range(3)]
    inside = five.run("srun", f"--jobid={five.job}", "-N1", "-n1", "--bcast=one 50%", program, cwd=there)
    assert inside.stdout == f"{there}/one 50% \n" and (there / "one 50%").read_text() == program.read_text()
    again = five.run("srun", "-N1", "--bcast", program, cwd=there)
    assert f"{there}/slurm_bcast_" in again.stdout


def test_srun_that_cannot_copy(five, there):
    done = five.run("srun", "-N2", "--bcast=/nonexistent/x", "/bin/true", check=False)
    assert done.returncode == 1 and "--bcast: /bin/true could not be copied to the nodes" in done.stderr
    assert "/nonexistent" in done.stderr
    done = five.run("srun", "-N2", "--bcast", "no-such-program", check=False)
    assert done.returncode == 1 and "--bcast: no-such-program is not found in PATH" in done.stderr
    done = five.run("srun", "--bcast", "--multi-prog", "/etc/passwd", check=False)
    assert done.returncode == 1 and "does not go with --multi-prog" in done.stderr


def test_preserved_numbers(five):
    script = "SLURM_NTASKS=17 SLURM_JOB_NUM_NODES=9 srun {} -n1 sh -c 'echo $SLURM_NTASKS $SLURM_JOB_NUM_NODES'"
    job = five.submit("\n".join(script.format(option) for option in ("", "-E")), "-N2", "-o", "preserved-%j")
    five.wait_state(job, "COMPLETED")
    assert (five.work / f"preserved-{job}").read_text().splitlines() == ["1 2", "17 9"]
