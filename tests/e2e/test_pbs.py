"""The commands of PBS Pro and Torque: what programs read of them, from qsub to the job's end."""

import getpass
import json
import pathlib
import re
import xml.etree.ElementTree as ET

import pytest

from cluster import BIN, Cluster, wait_for
from conftest import QUICK

CONFIG = QUICK + """
partitions:
  - {name: batch, nodes: "n[0-1]", default: true, default_time: 10m}
  - {name: short, nodes: "n[0-1]", max_time: 30m, default_time: 5m}
"""
LIBEXEC = BIN.parent / "libexec" / "gangway"
DOC = pathlib.Path(__file__).resolve().parents[2] / "docs" / "migrating-from-pbs.md"
USER = getpass.getuser()


def home_in(cluster):
    home = cluster.work / "home"
    home.mkdir(exist_ok=True)
    return home


class Queue:
    """The commands of one of the two."""

    def __init__(self, cluster, system):
        self.cluster, self.system = cluster, system
        self.home = home_in(cluster)
        self.server = cluster.cluster_name()

    def __call__(self, name, *words, code=0, env=None, **options):
        env = {"HOME": str(self.home), **(env or {})}  # that of whoever runs the tests may do anything at a login
        done = self.cluster.run(LIBEXEC / self.system / name, *words, check=False, env=env, **options)
        assert done.returncode == code, (words, done)
        return done

    def sub(self, script, *words, **options):
        done = self("qsub", *words, input=script, **options)
        assert re.fullmatch(r"\d+(\[\])?\." + self.server + "\n", done.stdout), done
        return done.stdout.strip()

    def state(self, job):
        found = re.search(r"job_state = (\w)", self("qstat", *(["-x"] if self.system == "pbs" else []), "-f", job).stdout)
        return found[1]

    def wait(self, job, state):
        wait_for(lambda: self.state(job) == state, f"{job} in {state}")


@pytest.fixture(scope="module")
def cluster():
    one = Cluster(nodes=2, config=CONFIG)
    try:
        yield one.up()
    finally:
        one.down()


@pytest.fixture(params=["pbs", "torque"])
def queue(cluster, request):
    return Queue(cluster, request.param)


@pytest.fixture
def pro(cluster):
    return Queue(cluster, "pbs")


@pytest.fixture
def torque(cluster):
    return Queue(cluster, "torque")


def ended(queue):
    return "F" if queue.system == "pbs" else "C"


SCRIPT = """#PBS -N train
#PBS -l nodes=2:ppn=2,walltime=0:05:00
echo "$PBS_JOBID|$PBS_JOBNAME|$PBS_QUEUE|$PBS_ENVIRONMENT|$PBS_O_WORKDIR|$PBS_NP|$PWD|$FOO|$BAR|$MORE"
sort "$PBS_NODEFILE" | uniq -c | tr -s ' ' | tr '\\n' ';'
echo error >&2
"""


def test_a_script_from_submission_to_its_files(queue):
    """Output where it was submitted, the home directory to run in, and of the variables those that -v names."""
    env = {"BAR": "of the submission", "MORE": "not named"}
    job = queue.sub(SCRIPT, "-v", "FOO=a,BAR", env=env)
    number = job.split(".")[0]
    queue.wait(job, ended(queue))
    work = queue.cluster.work
    out, error = work / f"train.o{number}", work / f"train.e{number}"
    wait_for(out.exists, "its output")
    first, second = out.read_text().split("\n")[:2]
    assert first == f"{job}|train|batch|PBS_BATCH|{work}|4|{queue.home}|a|of the submission|"
    assert second == " 2 n0; 2 n1;"
    assert error.read_text() == "error\n"


def test_sizes_of_several_lines_and_of_the_command_line(pro):
    """Lines add up, memory is that of the whole job; a size on the command line takes the script's back."""
    script = "#PBS -l mem=4gb\n#PBS -l ngpus=2\n#PBS -l nodes=2:ppn=2\ntrue\n"
    job = pro.sub(script, "-h")
    text = pro("qstat", "-f", job).stdout
    assert "Resource_List.mem = 4194304kb" in text and "Resource_List.select = 2:ncpus=2:mpiprocs=2:mem=2097152kb:ngpus=1" in text, text
    assert "Resource_List.ngpus = 2\n" in text
    other = pro.sub(script, "-h", "-l", "select=1:ncpus=3:mem=1gb")
    text = pro("qstat", "-f", other).stdout
    assert "Resource_List.select = 1:ncpus=3:mem=1048576kb\n" in text and "ngpus" not in text, text
    pro("qdel", job, other)


def test_all_variables_go_along_where_asked(pro):
    job = pro.sub("echo $MORE; echo error >&2\n", "-V", "-j", "oe", "-N", "all", env={"MORE": "here"})
    pro.wait(job, "F")
    assert (pro.cluster.work / f"all.o{job.split('.')[0]}").read_text() == "here\nerror\n"
    assert not (pro.cluster.work / f"all.e{job.split('.')[0]}").exists()


def test_files_may_be_named(pro):
    folder = pro.cluster.work / "out%d"
    folder.mkdir(exist_ok=True)
    job = pro.sub("echo out; echo error >&2\n", "-N", "x", "-o", f"host:{folder}/", "-e", "$PBS_JOBID.err")
    pro.wait(job, "F")
    number = job.split(".")[0]
    assert (folder / f"x.o{number}").read_text() == "out\n"
    assert (pro.cluster.work / f"{job}.err").read_text() == "error\n"


def test_arrays_are_named_and_listed_as_each_has_it(pro, torque):
    job = pro.sub("echo $PBS_ARRAY_INDEX $PBS_JOBID\n", "-J", "1-5:2", "-N", "a")
    number = job.split("[")[0]
    pro.wait(job, "F")
    for task in (1, 3, 5):
        assert (pro.cluster.work / f"a.o{number}.{task}").read_text() == f"{task} {number}[{task}].{pro.server}\n"
    job = torque.sub("echo $PBS_ARRAYID\nsleep 60\n", "-t", "0-3%2", "-N", "b")
    number = job.split("[")[0]
    wait_for(lambda: torque("qstat", "-t").stdout.count(" R ") == 2, "two of its tasks")
    assert torque("qstat", job).stdout.split("\n")[2].split()[0::4] == [job, "R"]
    assert pro("qstat", job).stdout.split("\n")[2].split()[4] == "B"
    states = {line.split()[0]: line.split()[4] for line in torque("qstat", "-t", job).stdout.split("\n")[2:-1]}
    assert states == {f"{number}[{t}].{torque.server}": s for t, s in zip(range(4), "RRQQ")}
    assert pro("qselect", "-u", USER).stdout == job + "\n"
    torque("qdel", f"{number}[0]")
    torque("qdel", "-t", "2-3", job)
    wait_for(lambda: torque("qselect", "-T", "-s", "RQE").stdout == f"{number}[1].{torque.server}\n", "one is left")
    pro("qdel", job)
    torque.wait(job, "C")


def test_an_array_of_which_some_have_gone(pro, torque):
    job = pro.sub("exit $PBS_ARRAY_INDEX\n", "-J", "0-9", "-h", "-N", "part")
    number = job.split("[")[0]
    pro("qdel", f"{number}[3-5]")
    text = pro("qstat", "-f", job).stdout
    assert "array_indices_remaining = 0-2,6-9\n" in text and "job_state = H" in text, text
    assert f"Output_Path = {text.split('Output_Path = ')[1].split(':')[0]}:{pro.cluster.work}/part.o{number}.^array_index^" in text
    done = pro("qstat", "-t", job)
    assert done.stderr == "" and done.stdout.count(" H ") == 7, "what has gone is no error while the array lives"
    torque("qrls", "-t", "2", job)
    wait_for(lambda: pro("qselect", "-t", "-N", "part").stdout.count("\n") == 6, "the one that was released ends")
    torque("qalter", "-t", "0", "-N", "zero", job)
    assert pro("qselect", "-t", "-N", "zero").stdout == f"{number}[0].{pro.server}\n"
    torque("qdel", job)
    pro.wait(job, "F")
    assert "Exit_status = 2" in pro("qstat", "-xf", job).stdout, "that of the one that ran"


def test_what_is_empty_or_long_is_no_queue(pro):
    assert pro("qstat", "", code=2).stdout == ""
    job = pro.sub("true\n", "-h", "-N", "é" * 20)
    assert "é" * 15 + " " in pro("qstat", job).stdout
    named = pro.sub("true\n", "-h", "-N", "007", "-v", "")
    assert json.loads(pro("qstat", "-fF", "json", named).stdout)["Jobs"][named]["Job_Name"] == "007"
    assert pro("qstat", f"{job.split('.')[0]}[99]", code=153).stderr.count("\n") == 1
    assert pro("qsub", "-S", "bash", input="true\n", code=1).stderr == 'qsub: -S: "bash" is no absolute path\n'
    assert pro("qalter", "-h", "x", job, code=2).stdout == ""
    pro("qalter", "-N", "-hello", job)
    assert "Job_Name = -hello" in pro("qstat", "-f", job).stdout
    pro("qdel", job, named)
    secret = pro.sub("true\n", "-h", "-v", "KEY=abc", "-vOTHER=def", "-N", "secret")
    line = re.search(r"Submit_arguments = (.*)", pro("qstat", "-f", secret).stdout)[1]
    assert line == "qsub -h -v ... -v... -N secret", "others may read it"
    pro("qdel", secret)


def test_hold_release_alter_delete(queue):
    job = queue.sub("true\n", "-h", "-q", "short", "-A", "normal", "-N", "held")
    assert queue.state(job) == "H"
    queue("qalter", "-N", "other", "-l", "walltime=0:02:00", "-p", "-10", "-h", "n", job)
    text = queue("qstat", *(["-x"] if queue.system == "pbs" else []), "-f", job).stdout
    assert "Job_Name = other\n" in text and "Resource_List.walltime = 00:02:00" in text, text
    job = queue.sub("true\n", "-h")
    queue("qhold", "-h", "u", job)
    assert "Hold_Types = u" in queue("qstat", "-f", job).stdout
    queue("qrls", job)
    queue.wait(job, ended(queue))
    job = queue.sub("sleep 100\n")
    queue.wait(job, "R")
    queue("qdel", job)
    queue.wait(job, ended(queue))


def test_what_programs_read_of_a_job(pro, torque):
    job = pro.sub("sleep 100\n", "-l", "select=2:ncpus=2:mem=2gb:ngpus=1", "-l", "walltime=1:00:00", "-N", "read")
    number = job.split(".")[0]
    pro.wait(job, "R")
    head, rule, row = pro("qstat", job).stdout.split("\n")[:3]
    assert head == "Job id            Name             User              Time Use S Queue"
    assert rule == "----------------  ---------------- ----------------  -------- - -----"
    assert [row.split()[i] for i in (0, 1, 2, 4, 5)] == [job, "read", USER, "R", "batch"]
    head = torque("qstat", number).stdout.split("\n")[0]
    assert head == "Job ID                    Name             User            Time Use S Queue"
    text = pro("qstat", "-f", job).stdout
    assert text.startswith(f"Job Id: {job}\n    Job_Name = read\n") and text.endswith("\n\n")
    assert "\n    job_state = R\n" in text and "\n    exec_host = n0/0*2+n1/0*2\n" in text, text
    assert "\n    exec_vnode = (n0:ncpus=2:mem=2097152kb:ngpus=1)+(n1:ncpus=2" in text
    assert f"PBS_O_WORKDIR={pro.cluster.work}" in text.replace("\n\t", "")
    assert "\n    exec_host = n0/0+n1/0\n" in torque("qstat", "-f", "-1", job).stdout
    for line in pro("qstat", "-f", job).stdout.split("\n"):
        assert len(line) <= 80 or "," not in line.strip(",")[:70], line
    found = json.loads(pro("qstat", "-f", "-F", "json", job).stdout)["Jobs"][job]
    assert found["job_state"] == "R" and found["Resource_List"]["ngpus"] == 2
    assert found["Resource_List"]["walltime"] == "01:00:00"
    root = ET.fromstring(torque("qstat", "-x", job).stdout)
    assert root.findtext("./Job/Job_Id") == job and root.findtext("./Job/job_state") == "R"
    assert root.findtext("./Job/Resource_List/walltime") == "01:00:00"
    assert pro("qselect", "-l", "walltime.gt.1800", "-q", "batch", "-s", "R", "-N", "read").stdout == job + "\n"
    assert pro("qselect", "-l", "ngpus.lt.2", "-N", "read").stdout == ""
    assert f" {job}, " in pro("pbsnodes", "n0").stdout.replace("/0", ", ")
    lines = pro("qstat", "-an1", job).stdout.split("\n")
    assert lines[5].split()[9:] == ["R", lines[5].split()[10], "n0/0*2+n1/0*2"], lines
    pro("qdel", "-W", "force", job)
    pro.wait(job, "F")
    assert "Exit_status = 265" in pro("qstat", "-xf", job).stdout


def test_ids_that_are_not_there_or_have_ended(pro, torque):
    job = pro.sub("exit 3\n", "-N", "gone")
    pro.wait(job, "F")
    done = pro("qstat", job, code=35)
    assert done.stderr == f"qstat: {job} Job has finished, use -x or -H to obtain historical job information\n"
    assert pro("qstat").stdout == "" and "Exit_status = 3" in pro("qstat", "-x", "-f", job).stdout
    assert torque("qstat", job).stdout.split("\n")[2].split()[4] == "C"
    assert pro("qdel", job, code=35).stderr == f"qdel: Job has finished {job}\n"
    assert torque("qdel", job, code=170).stderr == f"qdel: Request invalid for state of job {job}\n"
    for name in ("qstat", "qdel", "qhold", "qrls"):
        assert pro(name, "4000000", code=153).stderr == f"{name}: Unknown Job Id 4000000.{pro.server}\n"
    assert "Unknown Job Id 1.elsewhere\n" in pro("qstat", "1.elsewhere", code=153).stderr
    assert "illegally formed job identifier: 1x" in pro("qdel", "1x", code=2).stderr


def test_what_is_refused_has_the_words_and_the_code_of_pbs(pro, torque):
    def said(queue, code, *words, script="true\n"):
        done = queue("qsub", *words, code=code, input=script)
        assert done.stdout == ""
        return done.stderr

    assert said(pro, 172, "-q", "nosuch").startswith("qsub: Unknown queue\nqsub: Invalid partition name")
    assert said(pro, 188, "-l", "select=300").startswith("qsub: Job violates queue and/or server resource limits\n")
    assert "qsub: invalid option -- 't' (that is Torque's; arrays of PBS Pro are -J)\nusage: " in said(pro, 2, "-t", "3")
    assert "arrays of Torque are -t" in said(torque, 2, "-J", "3")
    assert said(pro, 1, script="#PBS -N x\n#PBS -t 3\ntrue\n").startswith("qsub: stdin:2: #PBS: invalid option")
    assert said(pro, 1, script=" \n") == "qsub: the script stdin is empty\n"
    assert "No such file" in said(pro, 1, "nosuch.sh")
    assert "chunks of several kinds" in said(pro, 2, "-l", "select=1:ncpus=2+1:ncpus=4")
    assert "-v: a quote is not closed" in said(pro, 1, "-v", "A='x")
    assert pro("qalter", "-p", "5", "1", code=2).stderr.startswith("qalter: -p above 0 is for administrators")
    assert pro("qselect", "-l", "walltime~3", code=2).stdout == ""
    warned = pro("qsub", "-h", input="#$ -N x\ntrue\n")
    assert warned.stderr == "qsub: warning: the #$ lines of the script are comments here; those of this command begin with #PBS\n"
    pro("qdel", warned.stdout.strip())


def test_the_exit_code_comes_back_where_it_is_waited_for(pro):
    assert pro("qsub", "-W", "block=true", "--", "sh", "-c", "exit 7", code=7).stderr == ""


def test_a_dependency_on_jobs_as_qsub_names_them(pro):
    first = pro.sub("true\n", "-h")
    second = pro.sub("true\n", "-W", f"depend=afterok:{first}")
    assert pro.state(second) == "H" and "Hold_Types = s" in pro("qstat", "-f", second).stdout
    pro("qrls", first)
    pro.wait(second, "F")


def test_interactive(pro):
    done = pro("qsub", "-I", "-l", "select=1:ncpus=2", "-N", "shell", input="echo on $SLURMD_NODENAME; exit 4\n",
               code=4)
    assert done.stdout.endswith("on n0\n"), done
    assert pro("qsub", "-IX", "-v", "A=of qsub", input="echo $A\n").stdout.endswith("of qsub\n")


def test_queues_server_and_nodes(queue):
    lines = queue("qstat", "-Q").stdout.split("\n")
    assert [line.split()[0] for line in lines[2:-1]] == ["batch", "short"]
    assert queue("qstat", "-Q", "short").stdout.count("\n") == 3
    assert "resources_max.walltime = 00:30:00" in queue("qstat", "-Qf", "short").stdout
    assert "00:30:00" in queue("qstat", "-q").stdout
    assert queue("qstat", "-B").stdout.split("\n")[2].split()[0] == queue.server
    assert "server_state = Active" in queue("qstat", "-Bf").stdout
    assert queue("qstat", "nosuch", code=172).stderr.startswith("qstat: Unknown queue\n")
    text = queue("pbsnodes", "-a").stdout
    assert text.startswith("n0\n     ") and "\n\nn1\n" in text and "     state = free\n" in text
    queue("pbsnodes", "-o", "-N" if queue.system == "torque" else "-C", "fan", "n1")
    assert re.match(r"n1 +offline +fan\n", queue("pbsnodes", "-l").stdout)
    queue("pbsnodes", "-r", "n1")
    assert queue("pbsnodes", "-l").stdout == ""
    assert queue("pbsnodes", "nosuch", code=1).stdout == ""


def test_nodes_for_programs(pro, torque):
    nodes = json.loads(pro("pbsnodes", "-a", "-F", "json").stdout)["nodes"]
    assert nodes["n0"]["resources_available"]["ngpus"] == 8
    root = ET.fromstring(torque("pbsnodes", "-x").stdout)
    assert [node.findtext("name") for node in root.findall("Node")] == ["n0", "n1"]
    assert pro("pbsnodes", "-aS").stdout.count("\n") == 5


def test_versions(pro, torque):
    assert re.match(r"pbs_version = \d+\.\d+\.\d+ \(PBSPro, gangway ", pro("qstat", "--version").stdout)
    assert torque("qstat", "--version").stdout.startswith("Version: 6.1.2 (gangway ")


def rows_of(title):
    part = DOC.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.split("\n") if line.startswith("| `-")]


def test_the_page_has_every_option_and_no_other(pro, torque):
    rows = {row[0].strip("`"): row[1] for row in rows_of("Options of qsub and qalter: PBS Pro and Torque")}
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for queue, name in ((pro, "pro"), (torque, "torque")):
        known = set()
        for letter in letters:
            done = queue.cluster.run(LIBEXEC / queue.system / "qsub", "-" + letter, "x", "nosuch.sh", check=False)
            assert done.returncode != 0 and done.stdout == ""
            if "invalid option" not in done.stderr:
                known.add("-" + letter)
        assert known == {option for option, who in rows.items() if name in who.replace(" ", "").split(",")}
