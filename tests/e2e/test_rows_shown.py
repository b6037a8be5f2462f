"""What squeue, sinfo, scontrol, sacct, sshare and sdiag print, to the letter: each field of a format with its header, its
width, what stands where there is nothing, separators and exit codes. Programs cut these lines at fixed places."""

import os
import pwd
import re

import pytest

from cluster import wait_for

UID = os.geteuid()
USER = pwd.getpwuid(UID).pw_name
GROUP = os.getegid()
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


@pytest.fixture(scope="module")
def cluster(shared_cluster):
    return shared_cluster


def submit(cluster, *words):
    return cluster.run("sbatch", "--parsable", *words).stdout.strip()


def script(cluster):
    path = cluster.work / "job.sh"
    path.write_text("#!/bin/sh\nsleep 600\n")
    return path


def shown(cluster, *words):
    return cluster.run(*words).stdout


def answer(cluster, *words, env=()):
    """Exit code, stdout, stderr."""
    done = cluster.run("env", *env, *words, check=False)
    return done.returncode, done.stdout, done.stderr


def fields(cluster, command, table):
    """{letter: (header, value)} of what is asked for in one call, each in brackets."""
    text = "\n".join(f"[%{letter}]" for letter in table)
    lines = cluster.run(*command, "-o", text).stdout
    cells = [cell[1:-1] for cell in re.findall(r"\[.*?\](?=\n|$)", lines)]
    half = len(table)
    assert len(cells) == 2 * half, lines
    return {letter: (cells[i], cells[half + i]) for i, letter in enumerate(table)}


# A header, and what it shows of a job that runs, of one that is held and asks for much, and of a part of an array.
LETTERS = {
    "i": ("JOBID", "{run}", "{held}", "{array}_[0-2%2]"), "A": ("JOBID", "{run}", "{held}", "{array}"),
    "F": ("ARRAY_JOB_ID", "{run}", "{held}", "{array}"), "K": ("ARRAY_TASK_ID", "N/A", "N/A", "0-2%2"),
    "t": ("ST", "R", "PD", "PD"), "T": ("STATE", "RUNNING", "PENDING", "PENDING"),
    "r": ("REASON", "None", "JobHeldUser", "JobHeldUser"),
    "R": ("NODELIST(REASON)", "n[0-1]", "(JobHeldUser)", "(JobHeldUser)"),
    "N": ("NODELIST", "n[0-1]", "", ""), "B": ("EXEC_HOST", "n0", "n/a", "n/a"),
    "u": ("USER", USER, USER, USER), "U": ("UID", f"{UID}", f"{UID}", f"{UID}"), "P": ("PARTITION", "main", "main", "main"),
    "j": ("NAME", "run", "a_long_name", "arr"), "D": ("NODES", "2", "1", "1"), "C": ("CPUS", "8", "6", "1"),
    "l": ("TIME_LIMIT", "1:30:00", "1-00:00:00", "UNLIMITED"), "L": ("TIME_LEFT", None, "1-00:00:00", "UNLIMITED"),
    "M": ("TIME", None, "0:00", "0:00"), "S": ("START_TIME", None, "N/A", "N/A"), "e": ("END_TIME", None, "N/A", "N/A"),
    "V": ("SUBMIT_TIME", None, None, None), "a": ("ACCOUNT", "normal", "normal", "normal"),
    "q": ("QOS", "normal", "normal", "normal"), "Q": ("PRIORITY", "1", "0", "0"),
    "m": ("MIN_MEMORY", "1000M", "100M", "0"), "b": ("TRES_PER_NODE", "N/A", "gres/gpu:2", "N/A"),
    "f": ("FEATURES", "(null)", "(null)", "(null)"), "v": ("RESERVATION", "(null)", "(null)", "(null)"),
    "Z": ("WORK_DIR", "{work}", "{work}", "{work}"), "o": ("COMMAND", "{work}/job.sh", "{work}/job.sh", "(null)"),
    "k": ("COMMENT", "two words", "(null)", "(null)"), "y": ("NICE", "0", "7", "0"), "n": ("REQ_NODES", "", "n0", ""),
    "h": ("OVER_SUBSCRIBE", "OK", "NO", "OK"), "g": ("GROUP", None, None, None),
    "G": ("GROUP", f"{GROUP}", f"{GROUP}", f"{GROUP}"), "E": ("DEPENDENCY", "(null)", "afterany:{run}(unfulfilled)", "(null)"),
    "w": ("WCKEY", "(null)", "key", "(null)"), "W": ("LICENSES", "(null)", "(null)", "(null)"), "x": ("EXC_NODES", "", "n1", ""),
    "c": ("MIN_CPUS", None, "2", "1"), "d": ("MIN_TMP_DISK", "0", "0", "0"), "O": ("CONTIGUOUS", "0", "1", "0"),
    "X": ("CORE_SPEC", "N/A", "N/A", "N/A"), "Y": ("SCHEDNODES", "(null)", "(null)", "(null)"),
    "z": ("S:C:T", "*:*:*", "1:2:*", "*:*:*"), "H": ("SOCKETS_PER_NODE", "*", "1", "*"),
    "I": ("CORES_PER_SOCKET", "*", "2", "*"), "J": ("THREADS_PER_CORE", "*", "*", "*"),
}
FORMS = {"L": r"1:(30:00|29:\d\d)", "M": r"\d:\d\d", "S": TIME, "e": TIME, "V": TIME, "g": r"\w+", "c": r"\d+"}


def test_squeue_has_every_letter_with_its_header_and_its_null(cluster):
    path = script(cluster)
    run = submit(cluster, "-J", "run", "-N2", "-n4", "-c2", "-t", "1:30:00", "--mem=1000", "--comment", "two words", path, "x")
    held = submit(cluster, "-H", "-J", "a_long_name", "-n3", "-c2", "-t", "1-0", "--nice=7", "--mem-per-cpu=100",
                  "--gres=gpu:2", "--exclusive", "-d", f"afterany:{run}", "-w", "n0", "-x", "n1", "--contiguous",
                  "--sockets-per-node=1", "--cores-per-socket=2", "--wckey=key", path)
    array = submit(cluster, "-H", "-J", "arr", "-a", "0-2%2", "--wrap", "true")
    cluster.wait_state(int(run), "RUNNING")
    wrong = []
    for which, job in enumerate((run, held, array)):
        found = fields(cluster, ["squeue", "-t", "all", "-j", job], LETTERS)
        for letter, (header, *values) in LETTERS.items():
            want, (head, value) = values[which], found[letter]
            if want is None:
                is_right = re.fullmatch(FORMS[letter], value) is not None
            else:
                is_right = value == want.format(run=run, held=held, array=array, work=cluster.work)
            if head != header or not is_right:
                wrong.append((letter, job, head, value, want))
    assert wrong == []
    cluster.run("scancel", run, held, array)


def test_squeue_shows_how_jobs_ended(cluster):
    jobs = {"CD COMPLETED ": submit(cluster, "-t5", "--wrap", "true"),
            "F FAILED (NonZeroExitCode)": submit(cluster, "-t5", "--wrap", "exit 3"),
            "F FAILED (RaisedSignal:9(Killed))": submit(cluster, "-t5", "--wrap", "kill -9 $$"),
            "CA CANCELLED ": submit(cluster, "-H", "-t5", "--wrap", "true")}
    cluster.run("scancel", jobs["CA CANCELLED "])
    for text, job in jobs.items():
        cluster.wait_ended(int(job))
        where = "" if text.startswith("CA") else cluster.show(job, "%N")
        listed = shown(cluster, "squeue", "-h", "-t", "all", "-j", job, "-o", "%t %T %R|%N|%l|%Q")
        wanted = text + (where if text.startswith("CD") else "")
        assert listed == f"{wanted}|{where}|5:00|1\n"
        assert shown(cluster, "squeue", "-h", "-j", job, "-o", "%i") == "", "without -t only those that are not over"


def test_widths_of_letters_pad_and_cut(cluster):
    job = int(submit(cluster, "-H", "-J", "abcdefghij", "--wrap", "true"))
    for form, line in [("%.18i|", f"{job:>18}|"), ("%18i|", f"{job:<18}|"), ("%8j|", "abcdefgh|"), ("%.8j|", "abcdefgh|"),
                       ("%14j|", "abcdefghij    |"), ("%.14j|", "    abcdefghij|"), ("%.3T|%3T|", "PEN|PEN|"),
                       ("%i %P;%u", f"{job} main;{USER}"), ("%.2t %.10M %.6D", "PD       0:00      1"),
                       ("%i,%T,", f"{job},PENDING,"), ("x%iy", f"x{job}y")]:
        assert shown(cluster, "squeue", "-h", "-j", job, "-o", form) == line + "\n", form


def test_names_of_fields_have_twenty_columns_or_what_is_said(cluster):
    job = int(submit(cluster, "-H", "-J", "abcdefghij", "--wrap", "true"))
    for form, line in [("JobID", f"{job:<20}"), ("JobID:8,Name:.12,State:|,UserName:.9", f"{job:<8}  abcdefghijPENDING|{USER:>9}"),
                       ("jobid:5,NAME:4,state:9", f"{job:<5}abcdPENDING  "),
                       ("JobID:\x1f,Partition:\x1f,TimeLimit:\x1f", f"{job}\x1fmain\x1fUNLIMITED\x1f"),
                       ("JobArrayID:;,ReasonList:;,NumNodes:;,NumCPUs:;", f"{job};(JobHeldUser);1;1;"), ("Name:3|,QOS:.8#", "abc|  normal#")]:
        assert shown(cluster, "squeue", "-h", "-j", job, "-O", form) == line + "\n", form


# Names of fields beyond the letters: header, and what a job that is held and asks for nothing shows.
NAMES = {
    "AccrueTime": ("ACCRUE_TIME", "N/A"), "admin_comment": ("ADMIN_COMMENT", "(null)"), "BatchFlag": ("BATCH_FLAG", "1"),
    "BoardsPerNode": ("BOARDS_PER_NODE", "N/A"), "BurstBuffer": ("BURST_BUFFER", "(null)"), "Cluster": ("CLUSTER", "N/A"),
    "ClusterFeature": ("CLUSTER_FEATURES", "(null)"), "Container": ("CONTAINER", "(null)"), "CPUFreq": ("CPU_FREQ", "N/A"),
    "cpus-per-tres": ("CPUS_PER_TRES", "N/A"), "DelayBoot": ("DELAY_BOOT", "00:00:00"), "DerivedEC": ("DERIVED_EC", "0:0"),
    "gres": ("TRES_PER_NODE", "N/A"), "HetJobID": ("HET_JOB_ID", "N/A"), "HetJobIDSet": ("HET_JOB_ID_SET", "N/A"),
    "HetJobOffset": ("HET_JOB_OFFSET", "N/A"), "MaxCPUs": ("MAX_CPUS", "0"), "MCSLabel": ("MCSLABEL", "N/A"),
    "mem-per-tres": ("MEM_PER_TRES", "N/A"), "Network": ("NETWORK", "(null)"), "NTPerBoard": ("NTASKS_PER_BOARD", "N/A"),
    "NTPerCore": ("NTASKS_PER_CORE", "N/A"), "NTPerNode": ("NTASKS_PER_NODE", "N/A"), "NTPerSocket": ("NTASKS_PER_SOCKET", "N/A"),
    "Origin": ("ORIGIN", "N/A"), "PreemptTime": ("PREEMPT_TIME", "N/A"), "Profile": ("PROFILE", "NotSet"), "Reboot": ("REBOOT", "0"),
    "ResizeTime": ("RESIZE_TIME", "N/A"), "ResvPort": ("RESV_PORTS", "N/A"), "SPerBoard": ("SOCKETS_PER_BOARD", "N/A"),
    "system_comment": ("SYSTEM_COMMENT", "(null)"), "tres-bind": ("TRES_BIND", "N/A"), "tres-freq": ("TRES_FREQ", "N/A"),
    "tres-per-socket": ("TRES_PER_SOCKET", "N/A"), "Wait4Switch": ("WAIT4SWITCH", "00:00:00"), "PendingTime": ("PENDING_TIME", "0"),
    "Nodes": ("NODES", ""), "exit_code": ("EXIT_CODE", "0:0"), "tres-alloc": ("TRES_ALLOC", "(null)"),
}


def test_squeue_has_every_name_with_its_header_and_its_null(cluster):
    job = submit(cluster, "-H", "--wrap", "true")
    lines = shown(cluster, "squeue", "-j", job, "-O", ",".join(f"{name}:;" for name in NAMES)).splitlines()
    found = dict(zip(NAMES, zip(*(line.split(";") for line in lines))))
    assert {name: pair for name, pair in found.items() if pair != NAMES[name]} == {}
    cluster.run("scancel", job)


HEAD = "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
LONG = "             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)\n"
START = "             JOBID PARTITION     NAME     USER ST          START_TIME  NODES SCHEDNODES           NODELIST(REASON)\n"


def test_listings_of_squeue_have_slurms_columns(cluster):
    job = submit(cluster, "-H", "-J", "ten_letters", "-t90", "--wrap", "true")
    user = USER[:8]
    assert shown(cluster, "squeue", "-j", job) == HEAD + f"{job:>18}      main ten_lett {user:>8} PD       0:00      1 (JobHeldUser)\n"
    long = shown(cluster, "squeue", "-l", "-j", job).split("\n", 1)
    assert re.fullmatch(r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \d{4}", long[0])
    assert long[1] == LONG + f"{job:>18}      main ten_lett {user:>8}  PENDING       0:00   1:30:00      1 (JobHeldUser)\n"
    later = submit(cluster, "-b", "2037-01-20T12:34:00", "-J", "later", "--wrap", "true")
    row = f"{later:>18}      main    later {user:>8} PD 2037-01-20T12:34:00      1 (null)               (BeginTime)\n"
    assert shown(cluster, "squeue", "--start", "-j", later) == START + row
    head = "         STEPID     NAME PARTITION     USER      TIME NODELIST\n"
    assert shown(cluster, "squeue", "-s", "-j", job) == head
    cluster.run("scancel", job, later)


def test_filters_of_squeue(cluster):
    one = submit(cluster, "-H", "-J", "one", "--wrap", "true")
    two = submit(cluster, "-H", "-J", "two", "-a", "1-2", "--wrap", "true")
    rows = lambda *words: shown(cluster, "squeue", "-h", "-o", "%i", *words).split()  # noqa: E731
    assert rows("-j", f"{two},{one}", "-S", "i") == [one, f"{two}_[1-2]"] and rows("-S", "-i", "-u", USER, "-n", "one,two") == [f"{two}_[1-2]", one]
    assert rows("-r", "-S", "i", "-n", "one,two") == [one, f"{two}_1", f"{two}_2"] == rows("--array", "-a", "--sort=i", "--me", "-n", "one,two")
    assert rows("-n", "one") == [one] and rows("--name=one,two", "-S", "i") == [one, f"{two}_[1-2]"]
    assert rows("-t", "R") == [] == rows("-t", "running,CG") and rows("-t", "pd", "-n", "one") == [one]
    assert rows("-p", "main", "-n", "one") == [one] and rows("-A", "normal", "-q", "normal", "-n", "two") == [f"{two}_[1-2]"]
    assert rows("-w", "n0") == []
    cluster.run("scancel", one, two)
    assert rows("-n", "one") == [] and rows("--states=all", "-n", "one") == [one]


SAID = [
    ("squeue -j 999999", 1, "", "slurm_load_jobs error: Invalid job id specified\n"),
    ("squeue -h -j 999998,999999", 0, "", ""),
    ("squeue -j 999998,999999", 0, HEAD, ""),
    ("squeue -j abc", 1, "", "squeue: error: Invalid job id abc\n"),
    ("squeue -j 1x", 1, "", "squeue: error: Invalid job id 1x\n"),
    ("scontrol show job 999999", 1, "", "slurm_load_jobs error: Invalid job id specified\n"),
    ("sacct -j 999999 -n", 0, "", ""),
    ("sacct -j 999999 -P -o jobid,state", 0, "JobID|State\n", ""),
    ("sacct -j 999999 -p -o jobid,state", 0, "JobID|State|\n", ""),
    ("sacct -o nosuch", 1, "", 'sacct: error: Invalid field requested: "nosuch"\n'),
    ("scontrol show reservation", 0, "No reservations in the system\n", ""),
]


def test_exit_codes_and_what_is_said(cluster):
    for words, code, out, err in SAID:
        assert answer(cluster, *words.split()) == (code, out, err), words
    code, out, err = answer(cluster, "sacct", "-j", "abc")
    assert (code, out, err.splitlines()[0]) == (1, "", "sacct: error: Invalid job id abc")


def test_versions_begin_as_slurms(cluster):
    for words in ["scontrol version", "scontrol --version", "squeue --version", "sinfo -V", "sacct --version", "sbatch --version",
                  "sbatch -V", "srun --version", "scancel -V", "salloc --version", "sacctmgr --version", "sshare -V", "sdiag --version"]:
        code, out, err = answer(cluster, *words.split())
        assert (code, err) == (0, "") and re.fullmatch(r"slurm 23\.11\.4 \(gangway \d+\.\d+\.\d+\S*\)\n", out), words


def test_of_several_ids_the_known_ones_are_listed(cluster):
    job = submit(cluster, "-H", "--wrap", "true")
    assert answer(cluster, "squeue", "-h", "-o", "%i", "-j", f"{job},999999") == (0, f"{job}\n", "")
    cluster.run("scancel", job)


SINFO = {"P": ("PARTITION", "main*"), "R": ("PARTITION", "main"), "C": ("CPUS(A/I/O/T)", "0/448/0/448"),
         "F": ("NODES(A/I/O/T)", "0/2/0/2"), "A": ("NODES(A/I)", "0/2"), "D": ("NODES", "2"), "T": ("STATE", "idle"),
         "t": ("STATE", "idle"), "N": ("NODELIST", "n[0-1]"), "c": ("CPUS", "224"), "m": ("MEMORY", "2097152"),
         "f": ("AVAIL_FEATURES", "(null)"), "G": ("GRES", "gpu:h100:8"), "l": ("TIMELIMIT", "infinite"), "p": ("PRIO_TIER", "1"),
         "a": ("AVAIL", "up"), "E": ("REASON", "none"), "b": ("ACTIVE_FEATURES", "(null)"),
         "B": ("MAX_CPUS_PER_NODE", "UNLIMITED"), "d": ("TMP_DISK", "0"), "g": ("GROUPS", "all"), "h": ("OVERSUBS", "NO"),
         "H": ("TIMESTAMP", "Unknown"), "I": ("PRIO_JOB_FACTOR", "1"), "M": ("PREEMPT_MODE", "OFF"), "r": ("ROOT", "no"),
         "s": ("JOB_SIZE", "1-infinite"), "S": ("ALLOCNODES", "all"), "u": ("USER", "Unknown"), "U": ("USER", "Unknown"),
         "w": ("WEIGHT", "1"), "X": ("SOCKETS", "2"), "Y": ("CORES", "56"), "Z": ("THREADS", "2"), "z": ("S:C:T", "2:56:2")}


def test_sinfo_has_every_letter_with_its_header(cluster):
    cluster.wait_idle()
    found = fields(cluster, ["sinfo"], SINFO)
    assert {letter: pair for letter, pair in found.items() if pair != SINFO[letter]} == {}

    def rows():
        return [re.sub(r"\d{4,}", "FREE", row) for row in shown(cluster, "sinfo", "-N", "-h", "-o", "%n|%N|%D|%e|").splitlines()]

    wait_for(lambda: rows() == ["n0|n0|1|FREE|", "n1|n1|1|FREE|"], "the nodes have told their free memory")


def test_listings_of_sinfo_have_slurms_columns(cluster):
    cluster.wait_idle()
    head = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
    assert shown(cluster, "sinfo") == head + "main*        up   infinite      2   idle n[0-1]\n"
    assert shown(cluster, "sinfo", "-s") == "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST\n" \
                                            "main*        up   infinite          0/2/0/2 n[0-1]\n"
    assert shown(cluster, "sinfo", "-N") == "NODELIST   NODES PARTITION STATE \n" \
                                            "n0             1 main*     idle  \nn1             1 main*     idle  \n"
    assert shown(cluster, "sinfo", "-R") == "REASON               USER      TIMESTAMP           NODELIST\n"
    assert shown(cluster, "sinfo", "-h", "-t", "alloc,drain") == ""
    assert shown(cluster, "sinfo", "-aho", "%F/%C") == "0/2/0/2/0/448/0/448\n"
    assert shown(cluster, "sinfo", "-h", "-o%R,%C") == "main,0/448/0/448\n"
    assert shown(cluster, "sinfo", "-h", "-o", "%.4P|%6R|%.5D|%5D|") == "main|main  |    2|2    |\n"
    rows = shown(cluster, "sinfo", "-h", "-N", "-O", "NodeList,AllocMem,Memory,CPUsState,StateLong")
    assert rows == "".join(f"{node:<20}{0:<20}{2097152:<20}{'0/224/0/224':<20}{'idle':<20}\n" for node in ("n0", "n1"))
    assert shown(cluster, "sinfo", "-h", "-O", "Comment:.8,Extra:8,Port:|") == "  (null)(null)  0|\n"


def test_a_drained_node_in_sinfo(cluster):
    cluster.wait_idle()
    cluster.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=the fan is too loud to bear")
    try:
        assert shown(cluster, "sinfo", "-h") == "main*        up   infinite      1  drain n1\nmain*        up   infinite      1   idle n0\n"
        assert shown(cluster, "sinfo", "-h", "-o", "%C %F") == "0/224/224/448 0/1/1/2\n"
        row = shown(cluster, "sinfo", "-R", "-h")
        assert re.fullmatch(rf"the fan is too loud  {USER:<9} {TIME} n1\n", row), row
        assert shown(cluster, "sinfo", "-h", "-n", "n1", "-o", "%E|%T|%t") == "the fan is too loud to bear|drained|drain\n"
    finally:
        cluster.run("scontrol", "update", "NodeName=n1", "State=RESUME")
    cluster.wait_idle()


RECORD = """JobId={job} JobName=rec
UserId={user}({uid}) GroupId={group} MCS_label=N/A
Priority=0 Nice=5 Account=normal QOS=normal
JobState=PENDING Reason=JobHeldUser Dependency=(null)
Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
RunTime=00:00:00 TimeLimit=1-02:03:00 TimeMin=N/A
SubmitTime={time} EligibleTime=Unknown
AccrueTime=Unknown
StartTime=Unknown EndTime=Unknown Deadline=N/A
ReqNodeList=n1 ExcNodeList=(null)
NumNodes=2 NumCPUs=8 NumTasks=4 CPUs/Task=2 ReqB:S:C:T=0:0:*:*
ReqTRES=cpu=8,mem=16G,node=2,billing=8
AllocTRES=(null)
Socks/Node=* NtasksPerN:B:S:C=2:0:*:* CoreSpec=*
MinCPUsNode=4 MinMemoryNode=8G MinTmpDiskNode=0
Features=(null) DelayBoot=00:00:00
OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
Command={work}/job.sh
WorkDir={work}
Comment=two words
StdErr={work}/err
StdIn=/dev/null
StdOut={work}/out-{job}"""


def test_a_record_of_scontrol(cluster):
    job = submit(cluster, "-H", "-J", "rec", "-N2", "--ntasks-per-node=2", "-c2", "-t", "1-2:3", "--mem=8G", "--nice=5",
                 "-w", "n1", "--comment", "two words", "-o", "out-%j", "-e", "err", script(cluster))
    text = shown(cluster, "scontrol", "show", "job", job)
    assert text.endswith("\n\n") and text.count("\n\n") == 1 and text[0] != "\n"
    lines = [line.strip() for line in text.splitlines()]
    group = re.search(r"GroupId=(\S+)", text)[1]
    time = re.search(r"SubmitTime=(\S+)", text)[1]
    wanted = RECORD.format(job=job, user=USER, uid=UID, group=group, time=time, work=cluster.work).splitlines()
    assert re.fullmatch(rf"\w+\({GROUP}\)", group) and re.fullmatch(TIME, time)
    assert [line for line in wanted if line not in lines] == [], text
    assert [line for line in lines if line in wanted] == wanted, "in this order"
    assert all(line.startswith("   ") for line in text.splitlines()[1:-1])
    one = shown(cluster, "scontrol", "show", "job", "-o", job)
    assert one.count("\n") == 1 and one[:-1].split() == " ".join(lines).split() and "  " not in one
    other = submit(cluster, "-H", "--wrap", "true")
    both = shown(cluster, "scontrol", "-o", "show", "jobs").splitlines()
    assert [line.split()[0] for line in both if line.startswith((f"JobId={job} ", f"JobId={other} "))] == [f"JobId={job}", f"JobId={other}"]
    assert f"Command=(null)\n   WorkDir={cluster.work}\n" in shown(cluster, "scontrol", "show", "job", other)
    assert "\n   DerivedExitCode=0:0\n" in shown(cluster, "scontrol", "show", "job", "-d", job)
    cluster.run("scancel", job, other)


def keys(cluster, *words):
    text = shown(cluster, "scontrol", "show", *words)
    return dict(word.split("=", 1) for word in text.split() if "=" in word), text


def test_records_of_jobs_that_run(cluster):
    with_files = submit(cluster, "-n2", "--mem=3000", "-t10", script(cluster))
    cluster.wait_state(int(with_files), "RUNNING")
    found, _ = keys(cluster, "job", with_files)
    assert [found[k] for k in ("BatchFlag", "BatchHost", "NodeList", "Priority", "AllocTRES", "NumNodes", "ExitCode")] == \
        ["1", "n0", "n0", "1", "cpu=2,mem=3000M,node=1,billing=2", "1", "0:0"], found
    allocated = cluster.popen("salloc", "-n1", "--mem=4000", "sleep", "600")
    job = wait_for(lambda: shown(cluster, "squeue", "-h", "-n", "sleep,salloc,interactive", "-t", "R", "-o", "%i").strip(), "the allocation")
    found, text = keys(cluster, "job", job)
    assert found["BatchFlag"] == "0" and not re.search(r"Std(Err|In|Out)=", text) and "mem=4000M" in found["AllocTRES"], text
    nodes, text = keys(cluster, "node", "n0")
    assert nodes["CfgTRES"] == "cpu=224,mem=2T,billing=224,gres/gpu=8" and nodes["Version"] == "23.11.4", text
    assert re.search(r"mem=\d+M", nodes["AllocTRES"]) and nodes["State"] == "MIXED" and nodes["Arch"] == os.uname().machine
    assert re.fullmatch(TIME, nodes["BootTime"]) and re.fullmatch(TIME, nodes["SlurmdStartTime"])
    assert "\n   OS=Linux " in text and text.endswith("\n\n")
    assert shown(cluster, "scontrol", "-o", "show", "node").count("\n") == 2
    cluster.run("scancel", with_files, job)
    allocated.wait(30)


def test_a_jobs_worst_step_and_later_words_on_it(cluster):
    job = submit(cluster, "-n1", "-t5", "--wrap", "srun sh -c 'exit 3'; srun sh -c 'exit 5'; srun true; exit 0")
    cluster.wait_ended(int(job))
    found, _ = keys(cluster, "job", "-d", job)
    assert (found["DerivedExitCode"], found["ExitCode"]) == ("5:0", "0:0")
    wait_for(lambda: shown(cluster, "sacct", "-XnPj", job, "-o", "ExitCode,DerivedExitCode") == "0:0|5:0\n", "the record of it")
    assert shown(cluster, "squeue", "-h", "-t", "all", "-j", job, "-O", "exit_code:5,DerivedEC:5") == "0:0  5:0  \n"


def test_jobs_that_are_over_are_queued_again_under_their_id(cluster):
    job = submit(cluster, "-t5", "--wrap", "true")
    cluster.wait_state(int(job), "COMPLETED")
    assert answer(cluster, "scontrol", "requeuehold", job) == (0, "", "")
    assert shown(cluster, "squeue", "-h", "-j", job, "-o", "%i %t %Q") == f"{job} PD 0\n"
    assert answer(cluster, "scontrol", "release", job) == (0, "", "")
    cluster.wait_state(int(job), "COMPLETED")
    assert answer(cluster, "scontrol", "requeue", job) == (0, "", "")
    cluster.wait_state(int(job), "COMPLETED")
    assert re.search(r" Restarts=2 ", shown(cluster, "scontrol", "show", "job", job))


def test_lists_of_hosts(cluster):
    nodes = ["SLURM_JOB_NODELIST=q[08-10]"]
    for words, env, out in [
            ("hostnames n[001-004,007],x1", [], "n001\nn002\nn003\nn004\nn007\nx1\n"),
            ("hostnames r[1-2]n[3-4]", [], "r1n3\nr1n4\nr2n3\nr2n4\n"),
            ("hostnames b2,b1,b2", [], "b2\nb1\nb2\n"),
            ("hostnames", nodes, "q08\nq09\nq10\n"),
            ("hostnames a1", nodes, "a1\n"),
            ("hostlist n001,n002,n003,n007,x1", [], "n[001-003,007],x1\n"),
            ("hostlist b3,b1,b2", [], "b[3,1-2]\n"),
            ("hostlistsorted b3,b1,b2", [], "b[1-3]\n"),
            ("hostlist n9,n10,n11", [], "n[9-11]\n"),
            ("hostlist n09,n10,n011", [], "n[09-10,011]\n")]:
        assert answer(cluster, "scontrol", "show", *words.split(), env=env) == (0, out, ""), words


def test_verbs_of_scontrol_are_silent(cluster):
    job = submit(cluster, "-H", "-t5", "--wrap", "sleep 600")
    for words in (["hold", job], ["release", job]):
        assert answer(cluster, "scontrol", *words) == (0, "", ""), words
    cluster.wait_state(int(job), "RUNNING")
    states = [("suspend", "S SUSPENDED"), ("resume", "R RUNNING")]
    for verb, state in states:
        assert answer(cluster, "scontrol", verb, job) == (0, "", "")
        assert shown(cluster, "squeue", "-h", "-j", job, "-o", "%t %T") == state + "\n"
    assert answer(cluster, "scontrol", "update", f"JobId={job}", "TimeLimit=7") == (0, "", "")
    assert shown(cluster, "squeue", "-h", "-j", job, "-o", "%l") == "7:00\n"
    assert re.fullmatch(r"Slurmctld\(primary\) at \S+ is UP\n", shown(cluster, "scontrol", "ping"))
    step = shown(cluster, "scontrol", "show", "step", f"{job}.batch")
    time = re.search(r"StartTime=(\S+)", step)[1]
    assert step.startswith(f"StepId={job}.batch UserId={UID} StartTime={time} TimeLimit=UNLIMITED\n   State=RUNNING Partition=main NodeList=n0\n")
    assert re.fullmatch(TIME, time)
    cluster.run("scancel", job)


def test_a_partition_and_a_reservation_of_scontrol(cluster):
    text = shown(cluster, "scontrol", "show", "partition", "main")
    assert text.startswith("PartitionName=main\n   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL\n") and text.endswith("\n\n")
    assert "\n   AllocNodes=ALL Default=YES QoS=N/A\n" in text and "\n   Nodes=n[0-1]\n" in text
    assert shown(cluster, "scontrol", "-o", "show", "partition").count("\n") == 1
    start = "2037-01-20T12:34:00"
    done = cluster.run("scontrol", "create", "reservation", "ReservationName=res", f"StartTime={start}", "Duration=90", "Nodes=n1", f"Users={USER}")
    assert done.stdout == "Reservation created: res\n"
    try:
        text = shown(cluster, "scontrol", "show", "reservation", "res")
        assert text.startswith(f"ReservationName=res StartTime={start} EndTime=2037-01-20T14:04:00 Duration=01:30:00\n   Nodes=n1 NodeCnt=1 "), text
        head = "RESV_NAME     STATE           START_TIME             END_TIME     DURATION  NODELIST\n"
        assert shown(cluster, "sinfo", "-T") == head + f"res        INACTIVE  {start}  2037-01-20T14:04:00     01:30:00  n1\n"
    finally:
        cluster.run("scontrol", "delete", "ReservationName=res")


# Columns of sacct's table: width, and right-aligned but for the ids.
WIDTHS = {
    10: "Account AllocCPUS AllocNodes AllocTRES AveCPU AveCPUFreq AvePages AveRSS AveVMSize Cluster CPUTime CPUTimeRAW Elapsed "
        "ElapsedRaw JobName Licenses MaxRSS MaxRSSNode MaxRSSTask MaxVMSize MinCPU MinCPUNode MinCPUTask NCPUS Partition Planned "
        "PlannedCPU Priority QOS ReqMem ReqTRES State Suspended SystemCPU Timelimit TotalCPU UserCPU WCKey",
    7: "AssocID", 6: "GID UID", 9: "Group Layout User", 8: "ExitCode MaxPages NNodes NTasks ReqCPUS ReqNodes",
    12: "JobID JobIDRaw MaxDiskRead MaxDiskWrite",
    13: "ReqCPUFreqMin ReqCPUFreqMax ReqCPUFreqGov",
    14: "AveDiskRead AveDiskWrite Comment ConsumedEnergy MaxPagesTask MaxVMSizeNode MaxVMSizeTask TRESUsageInAve TRESUsageInMax "
        "TRESUsageInMin TRESUsageInTot",
    15: "DerivedExitCode MaxDiskReadNode MaxDiskReadTask NodeList", 16: "MaxDiskWriteNode MaxDiskWriteTask",
    18: "TRESUsageInMaxNode TRESUsageInMaxTask TRESUsageInMinNode TRESUsageInMinTask", 19: "Eligible End Start Submit",
    20: "Reservation SubmitLine WorkDir", 22: "Reason",
}


def test_columns_of_sacct_are_as_wide_as_slurms(cluster):
    widths = {name: width for width, names in WIDTHS.items() for name in names.split()}
    head, rule = shown(cluster, "sacct", "-j", "999999", "-o", ",".join(widths)).splitlines()
    assert dict(zip(widths, map(len, rule.split()))) == widths and len(head) == len(rule) == sum(widths.values()) + len(widths)
    cells = [f"{name:<{width}} " if name.startswith("JobID") else f"{name:>{width}} " for name, width in widths.items()]
    assert head == "".join(cells)
    assert [name for name in shown(cluster, "sacct", "--helpformat").split() if name in widths] == sorted(widths, key=str.lower)


# What a job that ended with a code, its script, the allocation and a step show.
ROWS = {
    "JobID": ["{job}", "{job}.batch", "{job}.extern", "{job}.0"], "JobIDRaw": ["{job}", "{job}.batch", "{job}.extern", "{job}.0"],
    "JobName": ["fails", "batch", "extern", "true"], "Partition": ["main", "", "", ""], "Account": ["normal"] * 4,
    "AllocCPUS": ["2", "2", "2", "2"], "State": ["FAILED", "FAILED", "COMPLETED", "COMPLETED"], "ExitCode": ["3:0", "3:0", "0:0", "0:0"],
    "DerivedExitCode": ["0:0", "", "", ""], "NodeList": ["n0"] * 4, "NNodes": ["1"] * 4, "NTasks": ["", "1", "1", "2"],
    "Timelimit": ["1-02:00:00", "", "", ""], "TimelimitRaw": ["1560", "", "", ""], "ReqMem": ["3000M", "", "", ""],
    "ReqTRES": ["billing=2,cpu=2,mem=3000M,node=1", "", "", ""],
    "AllocTRES": ["billing=2,cpu=2,mem=3000M,node=1"] + ["cpu=2,mem=3000M,node=1"] * 3, "User": [USER, "", "", ""],
    "UID": [f"{UID}", "", "", ""], "GID": [f"{GROUP}", "", "", ""], "QOS": ["normal", "", "", ""], "Priority": ["1", "", "", ""],
    "Comment": ["two words", "", "", ""], "WCKey": ["key", "", "", ""], "WorkDir": ["{work}", "", "", ""],
    "Suspended": ["00:00:00"] * 4, "Reservation": [""] * 4, "ReqCPUS": ["2", "2", "2", "2"], "Reason": ["NonZeroExitCode", "", "", ""],
}


def test_rows_of_sacct(cluster):
    job = submit(cluster, "-J", "fails", "-n2", "--mem=3000", "-t", "1-2", "--comment", "two words", "--wckey=key", "--wrap", "srun true; exit 3")
    cluster.wait_state(int(job), "FAILED")
    lines = shown(cluster, "sacct", "-nP", "-j", job, "-o", ",".join(ROWS)).splitlines()
    found = {name: list(cells) for name, cells in zip(ROWS, zip(*(line.split("|") for line in lines)))}
    wanted = {name: [cell.format(job=job, work=cluster.work) for cell in cells] for name, cells in ROWS.items()}
    assert {name: cells for name, cells in found.items() if cells != wanted[name]} == {}
    forms = {"Start": TIME, "End": TIME, "Submit": TIME, "Eligible": TIME, "Elapsed": r"00:00:\d\d", "ElapsedRaw": r"\d+",
             "TotalCPU": r"00:0\d\.\d{3}", "UserCPU": r"00:0\d\.\d{3}", "SystemCPU": r"00:0\d\.\d{3}", "CPUTime": r"00:00:\d\d",
             "CPUTimeRAW": r"\d+", "Planned": r"00:00:\d\d", "Cluster": r"dev-\w+"}
    values = shown(cluster, "sacct", "-XnP", "-j", job, "-o", ",".join(forms)).rstrip("\n").split("|")
    assert [(name, value) for (name, form), value in zip(forms.items(), values) if not re.fullmatch(form, value)] == []


def test_forms_of_sacct(cluster):
    job = submit(cluster, "-H", "-J", "a_longer_name", "-t5", "--wrap", "true")
    array = submit(cluster, "-H", "-J", "arr", "-a", "2-5%2", "--wrap", "true")
    cluster.run("scancel", job)
    assert shown(cluster, "sacct", "-j", job, "-p", "-o", "jobid,state") == f"JobID|State|\n{job}|CANCELLED by {UID}|\n"
    assert shown(cluster, "sacct", "-nXP", "-j", job, "-o", "Start,NodeList,ExitCode,AllocCPUS") == "None|None assigned|0:0|0\n"
    assert shown(cluster, "sacct", "-n", "-P", "--delimiter", "\x1f", "-j", job, "-o", "JobID,ExitCode") == f"{job}\x1f0:0\n"
    assert shown(cluster, "sacct", "-X", "--parsable2", "--noheader", "-j", job, "-j", array, "-o", "JobID") == f"{job}\n{array}_[2-5%2]\n"
    assert shown(cluster, "sacct", "-nXP", "-j", f"{array},{job}", "-o", "JobID", "-s", "CA") == f"{job}\n"
    assert shown(cluster, "sacct", "-n", "-j", job, "-o", "state%4,JobName%-8,JobName%6,jobid%20") == f"CAN+ a_longe+ a_lon+ {job:>20} \n"
    assert shown(cluster, "sacct", "-n", "-j", job) == f"{job:<12} a_longer_+       main     normal          0 CANCELLED+      0:0 \n"
    assert shown(cluster, "sacct", "-nXP", "--name", "a_longer_name", "-u", USER, "-S", "now-1hour", "-E", "now", "-o", "jobid") == f"{job}\n"
    seconds = shown(cluster, "env", "SLURM_TIME_FORMAT=%s", "sacct", "-nXP", "-j", job, "-o", "Submit,End").strip()
    assert re.fullmatch(r"\d{10}\|\d{10}", seconds)
    big = submit(cluster, "-H", "--mem=3000", "--wrap", "true")
    for unit, text in (("M", "3000M"), ("G", "2.93G"), ("K", "3072000K")):
        assert shown(cluster, "sacct", "-nXP", "-j", big, "--units", unit, "-o", "ReqMem") == text + "\n"
    cluster.run("scancel", array, big)


SDIAG = """*******************************************************
sdiag output at D
Data since      D
*******************************************************
Server thread count:  #
RPC queue enabled:    #
Agent queue size:     #
Agent count:          #
Agent thread count:   #
DBD Agent queue size: #

Jobs submitted: #
Jobs started:   #
Jobs completed: #
Jobs canceled:  #
Jobs failed:    #

Job states ts:  D
Jobs pending:   #
Jobs running:   #

Main schedule statistics (microseconds):
	Last cycle:   #
	Max cycle:    #
	Total cycles: #
	Mean cycle:   #
	Mean depth cycle:  #
	Cycles per minute: #
	Last queue length: #

Main scheduler exit:
	End of job queue:#
	Hit default_queue_depth: #
	Hit sched_max_job_start: #
	Blocked on licenses: #
	Hit max_rpc_cnt: #
	Timeout (max_sched_time): #

Backfilling stats
	Total backfilled jobs (since last slurm start): #
	Total backfilled jobs (since last stats cycle start): #
	Total backfilled heterogeneous job components: #
	Total cycles: #
	Last cycle when: D
	Last cycle: #
	Max cycle:  #
	Mean cycle: #
	Last depth cycle: #
	Last depth cycle (try sched): #
	Depth Mean: #
	Depth Mean (try depth): #
	Last queue length: #
	Queue length mean: #
	Last table size: #
	Mean table size: #
"""


def test_lines_of_sdiag(cluster):
    cluster.wait_ended(int(submit(cluster, "--wrap", "true")))
    text = shown(cluster, "sdiag")
    text = re.sub(r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4} \(\d{10}\)", "D", text)
    text = re.sub(r"(?m):( *)\d+$", r":\1#", text)
    assert text[:len(SDIAG)] == SDIAG


def test_columns_of_sshare(cluster):
    head = "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare"
    assert shown(cluster, "sshare", "-P").splitlines()[0] == head and shown(cluster, "sshare", "-p").splitlines()[0] == head + "|"
    long = "Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS|GrpTRESMins|TRESRunMins"
    assert shown(cluster, "sshare", "-l", "-P").splitlines()[0] == long
    rows = shown(cluster, "sshare", "-n", "-P", "-a", "-o", "account,user,rawshares,normshares,rawusage,effectvusage").splitlines()
    assert re.fullmatch(r"root\|\|\|\d\.\d{6}\|\d+\|\d\.\d{6}", rows[0]) and re.fullmatch(r" normal\|\|1\|\d\.\d{6}\|\d+\|\d\.\d{6}", rows[1])
    pairs = shown(cluster, "sshare", "-n", "-P", "-o", "account,fairshare").splitlines()
    assert [re.sub(r"\d\.\d{6}$", "F", pair) for pair in pairs][:2] == ["root|F", " normal|F"]
