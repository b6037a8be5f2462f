"""Programs of others that drive a batch system by its commands, as Debian has them, under Slurm's names."""

import getpass
import json
import os
import pathlib
import shutil

import pytest

from cluster import BIN, Cluster

# 21 jobs in three layers: each reads what those before it have written.
SNAKEFILE = """
N = range(10)
rule all:
    input: "sum"
rule part:
    output: "part.{i}"
    shell: "echo {wildcards.i} > {output}"
rule double:
    input: "part.{i}"
    output: "double.{i}"
    shell: "echo $(( $(cat {input}) * 2 )) > {output}"
rule sum:
    input: expand("double.{i}", i=N)
    output: "sum"
    shell: "awk '{{ s += $1 }} END {{ print s }}' {input} > {output}"
"""


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.fixture(scope="module")
def cluster():
    one = Cluster(nodes=2)
    try:
        yield one.up()
    finally:
        one.down()


@pytest.fixture
def workflow(cluster, tmp_path_factory):
    folder = cluster.work / tmp_path_factory.mktemp("workflow").name
    folder.mkdir()
    (folder / "Snakefile").write_text(SNAKEFILE)
    return folder


def snakemake(cluster, folder, *options):
    return cluster.run("snakemake", "-j20", "--latency-wait", "20", "--nolock", *options, cwd=folder, timeout=300,
                       env={"HOME": str(folder), "USER": getpass.getuser()})


def states(cluster, *options):
    return cluster.run("sacct", "-X", "-n", "-P", "-o", "State,Account", *options).stdout.split()


@needs("snakemake")
def test_snakemake_by_its_slurm_executor(cluster, workflow):
    """Of the first layer alone: it looks at its jobs every half minute."""
    targets = ["part.0", "part.1"]
    snakemake(cluster, workflow, "--slurm", "--default-resources", "mem_mb=600", "slurm_account=normal",
              "slurm_partition=main", "runtime=10", "--", *targets)
    assert [(workflow / name).read_text() for name in targets] == ["0\n", "1\n"]
    assert states(cluster) == ["COMPLETED|normal"] * 2


# As a profile has it: prints what became of the job.
STATUS = """#!/bin/sh
state=$(sacct -X -n -P -j "$1" -o State)
case "${state%% *}" in
  COMPLETED) echo success;;
  ''|PENDING|CONFIGURING|RUNNING|COMPLETING|SUSPENDED) echo running;;
  *) echo failed;;
esac
"""


@needs("snakemake")
def test_snakemake_by_commands_of_a_profile(cluster, workflow):
    status = workflow / "status"
    status.write_text(STATUS)
    status.chmod(0o755)
    snakemake(cluster, workflow, "--cluster", "sbatch --parsable --mem=600 -t 10 --job-name=profile", "--cluster-status",
              "./status", "--max-status-checks-per-second", "10")
    assert (workflow / "sum").read_text() == "90\n"
    assert states(cluster, "--name", "profile") == ["COMPLETED|normal"] * 21


TOIL = """
from toil.common import Toil
from toil.job import Job


def square(job, n):
    return n * n


def fail(job):
    raise RuntimeError("on purpose")


def root(job, fails):
    parts = [job.addChildJobFn(square, n, cores=1, memory="300M", disk="1M") for n in range(5)]
    if fails:
        job.addChildJobFn(fail, cores=1, memory="300M", disk="1M")
    return job.addFollowOnJobFn(sum_up, [part.rv() for part in parts], cores=1, memory="300M", disk="1M").rv()


def sum_up(job, values):
    return sum(values)


if __name__ == "__main__":
    parser = Job.Runner.getDefaultArgumentParser()
    parser.add_argument("--fails", action="store_true")
    options = parser.parse_args()
    with Toil(options) as toil:
        print("sum", toil.start(Job.wrapJobFn(root, options.fails, cores=1, memory="300M", disk="1M")))
"""


def toil(cluster, folder, *options, system="slurm", path=None):
    folder.mkdir()
    (folder / "workflow.py").write_text(TOIL)
    env = {"PATH": f"{path}:{cluster.env.get('PATH', os.environ['PATH'])}"} if path else {}
    return cluster.run("/usr/bin/python3", "workflow.py", "./store", "--batchSystem", system, "--disableCaching", "--retryCount", "0",
                       "--statePollingWait", "1", "--disableProgress", "--workDir", folder, *options, cwd=folder, check=False,
                       timeout=120, env={"HOME": str(folder), "USER": getpass.getuser(), "PYTHONDONTWRITEBYTECODE": "1", **env})


@needs("toil")
def test_toil(cluster):
    done = toil(cluster, cluster.work / "toil")
    assert done.returncode == 0 and "sum 30\n" in done.stdout, done
    names = cluster.run("sacct", "-X", "-n", "-P", "-o", "JobName,State").stdout.split()
    assert sum(name.startswith("toil_job_") and name.endswith("|COMPLETED") for name in names) == 7


@needs("toil")
def test_toil_hears_of_a_job_that_fails(cluster):
    done = toil(cluster, cluster.work / "toil-fails", "--fails")
    ends = cluster.run("sacct", "-X", "-n", "-P", "-o", "JobName,State,ExitCode").stdout.split()
    assert [end.split("|")[2] for end in ends if end.startswith("toil_job_") and "|FAILED|" in end] == ["1:0"], ends
    assert done.returncode != 0 and "on purpose" in done.stdout + done.stderr, done


@needs("toil")
@pytest.mark.parametrize("folder, system", [("pbs", "torque"), ("sge", "grid_engine")])
def test_toil_by_qsub(cluster, folder, system):
    """It takes PBS Pro for a version of Torque."""
    done = toil(cluster, cluster.work / f"toil-{folder}", system=system, path=BIN.parent / "libexec/gangway" / folder)
    assert done.returncode == 0 and "sum 30\n" in done.stdout, done


# As the package's example for Slurm has it, without what it needs of the site.
GROUPS = """[Main]
default: slurm
[slurm]
map: sinfo -h -o "%N" -p $GROUP
all: sinfo -h -o "%N"
list: sinfo -h -o "%R"
[state]
map: sinfo -h -o "%N" -t $GROUP
list: sinfo -h -o "%T" | tr -d '*~#$@+'
[job]
map: squeue -h -j $GROUP -o "%N"
list: squeue -h -o "%i" -t R
[user]
map: squeue -h -u $GROUP -o "%N" -t R
list: squeue -h -o "%u" -t R
"""


@needs("nodeset")
def test_clustershell(cluster):
    folder = cluster.work / "clustershell"
    folder.mkdir()
    (folder / "groups.conf").write_text(GROUPS)
    job = cluster.submit("sleep 1000", "-N2")
    cluster.wait_state(job, "RUNNING")

    def nodeset(*words):
        return cluster.run("nodeset", *words, env={"CLUSTERSHELL_CFGDIR": str(folder)}).stdout.split()

    assert nodeset("-f", "@main") == nodeset("-f", "@*") == ["n[0-1]"]
    assert nodeset("-s", "slurm", "-l") == ["@slurm:main"]
    assert nodeset("-e", f"@job:{job}") == ["n0", "n1"]
    assert nodeset("-s", "job", "-l") == [f"@job:{job}"]
    assert nodeset("-f", f"@user:{getpass.getuser()}") == ["n[0-1]"]
    assert nodeset("-s", "state", "-l") in (["@state:mixed"], ["@state:allocated"])
    cluster.run("scancel", job)


def run_by_json(cluster, stages):
    folder = cluster.work / "by-json"
    folder.mkdir(exist_ok=True)
    runner = pathlib.Path(__file__).with_name("json_runner.py")
    done = cluster.run("python3", "-B", runner, folder, input=json.dumps(stages), timeout=120)
    return folder, json.loads(done.stdout)


def test_a_runner_that_reads_json(cluster):
    """A diamond of stages; the last reads what the two before it wrote, of which one had GPUs."""
    folder, became = run_by_json(cluster, [
        {"name": "make", "command": "seq 10 > numbers"},
        {"name": "sum", "command": "awk '{ s += $1 } END { print s }' numbers > sum", "needs": ["make"]},
        {"name": "count", "command": "wc -l < numbers > count; echo $SLURM_GPUS_ON_NODE >> count", "needs": ["make"], "gpus": 2},
        {"name": "both", "command": "cat sum count > both", "needs": ["sum", "count"]}])
    assert became == {name: {"state": "COMPLETED", "exit_code": 0} for name in ("make", "sum", "count", "both")}
    assert (folder / "both").read_text() == "55\n10\n2\n"


def test_a_runner_that_reads_json_hears_of_a_failure(cluster):
    _, became = run_by_json(cluster, [{"name": "bad", "command": "exit 7"}, {"name": "long", "command": "sleep 1000"},
                                      {"name": "never", "command": "true", "needs": ["bad"]}])
    assert became["bad"] == {"state": "FAILED", "exit_code": 7}
    assert became["never"] == {"state": "CANCELLED", "exit_code": None}
    assert became["long"]["state"] == "CANCELLED"
    assert cluster.run("squeue", "-h").stdout == ""
