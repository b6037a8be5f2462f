"""The commands of Grid Engine: what programs read of them, from qsub to the job's end."""

import getpass
import pathlib
import re
import xml.etree.ElementTree as ET

import pytest

from cluster import BIN, Cluster, wait_for
from conftest import QUICK

CONFIG = QUICK + """
partitions:
  - {name: all.q, nodes: "n[0-1]", default: true, default_time: 10m}
  - {name: gpu.q, nodes: "n[0-1]", default_time: 5m}
"""
FOLDER = BIN.parent / "libexec" / "gangway" / "sge"
DOC = pathlib.Path(__file__).resolve().parents[2] / "docs" / "migrating-from-pbs.md"
USER = getpass.getuser()


def home_in(cluster):
    home = cluster.work / "home"
    home.mkdir(exist_ok=True)
    return home


class Queue:
    def __init__(self, cluster):
        self.cluster = cluster
        self.home = home_in(cluster)

    def __call__(self, name, *words, code=0, env=None, **options):
        env = {"HOME": str(self.home), **(env or {})}  # that of whoever runs the tests may do anything at a login
        done = self.cluster.run(FOLDER / name, *words, check=False, env=env, **options)
        assert done.returncode == code, (words, done)
        return done

    def sub(self, script, *words, **options):
        done = self("qsub", *words, input=script, **options)
        match = re.fullmatch(r'Your job(?:-array)? (\d+)(?:\.\S+)? \("(.*)"\) has been submitted\n', done.stdout)
        assert match, done
        return int(match[1])

    def rows(self, *words):
        """{(id, tasks): state}"""
        lines = self("qstat", *words).stdout.split("\n")[2:-1]
        return {(int(line[:7]), line[103:].strip()): line.split()[4] for line in lines}


@pytest.fixture(scope="module")
def cluster():
    one = Cluster(nodes=2, config=CONFIG)
    try:
        yield one.up()
    finally:
        one.down()


@pytest.fixture
def queue(cluster):
    return Queue(cluster)


SCRIPT = """#$ -N train -cwd
echo "$JOB_ID|$JOB_NAME|$QUEUE|$NSLOTS|$NHOSTS|$SGE_TASK_ID|$ENVIRONMENT|$SGE_O_WORKDIR|$PE|$PWD|$FOO|$MORE|$PBS_JOBID"
#$ -pe smp 4 -j y
cat "$PE_HOSTFILE"
echo error >&2
"""


def test_a_script_from_submission_to_its_file(queue):
    job = queue.sub(SCRIPT, "-v", "FOO=a", env={"MORE": "not named"})
    assert queue.cluster.wait_ended(job) == "COMPLETED"
    work = queue.cluster.work
    text = (work / f"train.o{job}").read_text()
    assert text == (f"{job}|train|all.q|4|1|undefined|BATCH|{work}|smp|{work}|a||\n"
                    "n0 4 all.q@n0 UNDEFINED\nerror\n")


def test_without_cwd_all_is_at_home(queue):
    job = queue.sub("pwd\n", "-o", "$HOME/gangway-$JOB_NAME-$JOB_ID", "-N", "home", "-j", "y")
    assert queue.cluster.wait_ended(job) == "COMPLETED"
    assert (queue.home / f"gangway-home-{job}").read_text() == f"{queue.home}\n"


def test_the_last_word_about_the_folder_counts(queue):
    for words, folder in (("-cwd -wd /tmp", "/tmp"), ("-wd /tmp -cwd", str(queue.cluster.work))):
        job = queue.sub("pwd\n", *words.split(), "-j", "y", "-N", "where", "-o", str(queue.cluster.work / "where"))
        assert queue.cluster.wait_ended(job) == "COMPLETED"
        assert (queue.cluster.work / "where").read_text() == folder + "\n"
        (queue.cluster.work / "where").unlink()


def test_slots_of_another_environment_are_tasks(queue):
    """The last -pe counts alone: what a line of the script asked for is gone."""
    job = queue.sub("#$ -pe smp 4\necho $NSLOTS $SLURM_NTASKS\n", "-pe", "mpi", "6", "-cwd", "-j", "y", "-N", "m")
    assert queue.cluster.wait_ended(job) == "COMPLETED"
    assert (queue.cluster.work / f"m.o{job}").read_text() == "6 6\n"


def test_arrays(queue):
    done = queue("qsub", "-t", "1-5:2", "-cwd", "-j", "y", "-N", "a", input="echo $SGE_TASK_ID $SGE_TASK_STEPSIZE\n")
    assert re.fullmatch(r'Your job-array (\d+)\.1-5:2 \("a"\) has been submitted\n', done.stdout), done
    job = int(re.search(r"\d+", done.stdout)[0])
    assert queue.cluster.wait_ended(job) == "COMPLETED"
    for task in (1, 3, 5):
        assert (queue.cluster.work / f"a.o{job}.{task}").read_text() == f"{task} 2\n"
    done = queue("qsub", "-terse", "-t", "1-4", "-tc", "1", "-cwd", input="sleep 60\n")
    assert re.fullmatch(r"\d+\.1-4:1\n", done.stdout), done
    job = int(done.stdout.split(".")[0])
    wait_for(lambda: queue.rows() == {(job, "1"): "r", (job, "2-4:1"): "qw"}, "one that runs, three that wait")
    assert queue.rows("-g", "d") == {(job, "1"): "r", **{(job, str(t)): "qw" for t in (2, 3, 4)}}
    assert queue.rows("-s", "p") == {(job, "2-4:1"): "qw"}
    assert queue("qdel", f"{job}.3").stdout == f"{USER} has deleted job {job}\n"
    wait_for(lambda: (job, "2,4") in queue.rows(), "one less")
    queue("qdel", job)
    assert queue.cluster.wait_ended(job) == "CANCELLED"


def test_what_programs_read(queue):
    job = queue.sub("sleep 100\n", "-N", "read", "-l", "h_rt=3600", "-cwd")
    queue.cluster.wait_state(job, "RUNNING")
    head, rule, row = queue("qstat").stdout.split("\n")[:3]
    assert head.startswith("job-ID  prior   name       user         state submit/start at     queue       ")
    assert set(rule) == {"-"} and row.split()[0] == str(job) and row.split()[4] == "r" and "all.q@n0" in row
    root = ET.fromstring(queue("qstat", "-u", "*", "-xml").stdout)
    found = root.find("./queue_info/job_list")
    assert (found.get("state"), found.findtext("JB_job_number"), found.findtext("state")) == ("running", str(job), "r")
    text = queue("qstat", "-j", job).stdout
    assert re.search(rf"^job_number: +{job}$", text, re.M) and re.search(r"^hard resource_list: +h_rt=3600$", text, re.M)
    assert queue("qdel", "read").stdout == f"{USER} has registered the job {job} for deletion\n"
    assert queue.cluster.wait_ended(job) == "CANCELLED"
    assert queue("qstat").stdout == ""
    done = queue("qstat", "-j", job, code=1)
    assert done.stderr == f"Following jobs do not exist or permissions are not sufficient: \n{job}\n"
    assert queue("qdel", job, code=1).stderr == f'denied: job "{job}" does not exist\n'
    assert queue("qdel", 4000000, code=1).stderr == 'denied: job "4000000" does not exist\n'
    assert queue("qdel", "nosuch", code=1).stderr == 'denied: job "nosuch" does not exist\n'


def test_hold_release_alter(queue):
    job = queue.sub("true\n", "-h", "-N", "held", "-cwd")
    after = queue.sub("true\n", "-hold_jid", "held,4000000,nosuch", "-cwd")
    assert queue.rows() == {(job, ""): "hqw", (after, ""): "hqw"}
    assert queue("qalter", "-N", "other", "-l", "h_rt=120", job).stdout == f"modified job {job}\n"
    assert queue.cluster.show(job, "%j %l") == "other 2:00"
    assert queue("qrls", job).stdout == f"modified hold of job {job}\n"
    assert queue.cluster.wait_ended(after) == "COMPLETED"
    assert 'denied: job "' in queue("qhold", job, code=1).stderr


def test_a_job_waits_for_an_array_that_runs(queue):
    array = queue.sub("sleep 60\n", "-t", "1-2", "-N", "arr", "-cwd")
    wait_for(lambda: set(queue.rows().values()) == {"r"}, "both run")
    after = queue.sub("true\n", "-hold_jid", "ar*", "-cwd")
    assert queue.rows()[(after, "")] == "hqw"
    queue("qdel", array)
    assert queue.cluster.wait_ended(after) == "COMPLETED"


def test_a_folder_may_be_named_by_a_variable(queue):
    (queue.home / "logs").mkdir(exist_ok=True)
    job = queue.sub("echo out\n", "-o", "$HOME/logs", "-N", "var", "-j", "y")
    assert queue.cluster.wait_ended(job) == "COMPLETED", queue.cluster.reason_text(job)
    assert (queue.home / "logs" / f"var.o{job}").read_text() == "out\n"


def test_listings_and_deletions_by_patterns(queue):
    job = queue.sub("true\n", "-h", "-cwd", "-N", "é" * 12)
    assert "é" * 10 + " " in queue("qstat").stdout
    assert queue.rows("-q", "gpu.q,all*") == {(job, ""): "hqw"} and queue.rows("-q", "gpu.q") == {}
    assert queue.rows("-s", "hu") == {(job, ""): "hqw"}
    assert f"job_number:                 {job}\n" in queue("qstat", "-j", "*").stdout
    assert queue("qalter", "-h", "n", job).stdout == f"modified hold of job {job}\n"
    assert queue.cluster.wait_ended(job) == "COMPLETED"
    job = queue.sub("true\n", "-h", "-cwd", "-v", "KEY=abc")
    assert "KEY" not in queue.cluster.run("sacct", "-j", job, "-o", "SubmitLine%200").stdout, "others may read it"
    assert queue("qdel", "-u", "*").stdout == f"{USER} has deleted job {job}\n"
    assert queue("qdel", "-u", "*").stderr == "no jobs are there to delete\n"


def test_commands_and_their_exit_codes(queue):
    done = queue("qsub", "-sync", "y", "-cwd", "-b", "y", "-N", "c", "sh", "-c", "echo 'a  b'; exit 3", code=3)
    job = int(re.search(r"\d+", done.stdout)[0])
    assert done.stdout == f'Your job {job} ("c") has been submitted\nJob {job} exited with exit code 3.\n'
    assert (queue.cluster.work / f"c.o{job}").read_text() == "a  b\n"
    options = queue.cluster.work / "options"
    options.write_text("# these\n-N fromfile\n-sync y\n")
    assert '("fromfile")' in queue("qsub", "-@", options, "-cwd", input="true\n").stdout
    assert queue("qsub", "-verify", input="true\n").stdout == "verification: found suitable queue(s)\n"


def test_what_became_of_a_job(queue):
    job = queue.sub("exit 3\n", "-N", "became", "-cwd")
    assert queue.cluster.wait_ended(job) == "FAILED"
    for name in (job, "became"):
        record = dict(re.findall(r"^(\S+) +(.*)$", queue("qacct", "-j", name).stdout, re.M))
        assert (record["jobnumber"], record["exit_status"], record["failed"]) == (str(job), "3", "0"), record
        assert record["qname"] == "all.q" and record["hostname"] == "n0" and record["taskid"] == "undefined"
    assert queue("qacct", "-j", "4000000", code=1).stderr == "error: job id 4000000 not found\n"
    held = queue.sub("true\n", "-h", "-cwd")
    assert queue("qacct", "-j", held, code=1).stdout == "", "it has not ended"
    queue("qdel", held)
    array = queue.sub("exit $SGE_TASK_ID\n", "-t", "1-2", "-cwd")
    queue.cluster.wait_ended(array)
    assert re.findall(r"^exit_status +(\d)", queue("qacct", "-j", array).stdout, re.M) == ["1", "2"]
    assert re.findall(r"^exit_status +(\d)", queue("qacct", "-j", array, "-t", "2").stdout, re.M) == ["2"]


def test_what_is_refused(queue):
    def said(*words, script="true\n"):
        done = queue("qsub", *words, code=1, input=script)
        assert done.stdout == ""
        return done.stderr

    words = 'Unable to run job: Job was rejected because job requests unknown queue "nosuch.q".\nExiting.\n'
    assert said("-q", "nosuch.q") == words
    assert said("-J", "1-3").startswith("error: ERROR! Unknown option -J (that is an option of PBS)\nusage: qsub")
    assert "stdin:2: #$: -pe" in said(script="echo\n#$ -pe smp x\n")
    assert "No such file" in said("nosuch.sh")
    warned = queue("qsub", "-h", "-terse", input="#PBS -N x\ntrue\n")
    assert "warning: the #PBS lines of the script are comments here" in warned.stderr
    queue("qdel", warned.stdout.strip())
    assert queue("qselect", "-q", "gpu.q").stdout == "gpu.q@n0\ngpu.q@n1\n"
    assert queue("qselect", "-q", "nosuch.q", code=1).stdout == ""
    assert queue("qstat", "-version").stdout.startswith("GE 8.1.9 (gangway ")


def test_the_page_has_every_option_and_no_other(queue):
    part = DOC.read_text().split("\n## Options of qsub and qalter: Grid Engine\n")[1].split("\n## ")[0]
    page = set()
    for line in part.split("\n"):
        if line.startswith("| `-"):
            page |= set(re.findall(r"`(-\S+)`", line.split("|")[1]))
    known = queue("qsub", "-help").stdout.split("options: ")[1].split()
    assert page == set(known)
