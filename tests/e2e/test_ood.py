"""Open OnDemand's portal works with the commands under Slurm's names: the calls of its adapter for Slurm, as they are made for a cluster
file like etc/ood/gangway.yml, and what it reads from their output."""

import getpass
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from cluster import BIN
from conftest import QUICK

ROOT = Path(__file__).parents[2]
RECORD, UNIT = "\x1e", "\x1f"
# What it asks squeue for, in its order: the name that it gives a field, and the field's letter.
FIELDS = dict(account="a", job_id="A", exec_host="B", min_cpus="c", cpus="C", min_tmp_disk="d", nodes="D", end_time="e", dependency="E",
              features="f", array_job_id="F", group_name="g", group_id="G", over_subscribe="h", sockets_per_node="H",
              array_job_task_id="i", cores_per_socket="I", job_name="j", threads_per_core="J", comment="k", array_task_id="K",
              time_limit="l", time_left="L", min_memory="m", time_used="M", req_node="n", node_list="N", command="o", contiguous="O",
              qos="q", partition="P", priority="Q", reason="r", start_time="S", state_compact="t", state="T", user="u", user_id="U",
              reservation="v", submit_time="V", wckey="w", licenses="W", excluded_nodes="x", core_specialization="X", nice="y",
              scheduled_nodes="Y", sockets_cores_threads="z", work_dir="Z", gres="b")


@pytest.fixture(scope="module")
def site():
    from cluster import Cluster
    one = Cluster(nodes=2, config=QUICK)
    try:
        yield one.up()
    finally:
        one.down()


class Portal:
    """Calls the programs in the cluster file's folder by their whole paths, as the adapter does."""

    def __init__(self, cluster):
        self.cluster = cluster
        job = yaml.safe_load((ROOT / "etc/ood/gangway.yml").read_text())["v2"]["job"]
        assert job["adapter"] == "slurm" and job["bin"].endswith("/libexec/gangway/slurm") and "cluster" not in job
        self.bin = BIN.parent / "libexec/gangway/slurm"

    def call(self, program, *words, stdin="", check=True):
        done = self.cluster.run(str(self.bin / program), *words, input=stdin, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done

    def submit(self, script, *words):
        return self.call("sbatch", *words, "--export", "NONE", "--parsable", stdin=script).stdout.strip().split(";")[0]

    def jobs(self, *words, fields=tuple(FIELDS)):
        text = self.call("squeue", "--all", "--states=all", "--noconvert", "-o",
                         RECORD + UNIT.join("%" + FIELDS[name] for name in fields), *words).stdout
        records = text.split(RECORD)[2:]  # what is before the first, and the header
        return [dict(zip(fields, record.strip("\n").split(UNIT), strict=True)) for record in records]


def test_a_session_of_the_portal(site, tmp_path):
    portal = Portal(site)
    script = "#!/bin/bash\n#SBATCH -t 10\nsleep 600\n"
    words = ("-H", "--no-requeue", "-D", str(tmp_path), "--mail-type", "NONE", "-J", "sys/dashboard/jupyter", "-o",
             f"{tmp_path}/output.log", "-p", "main", "-t", "00:30:00", "--gpus-per-node", "2")
    job = portal.submit(script, *words)
    assert re.fullmatch(r"\d+", job)
    (shown,) = portal.jobs("-j", job)
    assert (shown["job_id"], shown["state_compact"], shown["job_name"]) == (job, "PD", "sys/dashboard/jupyter")
    assert shown["user"] == getpass.getuser() and shown["partition"] == "main" and shown["work_dir"] == str(tmp_path)
    assert shown["time_limit"] == "30:00" and re.fullmatch(r"[\d-]+T[\d:]+", shown["submit_time"])
    portal.call("scontrol", "release", job)
    site.wait_state(job, "RUNNING")
    (shown,) = portal.jobs("-u", getpass.getuser())
    assert shown["state_compact"] == "R" and shown["node_list"] in ("n0", "n1") and shown["gres"] != "N/A"
    assert re.fullmatch(r"[\d-]+T[\d:]+", shown["start_time"]) and re.fullmatch(r"(\d+-)?[\d:]+", shown["time_used"])
    assert portal.jobs("-j", job, fields=("job_id", "array_job_task_id", "state_compact")) == [
        {"job_id": job, "array_job_task_id": job, "state_compact": "R"}]
    portal.call("scancel", job)
    site.wait_state(job, "CANCELLED")
    assert portal.jobs("-j", job)[0]["state_compact"] == "CA"


def test_what_it_takes_for_an_end(site):
    portal = Portal(site)
    gone = portal.call("squeue", "--all", "--states=all", "--noconvert", "-o", RECORD + "%A", "-j", "999999", check=False)
    assert gone.returncode != 0 and "Invalid job id specified" in gone.stderr
    for verb in ("hold", "release"):
        gone = portal.call("scontrol", verb, "999999", check=False)
        assert gone.returncode != 0 and "Invalid job id specified" in gone.stderr, gone


def test_arrays_and_dependencies(site):
    portal = Portal(site)
    first = portal.submit("#!/bin/bash\nsleep 600\n", "-a", "1-3%1", "-H", "-t", "00:10:00")
    then = portal.submit("#!/bin/bash\ntrue\n", "-d", f"afterok:{first},afterany:{first}", "-t", "00:10:00")
    waits = {job["job_id"]: job for job in portal.jobs()}
    assert waits[first]["array_job_id"] == first and waits[first]["array_job_task_id"].startswith(f"{first}_[1-3")
    assert waits[then]["reason"] == "Dependency" and first in waits[then]["dependency"]
    portal.call("scancel", first)
    portal.call("scancel", then)


def test_what_it_shows_of_the_cluster_and_of_the_past(site):
    portal = Portal(site)
    nodes = portal.call("sinfo", "-aho", "%F/%C").stdout.strip().splitlines()[0].split("/")[:4]
    assert len(nodes) == 4 and all(count.isdigit() for count in nodes)
    job = portal.submit("#!/bin/bash\ntrue\n", "-t", "00:10:00")
    site.wait_ended(job)
    rows = portal.call("sacct", "-P", "--delimiter", UNIT, "-n", "--units", "G", "-o", "JobId,JobName,State,Elapsed,AllocTRES", "-j",
                       job).stdout.splitlines()
    assert rows[0].split(UNIT)[:3] == [job, "sbatch", "COMPLETED"]


def test_the_file_is_installed_and_says_where_it_goes():
    text = (ROOT / "etc/ood/gangway.yml").read_text()
    assert "/etc/ood/config/clusters.d" in text
    assert subprocess.run(["grep", "-q", "ood/gangway.yml", ROOT / "etc/CMakeLists.txt"], check=False).returncode == 0
