"""Licences of the cluster: jobs wait for them, are told so, and see what they have."""
import json

import pytest

from cluster import Cluster, wait_for
from conftest import QUICK


@pytest.fixture(scope="module")
def cluster():
    one = Cluster(nodes=2)
    one.overlay.write_text(QUICK + "licenses: [matlab:2, ansys@flex:1]\n")
    try:
        yield one.up()
    finally:
        one.down()


def shown(cluster, name):
    text = cluster.run("scontrol", "-o", "show", "licenses", name).stdout
    return dict(word.split("=", 1) for word in text.split())


def test_a_job_waits_for_licences_and_sees_its_own(cluster):
    first = cluster.submit("echo has $SLURM_JOB_LICENSES; sleep 300", "-L", "matlab:2", "-o", "first.out")
    wait_for(lambda: cluster.state(first) == "RUNNING", "the first job")
    wait_for(lambda: "has matlab:2\n" in (cluster.work / "first.out").read_text(), "its output")
    second = cluster.submit("true", "-L", "matlab,ansys@flex")
    other = cluster.submit("true", "-L", "ansys@flex")
    assert cluster.wait_ended(other) == "COMPLETED"
    listed = lambda *names: cluster.run("squeue", "-h", "-S", "i", "-o", "%i", "-L", *names).stdout.split()
    assert listed("matlab") == [str(first), str(second)] and listed("ansys@flex,other") == [str(second)] and listed("other") == []
    assert len(json.loads(cluster.run("squeue", "--json", "-L", "ansys@flex:1").stdout)["jobs"]) == 1
    line = cluster.run("squeue", "-h", "-j", second, "-o", "%r|%W").stdout.strip()
    assert line == "Licenses|ansys@flex:1,matlab:1"
    assert "licence matlab" in cluster.run("gcontrol", "show", "job", second).stdout
    assert "Licenses=matlab:2" in cluster.run("scontrol", "show", "job", first).stdout
    assert shown(cluster, "matlab") == {"LicenseName": "matlab", "Total": "2", "Used": "2", "Free": "0", "Reserved": "0",
                                        "Remote": "no"}
    cluster.run("scancel", first)
    assert cluster.wait_ended(second) == "COMPLETED"
    assert shown(cluster, "matlab")["Free"] == "2"
    assert cluster.run("sacct", "-XnP", "-j", second, "-o", "licenses").stdout == "ansys@flex:1,matlab:1\n"


@pytest.mark.parametrize("asked, why", [
    ("matlap", 'has no licence "matlap" (did you mean "matlab"?)'),
    ("matlab:3", "3 of matlab asked; the cluster has 2"),
    ("matlab:x", "matlab"),
    ("matlab|ansys@flex", "is not NAME[:COUNT]"),
])
def test_what_cannot_be_had_is_refused(cluster, asked, why):
    done = cluster.run("sbatch", "-L", asked, "--wrap", "true", check=False)
    assert done.returncode != 0 and why in done.stderr and "Invalid license specification" in done.stderr, done


def test_the_number_can_change_while_jobs_wait(cluster):
    first = cluster.submit("sleep 300", "-L", "matlab:2")
    second = cluster.submit("true", "-L", "matlab:1")
    wait_for(lambda: cluster.state(first) == "RUNNING", "the first job")
    assert cluster.state(second) == "PENDING"
    conf = (cluster.dir / "run").resolve() / "gangway.yaml"
    conf.write_text(conf.read_text().replace("matlab:2", "matlab:3"))
    cluster.run("gcontrol", "reconfigure")
    assert cluster.wait_ended(second) == "COMPLETED"
    cluster.run("gcontrol", "update", f"jobid={second}", "licenses=", check=False)
    cluster.run("scancel", first)
