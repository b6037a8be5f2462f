"""Generic resources of nodes, and disks for temporary files, with real daemons and under Slurm's names."""

import json
import re

import pytest
from cluster import Cluster, wait_for
from conftest import QUICK


@pytest.fixture(scope="module")
def cluster():
    one = Cluster(nodes=2, config=QUICK)
    try:
        one.up()
        change(one, r"(topology: [^ }]+)}", r"\1, gres: [lscratch:800G, fpga:xilinx:1, fpga:intel:1], tmp_disk: 900G}")
        yield one
    finally:
        one.down()


def change(cluster, what, to):
    conf = (cluster.dir / "run").resolve() / "gangway.yaml"
    text = re.sub(what, to, conf.read_text())
    assert text != conf.read_text()
    conf.write_text(text)
    cluster.run("gcontrol", "reconfigure")


def show(cluster, what, name):
    return cluster.run("scontrol", "-o", "show", what, name).stdout


def submit(cluster, *options):
    return int(cluster.run("sbatch", "--parsable", "-o", "/dev/null", "--mem=1G", *options, "--wrap", "sleep 600").stdout)


def test_no_more_are_given_than_there_are(cluster):
    first = submit(cluster, "-w", "n0", "--gres=lscratch:500G,fpga:1")
    second = submit(cluster, "-w", "n0", "--gres=gpu:1,lscratch:400G")
    third = submit(cluster, "-w", "n0", "--gres=gres/fpga:intel")
    fourth = submit(cluster, "-w", "n0", "--gres=fpga:xilinx:1")
    for job in (first, third):
        cluster.wait_state(job, "RUNNING")
    assert cluster.show(second, "%T|%r") == "PENDING|Resources"
    wait_for(lambda: "too few free generic resources" in cluster.run("gcontrol", "show", "job", second).stdout, "it says so")
    node = show(cluster, "node", "n0")
    assert f"Gres=gpu:h100:8,fpga:intel:1,fpga:xilinx:1,lscratch:800G" in node and f"TmpDisk={900 << 10}" in node
    used = cluster.run("sinfo", "-h", "-N", "-n", "n0", "-O", "GresUsed:100").stdout.strip()
    assert used == "gpu:0(IDX:N/A),fpga:intel:1,fpga:xilinx:0,lscratch:500G,fpga:1"
    assert f"GresUsed={used}" in node
    assert "TresPerNode=gres/fpga:1,gres/lscratch:500G" in show(cluster, "job", first)
    assert cluster.run("squeue", "-h", "-j", second, "-O", "tres-per-node:100").stdout.strip() == "gres/gpu:1,gres/lscratch:400G"
    assert f"gres/lscratch={500 << 30}" in cluster.run("sacct", "-XnP", "-j", first, "-o", "AllocTRES").stdout
    assert json.loads(cluster.run("gqueue", "--json").stdout)["jobs"][0]["request"]["generic_resources_per_node"]
    cluster.run("scancel", first)
    for job in (second, fourth):
        cluster.wait_state(job, "RUNNING")
    cluster.run("scancel", second, third, fourth)
    cluster.wait_idle()


def test_they_outlive_the_controller(cluster):
    job = submit(cluster, "-w", "n1", "--gres=lscratch:500G")
    cluster.wait_state(job, "RUNNING")
    waits = submit(cluster, "-w", "n1", "--gres=lscratch:500G")
    cluster.kill("gctld")
    cluster.start("gctld")
    other = submit(cluster, "-w", "n1", "--gres=lscratch:300G")
    cluster.wait_state(other, "RUNNING")
    assert cluster.show(waits, "%T") == "PENDING"
    cluster.run("scancel", job)
    cluster.wait_state(waits, "RUNNING")
    cluster.run("scancel", waits, other)
    cluster.wait_idle()


def test_what_cannot_be_had_is_refused(cluster):
    def refused(*options):
        done = cluster.run("sbatch", "-o", "/dev/null", *options, "--wrap", "true", check=False)
        assert done.returncode != 0 and done.stdout == "", done
        return done.stderr

    assert "Invalid generic resource (gres) specification" in refused("--gres=craynetwork:1")
    assert "there are fpga, fpga:intel, fpga:xilinx, lscratch" in refused("--gres=craynetwork:1")
    assert "no node of partition main has so many" in refused("--gres=lscratch:801G")
    assert "Invalid generic resource (gres) specification" in refused("--gres=lscratch:x:y:1")
    assert "so large a disk" in refused("--tmp=1T")
    assert "3 sockets asked; no node of partition main has so many" in refused("-B", "3")
    job = cluster.submit("true", "--gres=craynetwork:0", "--tmp=500G")
    assert cluster.wait_ended(job) == "COMPLETED"


def test_numbers_change_while_jobs_run(cluster):
    job = submit(cluster, "-w", "n0", "--gres=lscratch:500G")
    cluster.wait_state(job, "RUNNING")
    change(cluster, "800G", "1600G")
    more = submit(cluster, "-w", "n0", "--gres=lscratch:1000G")
    cluster.wait_state(more, "RUNNING")
    change(cluster, "1600G", "100G")
    waits = submit(cluster, "-w", "n0", "--gres=lscratch:100G")
    assert re.search("JobState=RUNNING", show(cluster, "job", job)) and cluster.show(waits, "%T") == "PENDING"
    cluster.run("scancel", job, more)
    cluster.wait_state(waits, "RUNNING")
    cluster.run("scancel", waits)
    cluster.wait_idle()


def test_administrators_comment_on_jobs_and_say_when_they_end(cluster):
    job = submit(cluster, "--extra=x=1")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "update", f"JobId={job}", "AdminComment=bad disk", "SystemComment=moved", "EndTime=now+2hours")
    shown = show(cluster, "job", job)
    assert "AdminComment=bad disk" in shown and "SystemComment=moved" in shown and "Extra=x=1" in shown, shown
    assert "TimeLimit=02:0" in shown, shown
    fields = cluster.run("sacct", "-XnP", "-j", job, "-o", "AdminComment,SystemComment,Extra").stdout
    assert fields == "bad disk|moved|x=1\n"
    columns = cluster.run("squeue", "-h", "-j", job, "-O", "admin_comment:10,system_comment:10").stdout
    assert columns.split() == ["bad", "disk", "moved"]
    cluster.run("scancel", job)
    cluster.wait_idle()


def test_what_a_job_asks_for_is_changed_while_it_waits(cluster):
    job = submit(cluster, "-H", "-N1", "--gres=fpga:1")
    update = lambda *words, check=True: cluster.run("scontrol", "update", f"JobId={job}", *words, check=check)  # noqa: E731
    update("Gres=gpu:2,lscratch:100G", "TasksPerNode=3", "MinTmpDiskNode=5G", "Contiguous=yes", "OverSubscribe=no")
    shown = show(cluster, "job", job)
    assert "TresPerNode=gres/gpu:2,gres/lscratch:100G" in shown and "MinTmpDiskNode=5G" in shown, shown
    assert "OverSubscribe=NO" in shown and "NtasksPerN:B:S:C=3:" in shown, shown
    update("TresPerJob=gres/gpu:4")
    assert "gres/lscratch:100G" in show(cluster, "job", job), "what the nodes give beside GPUs stays"
    assert "TresPerJob=gres/gpu:4" in show(cluster, "job", job)
    wrong = update("Gres=fpga:9", check=False)
    assert wrong.returncode == 1 and "fpga" in wrong.stderr
    unknown = update("Gres=warp:1", check=False)
    assert unknown.returncode == 1 and "Invalid generic resource (gres) specification" in unknown.stderr
    update("Gres=none", "Contiguous=no", "OverSubscribe=yes")
    cluster.run("scontrol", "release", job)
    cluster.wait_state(job, "RUNNING")
    assert "gres/gpu" not in re.search(r"AllocTRES=(\S+)", show(cluster, "job", job)).group(1)
    late = update("Gres=gpu:1", check=False)
    assert late.returncode == 1 and "not pending" in late.stderr
    cluster.run("scancel", job)
