"""Job scripts with the headers that universities publish run under Slurm's names, and say what they go without."""

import pathlib
import re
import resource

import pytest

from cluster import Cluster
from conftest import QUICK

CONFIG = QUICK + """
accounts: {enforce: false}
mail: {program: /bin/true}
partitions:
  - {name: compute, nodes: "n[0-1]", default: true, default_time: 10m}
  - {name: gpu, nodes: "n[0-1]", default_time: 10m}
"""
TEXT = pathlib.Path(__file__).with_name("job_headers.txt").read_text(encoding="utf-8")


def headers():
    for block in TEXT.split("\n=== ")[1:]:
        head, script = block.split("\n", 1)
        name, output, warned = (part.strip() for part in head.split("|"))
        yield pytest.param(script, output, warned, id=name)


@pytest.fixture(scope="module")
def cluster():
    one = Cluster(nodes=2, config=CONFIG)
    try:
        yield one.up()
    finally:
        one.down()


def output_of(cluster, job):
    return pathlib.Path(cluster.detail(job)["StdOut"]).read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("script, output, warned", headers())
def test_header_runs(cluster, script, output, warned):
    path = cluster.work / "job.sh"
    path.write_text(script)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    done = cluster.run("sbatch", path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard)))
    match = re.fullmatch(r"Submitted batch job (\d+)\n", done.stdout)
    assert match, (done.stdout, done.stderr)
    names = [] if warned == "-" else warned.split(",")
    assert len(done.stderr.splitlines()) == (1 if names else 0), done.stderr
    assert done.stderr.startswith("sbatch: warning: left out: " if names else ""), done.stderr
    for name in names:
        assert name in done.stderr, done.stderr
    job = int(match[1])
    assert cluster.wait_ended(job) == "COMPLETED", cluster.reason_text(job)
    assert output in output_of(cluster, job), output_of(cluster, job)


REFUSED = [
    ("#SBATCH --array=10-1", "Invalid job array specification"),
    ("#SBATCH --dependency=afterok:4000000", "Batch job submission failed: Job dependency problem"),
    ("#SBATCH --dependency=aftr:1", "Job dependency problem"),
    ("#SBATCH --container=/images/x", "--container is not supported in this version"),
    ("#SBATCH --reboot", "--reboot is not supported in this version"),
    ("#SBATCH --clusters=elsewhere", "No cluster 'elsewhere' known by database."),
    ("#SBATCH --uid=4242", "--uid: Access/permission denied"),
    ("#PBS -I", "option -I asks for an interactive job"),
    ("#PBS -J 1-", "Invalid job array specification"),
    ("#SBATCH -p nosuch", "sbatch: error: invalid partition specified: nosuch\n"),
    ("#SBATCH --gpus-per-node=9", "failed: Requested node configuration is not available: 9 GPUs on one node asked"),
    ("#SBATCH --reservation=none", "failed: Requested reservation is invalid: "),
    ("#SBATCH --time=20 --deadline=now+10minutes", "Requested time limit is invalid (missing or exceeds some limit)"),
    ("#SBATCH -p nosuch", "Batch job submission failed: Invalid partition name specified: nosuch"),
    ("#SBATCH -q nosuch", "Batch job submission failed: Invalid qos specification: nosuch"),
    ("#SBATCH --mail-type=SOMETIMES", "is none of NONE, ALL, BEGIN, END"),
]


@pytest.mark.parametrize("line, text", REFUSED)
def test_what_would_be_another_job_is_refused(cluster, line, text):
    done = cluster.run("sbatch", input=f"#!/bin/sh\n{line}\ntrue\n", check=False)
    assert done.returncode in (1, 255) and done.stdout == "", done
    assert text in done.stderr, done.stderr
    assert cluster.run("squeue", "-h", "-n", "sbatch").stdout == ""


def test_the_warning_is_quiet_where_asked(cluster):
    done = cluster.run("sbatch", "-Q", "--tmp=1G", "--parsable", "-M", "all", "--wrap", "true")
    assert done.stderr == "" and re.fullmatch(r"\d+;" + cluster.cluster_name() + "\n", done.stdout), done
    assert cluster.wait_ended(int(done.stdout.split(";")[0])) == "COMPLETED"


def test_allocations_and_steps_take_them_too(cluster):
    done = cluster.run("srun", "--mail-type=END", "--tmp=1G", "-n2", "--cpu_bind=none", "--tasks-per-node=2", "echo", "x")
    assert done.stdout == "x\nx\n" and "left out: --tmp (no node says how large its disk for temporary files is: nodes[].tmp_disk)" in done.stderr, done
    done = cluster.run("salloc", "--nice=5", "-L", "x", "-m", "cyclic", "sh", "-c", "echo $SLURM_DISTRIBUTION")
    assert done.stdout == "cyclic\n" and "left out: --licenses (licences are not counted" in done.stderr, done
    done = cluster.run("salloc", "--test-only", "-N1", "true")
    assert done.stdout == "" and "could" in done.stderr or "start" in done.stderr, done


@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_refused_allocations_say_so_in_slurms_words(cluster, command):
    done = cluster.run(command, "-p", "nosuch", "true", check=False)
    assert done.returncode == 1
    assert f"{command}: error: Unable to allocate resources: Invalid partition name specified: nosuch" in done.stderr


def test_an_account_is_a_label_or_must_be_known(make_cluster):
    enforced = make_cluster(nodes=1, config=QUICK + "qos: [{name: normal}, {name: team}]\n")
    done = enforced.run("sbatch", "-A", "lab", "--wrap", "true", check=False)
    assert done.returncode == 1
    assert "failed: Invalid account or account/partition combination specified: lab" in done.stderr, done.stderr
    both = enforced.run("sbatch", "-A", "lab", "-q", "team", "--wrap", "true", check=False)
    assert both.returncode == 1 and "Invalid account" in both.stderr, both.stderr
    job = enforced.submit("true", "-A", "team")
    assert (enforced.show(job, "%a"), enforced.show(job, "%q")) == ("team", "team")
    enforced.wait_ended(job)
