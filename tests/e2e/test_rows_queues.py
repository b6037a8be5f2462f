"""What qsub and qstat of PBS Pro, Torque and Grid Engine print, to the letter: the columns of their tables, records, ids
and exit codes."""

import getpass
import os
import re

import pytest

from cluster import BIN, Cluster, wait_for
from conftest import QUICK

CONFIG = QUICK + """
partitions:
  - {name: batch, nodes: "n[0-1]", default: true, default_time: 10m}
  - {name: short, nodes: "n[0-1]", default_time: 5m}
"""
LIBEXEC = BIN.parent / "libexec" / "gangway"
USER = getpass.getuser()
HOST = os.uname().nodename.split(".")[0]
WAITS = "sleep 600\n"


@pytest.fixture(scope="module")
def cluster():
    one = Cluster(nodes=2, config=CONFIG)
    try:
        yield one.up()
    finally:
        one.down()


class Queue:
    """The commands of one system; called, they give stdout, and fail the test on another exit code than `code`."""

    def __init__(self, cluster, system):
        self.cluster, self.system, self.server = cluster, system, cluster.cluster_name()

    def answer(self, name, *words, **options):
        done = self.cluster.run(LIBEXEC / self.system / name, *words, check=False, env={"HOME": str(self.cluster.work)}, **options)
        return done.returncode, done.stdout, done.stderr

    def __call__(self, name, *words, **options):
        code, out, err = self.answer(name, *words, **options)
        assert (code, err) == (0, ""), (words, code, out, err)
        return out


@pytest.fixture
def pbs(cluster):
    return Queue(cluster, "pbs")


@pytest.fixture
def torque(cluster):
    return Queue(cluster, "torque")


@pytest.fixture
def sge(cluster):
    return Queue(cluster, "sge")


PRO = "Job id            Name             User              Time Use S Queue\n" \
      "----------------  ---------------- ----------------  -------- - -----\n"
TORQUE = "Job ID                    Name             User            Time Use S Queue\n" \
         "------------------------- ---------------- --------------- -------- - -----\n"


def test_tables_of_qstat_have_the_columns_of_each(pbs, torque):
    job = pbs("qsub", "-h", "-N", "a_name_that_is_long", "-q", "short", input=WAITS).strip()
    assert pbs("qstat", job) == PRO + f"{job[:17]:<17} {'a_name_that_is_':<16} {USER[:16]:<16} {'0':>9} H short\n"
    assert torque("qstat", job) == TORQUE + f"{job[:25]:<25} {'a_name_that_is_l'[:16]:<16} {USER[:15]:<15} {'0':>8} H short\n"
    pbs("qrls", job)
    pbs.cluster.wait_state(int(job.split(".")[0]), "RUNNING")
    assert re.sub(r"00:00:0\d", "TIME", pbs("qstat", job).splitlines()[2]) == \
        f"{job[:17]:<17} {'a_name_that_is_':<16} {USER[:16]:<16}  TIME R short"
    pbs("qdel", job)
    wait_for(lambda: pbs.answer("qstat", job)[0] == 35, "its end")
    assert pbs("qstat", "-x", job).splitlines()[2].split()[4] == "F"
    assert torque("qstat", job).splitlines()[2].split()[4] == "C"


def test_qsub_of_pbs_prints_the_id_alone(pbs, torque):
    (pbs.cluster.work / "job.sh").write_text(WAITS)
    much = "-N x -q short -A normal -P proj -j oe -V -l walltime=1:00:00 -l select=1:ncpus=2:mpiprocs=2:mem=1gb:ngpus=1 job.sh"
    other = "-l nodes=2:ppn=2,walltime=100,mem=2gb -o out -e err -v A=b job.sh"
    for queue, words, form in [(pbs, ["job.sh"], r"\d+\.{}\n"), (torque, ["job.sh"], r"\d+\.{}\n"),
                               (pbs, ["-J", "1-3", "job.sh"], r"\d+\[\]\.{}\n"), (torque, ["-t", "1-3", "job.sh"], r"\d+\[\]\.{}\n"),
                               (pbs, much.split(), r"\d+\.{}\n"), (torque, other.split(), r"\d+\.{}\n")]:
        out = queue("qsub", "-h", *words)
        assert re.fullmatch(form.format(re.escape(queue.server)), out), (words, out)
        queue("qdel", out.strip())


RECORD = """Job Id: {job}
    Job_Name = rec
    Job_Owner = {user}@{host}
    job_state = H
    queue = short
    server = {server}
    Hold_Types = u
    Join_Path = oe
    Output_Path = {host}:{work}/rec.o{number}
    Priority = 0
    Rerunable = False
    Resource_List.mem = 2097152kb
    Resource_List.ncpus = 4
    Resource_List.nodect = 2
    Resource_List.walltime = 01:00:00
    interactive = False
    Account_Name = normal
    project = proj"""


def test_records_of_qstat(pbs, torque):
    job = pbs("qsub", "-h", "-r", "n", "-N", "rec", "-q", "short", "-A", "normal", "-P", "proj", "-j", "oe", "-l", "walltime=3600", "-l",
              "select=2:ncpus=2:mem=1gb", input=WAITS).strip()
    wanted = RECORD.format(job=job, user=USER, host=HOST, server=pbs.server, work=pbs.cluster.work, number=job.split(".")[0])
    for queue, words in ((pbs, ["-f"]), (pbs, ["-x", "-f"]), (torque, ["-f"]), (torque, ["-f", "-1"])):
        text = queue("qstat", *words, job)
        lines = text.splitlines()
        assert [line for line in lines if line in wanted.splitlines()] == wanted.splitlines(), text
        assert text.endswith("\n\n") and all(re.match(r"Job Id: |    \S+ = |\t|$", line) for line in lines)
        assert all(not line.startswith("\t") for line in lines) or "-1" not in words
    other = pbs("qsub", "-h", input=WAITS).strip()
    texts = pbs("qstat", "-f", job, other).split("\n\n")
    assert [text.split("\n")[0] for text in texts] == [f"Job Id: {job}", f"Job Id: {other}", ""]
    pbs("qdel", job, other)


def test_codes_of_qstat(pbs, torque):
    for queue in (pbs, torque):
        assert queue.answer("qstat", "4000000") == (153, "", f"qstat: Unknown Job Id 4000000.{queue.server}\n")
        assert queue.answer("qstat", "-f", "4000000") == (153, "", f"qstat: Unknown Job Id 4000000.{queue.server}\n")


VARIABLES = {"PBS_JOBNAME": "vars", "PBS_QUEUE": "batch", "PBS_ENVIRONMENT": "PBS_BATCH", "PBS_ARRAYID": "2", "PBS_ARRAY_INDEX": "2",
             "PBS_NP": "4", "PBS_NUM_NODES": "2", "PBS_NUM_PPN": "2"}


@pytest.mark.parametrize("system", ["pbs", "torque"])
def test_variables_of_a_job(cluster, system):
    queue = Queue(cluster, system)
    folder = cluster.work / system
    folder.mkdir()
    option = "-J" if system == "pbs" else "-t"
    script = f"#PBS -N vars -j oe\n#PBS -l nodes=2:ppn=2\n#PBS {option} 2-3\nenv | grep ^PBS_\ncat $PBS_NODEFILE\n"
    job = queue("qsub", input=script, cwd=folder).strip()
    number = job.split("[")[0]
    out = folder / (f"vars.o{number}.2" if system == "pbs" else f"vars.o{number}-2")
    assert cluster.wait_ended(int(number)) == "COMPLETED"
    wait_for(out.exists, "its output")
    lines = out.read_text().splitlines()
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    wanted = {**VARIABLES, "PBS_JOBID": f"{number}[2].{queue.server}", "PBS_O_WORKDIR": str(folder)}
    assert {name: found.get(name) for name in wanted} == wanted
    assert lines[-4:] == ["n0", "n0", "n1", "n1"] and found["PBS_NODEFILE"].startswith("/")


SGE = "job-ID  prior   name       user         state submit/start at     queue                          slots ja-task-ID \n" + "-" * 113 + "\n"


def row_of(job, prior, name, state, queue, slots, tasks=""):
    return f"{job:>7} {prior} {name[:10]:<10} {USER[:12]:<12} {state:<5} TIME {queue:<30} {slots:>5} {tasks}\n"


def test_the_table_of_grid_engine_has_its_columns(sge):
    job = int(sge("qsub", "-terse", "-h", "-N", "name_of_twelve", "-cwd", "-pe", "smp", "3", input=WAITS))
    array = int(sge("qsub", "-terse", "-h", "-t", "1-5:2", "-cwd", "-N", "arr", input=WAITS).split(".")[0])
    runs = int(sge("qsub", "-terse", "-cwd", "-N", "run", "-b", "y", "sleep", "600"))
    sge.cluster.wait_state(runs, "RUNNING")
    text = re.sub(r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d", "TIME", sge("qstat"))
    assert text.startswith(SGE)
    assert sorted(text[len(SGE):].splitlines(keepends=True)) == sorted([
        row_of(job, "0.00000", "name_of_twelve", "hqw", "", 3), row_of(array, "0.00000", "arr", "hqw", "", 1, "1-5:2"),
        row_of(runs, "0.50000", "run", "r", "batch@n0", 1)])
    assert sge("qdel", job) == f"{USER} has deleted job {job}\n"
    sge("qdel", array, runs)
    sge.cluster.wait_ended(runs)
    assert sge.answer("qstat") == (0, "", "")
    code, out, err = sge.answer("qstat", "-j", "4000000")
    assert (code, out + err) == (1, "Following jobs do not exist or permissions are not sufficient: \n4000000\n")


def test_qsub_of_grid_engine_prints_a_sentence_or_the_id(sge):
    (sge.cluster.work / "job.sh").write_text(WAITS)
    for line, form in [("-N x job.sh", r'Your job {} \("x"\) has been submitted\n'), ("job.sh", r'Your job {} \("job.sh"\) has been submitted\n'),
                       ("-terse job.sh", r"{}\n"), ("-t 1-5:2 -N a job.sh", r'Your job-array {}.1-5:2 \("a"\) has been submitted\n'),
                       ("-t 3-3 -terse job.sh", r"{}\.3-3:1\n"), ("-terse -t 2-4 job.sh", r"{}\.2-4:1\n"),
                       ("-b y sleep 600", r'Your job {} \("sleep"\) has been submitted\n'),
                       ("-notify -pe smp 4 -l h_rt=0:10:00 -wd /tmp -q short -terse job.sh", r"{}\n")]:
        words = line.split()
        out = sge("qsub", "-h", *words)
        assert re.fullmatch(form.format(r"\d+"), out), (words, out)
        job = re.search(r"\d+", out)[0]
        if "-notify" in words:
            assert sge.cluster.show(job, "%l %C %Z %P") == "10:00 4 /tmp short"
        sge("qdel", job)


def test_variables_of_a_job_of_grid_engine(sge):
    text = "echo $JOB_ID,$SGE_TASK_ID,$NSLOTS,$JOB_NAME,$QUEUE,$SGE_TASK_FIRST,$SGE_TASK_LAST,$SGE_TASK_STEPSIZE; cat $PE_HOSTFILE\n"
    (sge.cluster.work / "wd").mkdir()
    job = int(sge("qsub", "-terse", "-wd", sge.cluster.work / "wd", "-N", "v", "-j", "y", "-t", "3-5:2", "-pe", "smp", "2", input=text).split(".")[0])
    assert sge.cluster.wait_ended(job) == "COMPLETED"
    for task in (3, 5):
        out = sge.cluster.work / "wd" / f"v.o{job}.{task}"
        wait_for(out.exists, "its output")
        assert re.fullmatch(rf"{job},{task},2,v,batch,3,5,2\nn\d 2 batch@n\d UNDEFINED\n", out.read_text())
