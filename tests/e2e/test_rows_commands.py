"""What sbatch, scancel, srun and salloc print and return, to the letter, and the forms of their arguments: names of files,
times, lists of nodes, arrays, and where an option may stand."""

import datetime
import os
import pwd
import re
import subprocess

import pytest

from cluster import wait_for

UID = os.geteuid()
USER = pwd.getpwuid(UID).pw_name
NOW = 300  # seconds that a command may take between two looks at the clock, on however busy a machine


@pytest.fixture(scope="module")
def cluster(shared_cluster):
    return shared_cluster


@pytest.fixture
def folder(cluster, request):
    path = cluster.work / re.sub(r"\W", "_", request.node.name)
    path.mkdir()
    return path


def answer(cluster, *words, env=(), **options):
    """Exit code, stdout, stderr."""
    done = cluster.run("env", *env, *words, check=False, **options)
    return done.returncode, done.stdout, done.stderr


def submit(cluster, *words, **options):
    """The job's number; nothing but that is printed."""
    code, out, err = answer(cluster, "sbatch", "--parsable", *words, **options)
    assert (code, err) == (0, "") and re.fullmatch(r"\d+\n", out), (code, out, err)
    return out.strip()


def listed(cluster, job, form):
    return cluster.run("squeue", "-h", "-t", "all", "-j", job, "-o", form, "-S", "i").stdout


def cluster_name(cluster):
    return re.search(r"(?m)^cluster: (\S+)", (cluster.dir / "gangway.yaml").read_text())[1]


SCRIPT = "#!/bin/sh\ntrue\n"


def test_a_submission_prints_one_line(cluster, folder):
    (folder / "job.sh").write_text(SCRIPT)
    ways = [(["job.sh"], None, r"Submitted batch job \d+\n"), (["--wrap", "true"], None, r"Submitted batch job \d+\n"),
            ([], SCRIPT, r"Submitted batch job \d+\n"), (["/dev/stdin"], SCRIPT, r"Submitted batch job \d+\n"),
            (["--parsable", "job.sh", "a", "b"], None, r"\d+\n"), (["--parsable"], SCRIPT, r"\d+\n"),
            (["--parsable", "-M", cluster_name(cluster), "job.sh"], None, rf"\d+;{cluster_name(cluster)}\n"),
            (["--parsable", "-a", "1-3", "job.sh"], None, r"\d+\n"), (["-Q", "job.sh"], None, r"Submitted batch job \d+\n")]
    for words, text, form in ways:
        options = {} if text is None else {"input": text}
        code, out, err = answer(cluster, "sbatch", "-H", *words, cwd=folder, **options)
        assert (code, err) == (0, "") and re.fullmatch(form, out), (words, code, out, err)


FAILS = [
    (["nosuch.sh"], 1, "sbatch: error: Unable to open file nosuch.sh"),
    (["-p", "nosuch", "--wrap", "true"], 1, "sbatch: error: Batch job submission failed: Invalid partition name specified"),
    (["-A", "nosuch", "--wrap", "true"], 1,
     "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"),
    (["-q", "nosuch", "--wrap", "true"], 1, "sbatch: error: Batch job submission failed: Invalid qos specification"),
    (["-w", "n77", "--wrap", "true"], 1, "sbatch: error: Batch job submission failed: Invalid node name specified"),
    (["--nosuch", "--wrap", "true"], 255, "sbatch: error: unrecognized option '--nosuch'"),
    (["-n", "x", "--wrap", "true"], 255, "sbatch: error: -n/--ntasks: "),
    (["-t", "nosuch", "--wrap", "true"], 255, "sbatch: error: -t/--time: Invalid time limit specification"),
    (["-b", "nosuch", "--wrap", "true"], 255, "sbatch: error: --begin: "),
    (["-a", "3-1", "--wrap", "true"], 255, "sbatch: error: "),
]


def test_failures_of_sbatch_print_nothing_to_stdout(cluster, folder):
    for words, code, text in FAILS:
        done = answer(cluster, "sbatch", *words, cwd=folder)
        assert done[:2] == (code, "") and any(line.startswith(text) for line in done[2].splitlines()), (words, done)
    for line in ("--nosuch", "-n x", "--time=nosuch"):
        done = answer(cluster, "sbatch", input=f"#!/bin/sh\n#SBATCH {line}\ntrue\n")
        assert done[:2] == (255, "") and done[2].startswith("sbatch: error: "), (line, done)


HEADER = """#!/bin/sh
#SBATCH -J "a name with blanks" # a comment
#SBATCH --time=7
# nothing to read

#SBATCH --comment='one word' -n2
#SBATCH --signal B:USR2@30
##SBATCH --nice=3
true
#SBATCH --nice=9
"""


def test_where_an_option_may_stand(cluster):
    form = "%j|%l|%k|%C|%y"
    with_name = ["SBATCH_JOB_NAME=env", "SBATCH_TIMELIMIT=8"]
    for env, words, text in [([], [], "a name with blanks|7:00|one word|2|0"), (with_name, [], "env|8:00|one word|2|0"),
                             (with_name, ["-J", "line", "-t", "9", "-n3"], "line|9:00|one word|3|0")]:
        job = submit(cluster, "-H", *words, env=env, input=HEADER)
        assert listed(cluster, job, form) == text + "\n"
        assert re.search(r"^ +Signal=B:(12|USR2|SIGUSR2)@30$", cluster.run("scontrol", "show", "job", job).stdout, re.M)
    pbs = "#!/bin/sh\n#PBS -N pbs\n#PBS -l walltime=0:03:00\n#PBS -l nodes=1:ppn=3\n#PBS -j oe -V\ntrue\n"
    assert listed(cluster, submit(cluster, "-H", input=pbs), form) == "pbs|3:00|(null)|3|0\n"
    both = pbs.replace("true", "#SBATCH -J slurm\ntrue")
    assert listed(cluster, submit(cluster, "-H", "-t", "4", input=both), "%l|%C") == "4:00|3\n"


def test_where_an_option_of_salloc_and_srun_may_stand(cluster):
    ask = "squeue -h -j $SLURM_JOB_ID -o '%l %j %C'"
    for command, variable in (("salloc", "SALLOC"), ("srun", "SLURM")):
        env = [f"{variable}_TIMELIMIT=3", f"{variable}_JOB_NAME=env"]
        said = [] if command == "srun" else ["-Q"]
        once = f"test ${{SLURM_PROCID:-0}} != 0 || {ask}"
        assert answer(cluster, command, *said, "-n2", "sh", "-c", once, env=env) == (0, "3:00 env 2\n", "")
        code, out, _ = answer(cluster, command, *said, "-t4", "-J", "line", "-n1", "sh", "-c", ask, env=env)
        assert (code, out.rsplit(" ", 1)[0]) == (0, "4:00 line")
    assert answer(cluster, "srun", "echo", "x", env=["SLURM_NTASKS=3"]) == (0, "x\nx\nx\n", "")
    assert answer(cluster, "srun", "-n2", "echo", "x", env=["SLURM_NTASKS=3"]) == (0, "x\nx\n", "")


def test_wrapped_commands_run_under_sh(cluster, folder):
    text = "readlink /proc/$$/exe; echo $#; echo a   'b  c'"
    job = submit(cluster, "-W", "-o", "out", "--wrap", text, cwd=folder)
    assert (folder / "out").read_text() == f"{os.path.realpath('/bin/sh')}\n0\na b  c\n"
    lines = cluster.run("scontrol", "write", "batch_script", job, "-").stdout.splitlines()
    assert (lines[0], lines[-1]) == ("#!/bin/sh", text)


def test_names_of_the_files_of_a_batch_job(cluster, folder):
    pattern = "%j,%J,%A,%a,%b,%x,%u,%N,%n,%s,%t,%%,%4j,%2t,%3n"
    job = submit(cluster, "-W", "-J", "name", "-o", pattern, "--wrap", "true", cwd=folder)
    wanted = f"{job},{job},{job},4294967294,4,name,{USER},n0,0,batch,0,%,{job:0>4},00,000"
    assert [path.name for path in folder.iterdir()] == [wanted]
    (folder / wanted).unlink()
    array = submit(cluster, "-W", "-J", "name", "-a", "1-12:11", "-o", "%A,%a,%b,%x,%4a,%7A,%3b,%u,%%a", "-e", "%A_%a.err",
                   "--wrap", "true", cwd=folder)
    wanted = [f"{array},{task},{task % 10},name,{task:04},{array:0>7},{task % 10:03},{USER},%a" for task in (1, 12)]
    assert sorted(path.name for path in folder.iterdir()) == sorted(wanted + [f"{array}_1.err", f"{array}_12.err"])
    for path in folder.iterdir():
        path.unlink()
    job = submit(cluster, "-W", "--wrap", "echo out; echo err >&2", cwd=folder)
    array = submit(cluster, "-W", "-a", "3", "--wrap", "true", cwd=folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted([f"slurm-{job}.out", f"slurm-{array}_3.out"])
    assert (folder / f"slurm-{job}.out").read_text() == "out\nerr\n"


def test_names_of_the_files_of_a_step(cluster, folder):
    done = answer(cluster, "srun", "-N2", "-n3", "-J", "name", "-o", "%x,%N,%n,%s,%t,%%,%4t,%3n", "-e", "%J.%t.err", "sh", "-c",
                  "echo $SLURM_PROCID $SLURM_JOB_ID; echo e >&2", cwd=folder)
    assert done == (0, "", "")
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    job = re.search(r"(\d+)\.0\.0\.err", " ".join(texts))[1]
    places = [(0, 0), (0, 1), (1, 2)]
    wanted = {f"name,n{node},{node},0,{task},%,{task:04},{node:03}": f"{task} {job}\n" for node, task in places}
    assert texts == {**wanted, **{f"{job}.0.{task}.err": "e\n" for task in range(3)}}


# What is asked for; the limit in squeue, in sacct and in minutes.
LIMITS = [
    ("90", "1:30:00", "01:30:00", "90"), ("1:30", "2:00", "00:02:00", "2"), ("0:01", "1:00", "00:01:00", "1"),
    ("5:00", "5:00", "00:05:00", "5"), ("1:2:3", "1:03:00", "01:03:00", "63"),
    ("02:00:00", "2:00:00", "02:00:00", "120"), ("26:00:00", "1-02:00:00", "1-02:00:00", "1560"),
    ("1-2", "1-02:00:00", "1-02:00:00", "1560"), ("1-2:3", "1-02:03:00", "1-02:03:00", "1563"),
    ("1-2:3:4", "1-02:04:00", "1-02:04:00", "1564"), ("0-0:5", "5:00", "00:05:00", "5"),
    ("7-0", "7-00:00:00", "7-00:00:00", "10080"), ("UNLIMITED", "UNLIMITED", "UNLIMITED", "UNLIMITED"),
    ("infinite", "UNLIMITED", "UNLIMITED", "UNLIMITED"), ("0", "UNLIMITED", "UNLIMITED", "UNLIMITED"),
    ("-1", "UNLIMITED", "UNLIMITED", "UNLIMITED")]


def test_limits_of_time_in_and_out(cluster):
    for text, short, long, minutes in LIMITS:
        job = submit(cluster, "-H", "-t", text, "--wrap", "true")
        assert listed(cluster, job, "%l|%L") == f"{short}|{short}\n", text
        found = cluster.run("sacct", "-nXP", "-j", job, "-o", "Timelimit,TimelimitRaw").stdout
        assert found == f"{long}|{minutes}\n", text
        assert f" TimeLimit={long} " in cluster.run("scontrol", "show", "job", job).stdout, text


def next_at(hour, now):
    """The time of the day at which the next `hour` begins."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    at = midnight + datetime.timedelta(hours=hour)
    return at if at > now else at + datetime.timedelta(days=1)


def test_times_to_begin(cluster):
    for text, after in [("now+1hour", 3600), ("now+30", 30), ("now+90seconds", 90), ("now+5minutes", 300), ("now+2days", 172800),
                        ("now+1week", 604800)]:
        before = datetime.datetime.now()
        job = submit(cluster, "-b", text, "--wrap", "true")
        start = datetime.datetime.fromisoformat(listed(cluster, job, "%S").strip())
        assert -1 <= (start - before).total_seconds() - after <= NOW, text
    for text, when in [("2037-01-20T12:34:56", "2037-01-20T12:34:56"), ("2037-01-20T12:34", "2037-01-20T12:34:00"),
                       ("2037-01-20", "2037-01-20T00:00:00"), ("01/20/37", "2037-01-20T00:00:00"), ("01/20/37-16:30", "2037-01-20T16:30:00")]:
        job = submit(cluster, "-b", text, "--wrap", "true")
        assert listed(cluster, job, "%S|%t|%r|%R") == f"{when}|PD|BeginTime|(BeginTime)\n", text
    for text, hour in [("tomorrow", 24), ("16:00", 16), ("4:00PM", 16), ("noon", 12), ("midnight", 0)]:
        before = datetime.datetime.now()
        job = submit(cluster, "-b", text, "--wrap", "true")
        start = datetime.datetime.fromisoformat(listed(cluster, job, "%S").strip())
        assert start in {next_at(hour, before), next_at(hour, datetime.datetime.now())}, text
    cluster.run("scancel", "-u", USER)


def test_lists_of_nodes(cluster):
    for text, nodes in [("n0", "n0"), ("n[0-1]", "n[0-1]"), ("n0,n1", "n[0-1]"), ("n[0,1]", "n[0-1]"), ("n1,n0", "n[0-1]")]:
        count = "2" if "-" in nodes else "1"
        once = "test $SLURM_PROCID != 0 || echo $SLURM_JOB_NODELIST"
        done = answer(cluster, "srun", "-w", text, "-N", count, "-n", count, "sh", "-c", once)
        assert done == (0, nodes + "\n", ""), text


def test_indices_of_arrays(cluster):
    for text, shown in [("0-9", "0-9"), ("1,3,5-7", "1,3,5-7"), ("1-3,7-9%2", "1-3,7-9%2"), ("5", "5"), ("0-3%1", "0-3%1")]:
        array = submit(cluster, "-H", "-a", text, "--wrap", "true")
        assert listed(cluster, array, "%i|%K|%F|%A") == f"{array}_[{shown}]|{shown}|{array}|{array}\n", text
        assert cluster.run("sacct", "-nXP", "-j", array, "-o", "JobID,State").stdout == f"{array}_[{shown}]|PENDING\n", text
        cluster.run("scancel", array)
    array = submit(cluster, "-H", "-a", "0-9:2%4", "--wrap", "true")
    tasks = cluster.run("squeue", "-r", "-h", "-j", array, "-o", "%i", "-S", "i").stdout.split()
    assert tasks == [f"{array}_{task}" for task in (0, 2, 4, 6, 8)]
    assert "ArrayTaskThrottle=4 " in cluster.run("scontrol", "show", "job", array).stdout


def test_scancel_is_silent_and_does_as_it_is_told(cluster):
    array = submit(cluster, "-H", "-a", "0-9", "-J", "arr", "--wrap", "true")
    left = lambda: cluster.run("squeue", "-r", "-h", "-o", "%K", "-S", "K", "-j", array).stdout.split()  # noqa: E731
    for words, tasks in [([f"{array}_0"], "123456789"), ([f"{array}_[1-3]"], "456789"), ([f"{array}_4", f"{array}_5"], "6789"),
                         ([f"{array}_[6,8]"], "79"), (["-t", "PD", f"{array}_7"], "9"), ([array], "")]:
        assert answer(cluster, "scancel", *words) == (0, "", ""), words
        assert "".join(left()) == tasks, words
    for words in (["999999"], ["999999", "999998"], ["-Q", "999999"], ["999999", "-Q"], ["-s", "TERM", "999999"], ["999999", "--signal=USR1"],
                  ["-b", "-s", "USR2", "999999"], ["999999_7"], ["999999_[1-3]"], ["-n", "nosuch"], ["--me", "-t", "R"], ["-u", USER, "-p", "main"],
                  [array], ["-Q", array]):
        assert answer(cluster, "scancel", *words) == (0, "", ""), words
    for words in (["abc"], ["1x"], ["-Q", "abc"]):
        code, out, err = answer(cluster, "scancel", *words)
        assert (code, out, err.splitlines()[0]) == (1, "", f"scancel: error: Invalid job id {words[-1]}")
    code, out, err = answer(cluster, "scancel")
    assert (code, out) == (1, "") and err.startswith("scancel: error: No job identification provided")


def test_filters_of_scancel(cluster):
    for words in (["-n", "one"], ["--name=one", "--me"], ["-u", USER, "-n", "one"], ["-p", "main", "--name", "one"], ["-t", "PENDING", "-n", "one"],
                  ["--state=PD", "--jobname=one"], ["-A", "normal", "-n", "one"], ["-q", "normal", "-n", "one"]):
        one, two = (submit(cluster, "-H", "-J", name, "--wrap", "true") for name in ("one", "two"))
        assert answer(cluster, "scancel", *words) == (0, "", ""), words
        assert (listed(cluster, one, "%t"), listed(cluster, two, "%t")) == ("CA\n", "PD\n"), words
        assert answer(cluster, "scancel", two, "-t", "PD") == (0, "", "")


def test_signals_of_scancel(cluster, folder):
    script = "#!/bin/sh\ntrap 'echo script >> said' USR1\n" \
             "srun sh -c 'trap \"echo step >> said\" USR1; touch there; while :; do sleep 0.1; done' &\n" \
             "while :; do sleep 0.1; done\n"
    job = submit(cluster, "-t5", "-o", "/dev/null", input=script, cwd=folder)
    wait_for((folder / "there").exists, "the step runs")
    said = folder / "said"
    for words, text in [([job, "--signal=USR1"], "step\n"), (["-b", "-s", "USR1", job], "step\nscript\n"),
                        (["-s", "SIGUSR1", job], "step\nscript\nstep\n"), (["--signal", "10", job], "step\nscript\nstep\nstep\n")]:
        assert answer(cluster, "scancel", *words) == (0, "", ""), words
        wait_for(lambda: said.exists() and len(said.read_text()) >= len(text), text)
        assert said.read_text() == text, words
    assert listed(cluster, job, "%T") == "RUNNING\n"
    assert answer(cluster, "scancel", job) == (0, "", "")
    assert cluster.wait_ended(int(job)) == "CANCELLED"


def test_codes_of_srun(cluster):
    for words, code, out, err in [
            (["true"], 0, "", ""), (["sh", "-c", "exit 7"], 7, "", "srun: error: n0: task 0: Exited with exit code 7\n"),
            (["sh", "-c", "kill -9 $$"], 137, "", "srun: error: n0: task 0: Killed\n"),
            (["sh", "-c", "kill -15 $$"], 143, "", "srun: error: n0: task 0: Terminated\n"),
            (["-n3", "sh", "-c", "exit $SLURM_PROCID"], 2, "", None),
            (["-n2", "sh", "-c", "exit $((SLURM_PROCID * 9))"], 9, "", "srun: error: n0: task 1: Exited with exit code 9\n"),
            (["nosuchprogram"], 2, "", "srun: error: n0: task 0: execve(): nosuchprogram: No such file or directory\n"),
            (["/tmp"], 13, "", None), (["--nosuch", "true"], 1, "", None), ([], 1, "", None)]:
        done = answer(cluster, "srun", *words)
        if words == ["/tmp"]:
            assert done[0] != 0 and "execve(): /tmp: Permission denied\n" in done[2], done
            continue
        assert done[:2] == (code, out) and (err is None or done[2] == err), (words, done)
    code, out, err = answer(cluster, "srun", "-p", "nosuch", "true")
    assert (code, out) == (1, "") and "srun: error: Unable to allocate resources: Invalid partition name specified" in err


def test_codes_of_sbatch_and_salloc(cluster):
    for script, code in [("exit 9", 9), ("true", 0), ("kill -9 $$", 137)]:
        done = answer(cluster, "sbatch", "--wait", "-o", "/dev/null", "--wrap", script)
        assert done[0] == code and re.fullmatch(r"Submitted batch job \d+\n", done[1]), (script, done)
    for words, code in [(["sh", "-c", "exit 5"], 5), (["true"], 0), (["sh", "-c", "kill -9 $$"], 137), (["srun", "-Q", "sh", "-c", "exit 6"], 6)]:
        done = answer(cluster, "salloc", "-n1", *words)
        job = re.match(r"salloc: Granted job allocation (\d+)\n", done[2])[1]
        assert done[:2] == (code, "") and done[2].endswith(f"salloc: Relinquishing job allocation {job}\n"), (words, done)


@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_options_that_programs_give(cluster, command):
    told = ["-Q"] if command == "salloc" else []
    for words in ("-n1 -N1 -c1 -p main -t 1 -J name -D /tmp", "--ntasks-per-node=1 --overlap --exclusive", "-w n0 -N1", "-x n1",
                  "--mpi=none --export=ALL", "--mpi=pmix", "--cpu-bind=q", "--cpu-bind=none", "--cpu-bind=cores", "--kill-on-bad-exit",
                  "--kill-on-bad-exit=0", "-K", "-K0", "--input none", "-i none", "-u", "--unbuffered", "--external-launcher",
                  "--account=normal --qos=normal", "--exact", "--export=NONE"):
        if command == "salloc" and not re.fullmatch(r"(-[ncNptJDwx]\S* ?|main ?|1 ?|name ?|/tmp ?|n\d ?)+|--account.*|-K", words):
            continue
        done = answer(cluster, command, *told, *words.split(), "sh", "-c", "echo ran")
        assert done == (0, "ran\n", ""), words


def test_streams_of_srun(cluster, folder):
    hello = ["sh", "-c", "echo $SLURM_PROCID; echo e$SLURM_PROCID >&2"]
    code, out, err = answer(cluster, "srun", "-l", "-n2", *hello)
    assert (code, sorted(out.splitlines()), sorted(err.splitlines())) == (0, ["0: 0", "1: 1"], ["0: e0", "1: e1"])
    code, out, err = answer(cluster, "srun", "-l", "-n12", "sh", "-c", "test $SLURM_PROCID != 3 -a $SLURM_PROCID != 11 || echo x")
    assert (code, sorted(out.splitlines()), err) == (0, [" 3: x", "11: x"], "")
    assert answer(cluster, "srun", "-n2", "-o", "0", *hello, "-e", "none")[:2] == (0, "0\n")
    assert answer(cluster, "srun", "-n2", "-o", "none", "-e", "none", *hello) == (0, "", "")
    assert answer(cluster, "srun", "-n2", "-o", "one", "-e", "errors", "-D", folder, *hello, cwd=folder) == (0, "", "")
    assert sorted((folder / "one").read_text().split()) == ["0", "1"] and sorted((folder / "errors").read_text().split()) == ["e0", "e1"]
    assert answer(cluster, "srun", "-n2", "sh", "-c", "cat | wc -c", input="four") == (0, "4\n4\n", "")
    first = "read a; echo $SLURM_PROCID-$a"
    code, out, err = answer(cluster, "srun", "-n2", "-i", "1", "sh", "-c", first, input="text\n")
    assert (code, sorted(out.split()), err) == (0, ["0-", "1-text"], "")
    (folder / "in").write_text("file\n")
    assert answer(cluster, "srun", "-i", "in", "sh", "-c", first, cwd=folder) == (0, "0-file\n", "")
    assert answer(cluster, "srun", "-D", "/", "pwd") == (0, "/\n", "")


def test_steps_inside_a_job(cluster, folder):
    script = """#!/bin/bash
#SBATCH -N2 -n4 -t5 -o out
srun -l sh -c 'echo $SLURM_STEP_ID $SLURM_NTASKS' | sort
srun -r1 -N1 -n1 sh -c 'echo $SLURMD_NODENAME $SLURM_STEP_ID'
srun -w n0 -N1 -n1 sh -c 'echo $SLURMD_NODENAME'
srun -x n0 -N1 -n1 sh -c 'echo $SLURMD_NODENAME'
srun -n1 -N1 --jobid=$SLURM_JOB_ID --overlap sh -c 'echo $SLURM_NTASKS $SLURM_STEP_ID'
srun -Q -n1 -N1 sh -c 'exit 4'; echo $?
srun -n2 --ntasks-per-node=1 sh -c 'echo $SLURMD_NODENAME' | sort
exit 11
"""
    done = cluster.run("sbatch", "--wait", input=script, cwd=folder, check=False)
    assert done.returncode == 11
    lines = [line for line in (folder / "out").read_text().splitlines() if not line.startswith("srun: ")]
    assert lines == ["0: 0 4", "1: 0 4", "2: 0 4", "3: 0 4", "n1 1", "n0", "n1", "1 4", "4", "n0", "n1"]


def test_lists_of_srun_and_what_would_start(cluster):
    code, out, err = answer(cluster, "srun", "--mpi=list", "true")
    assert code == 0 and (out + err).splitlines()[0] == "MPI plugin types are..."
    code, out, err = answer(cluster, "srun", "--test-only", "-n2", "true")
    assert (code, out) == (0, "")
    assert re.fullmatch(r"srun: Job \d+ to start at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d using 2 processors on nodes n0 in partition main\n", err)


def test_what_lasts_after_the_end(cluster):
    """A job that ended is seen with -t all alone; the record of it stays."""
    job = submit(cluster, "-o", "/dev/null", "--wrap", "true")
    cluster.wait_state(int(job), "COMPLETED")
    assert answer(cluster, "squeue", "-h", "-j", job) == (0, "", "")
    assert answer(cluster, "squeue", "--noheader", "-o", "%i %t", "-t", "all", "-j", job) == (0, f"{job} CD\n", "")
    assert answer(cluster, "sacct", "-nXP", "-j", job, "-o", "JobID,State") == (0, f"{job}|COMPLETED\n", "")
    waiting = cluster.popen("sbatch", "--wait", "-H", "--wrap", "exit 3", stderr=subprocess.DEVNULL)
    held = waiting.stdout.readline().split()[-1]
    cluster.run("scontrol", "release", held)
    assert waiting.wait(30) == 3
