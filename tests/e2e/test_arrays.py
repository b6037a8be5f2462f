"""Arrays of tasks, with real daemons: submitted, shown, changed, cancelled and waited for by the ids of their tasks."""

import json

import pytest

from cluster import wait_for


@pytest.fixture(scope="module")
def cluster(shared_cluster):
    return shared_cluster


def rows(cluster, array, states="all", *options):
    out = cluster.run("squeue", "-h", "-t", states, "-j", array, "-o", "%i|%T|%r|%F|%K", "-S", "i", *options).stdout
    return [line.split("|") for line in out.splitlines()]


def ids(cluster, array, states="all", *options):
    return [row[0] for row in rows(cluster, array, states, *options)]


def test_each_task_knows_itself(cluster):
    array = cluster.submit('echo $SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MIN'
                           ' $SLURM_ARRAY_TASK_MAX $SLURM_ARRAY_TASK_STEP', "--array=1-7:3")
    assert cluster.run("sbatch", "-W", "--parsable", "-d", f"afterok:{array}", "--wrap", "true", cwd=cluster.work)
    for task in (1, 4, 7):
        text = (cluster.work / f"gangway-{array}_{task}.out").read_text()
        assert text == f"{array} {task} 3 1 7 3\n"
    assert rows(cluster, array) == [[f"{array}_{task}", "COMPLETED", "None", str(array), str(task)]
                                    for task in (1, 4, 7)]


def test_what_waits_is_one_line(cluster):
    array = cluster.submit("true", "-H", "-a", "0-15:4,20%2")
    assert rows(cluster, array) == [[f"{array}_[0-12:4,20%2]", "PENDING", "JobHeldUser", str(array), "0-12:4,20%2"]]
    assert ids(cluster, array, "all", "-r") == [f"{array}_{task}" for task in (0, 4, 8, 12, 20)]
    shown = cluster.detail(array)
    assert shown["ArrayJobId"] == str(array)
    assert shown["ArrayTaskId"] == "0-12:4,20%2"
    assert shown["ArrayTaskThrottle"] == "2"
    cluster.run("scancel", array)
    assert rows(cluster, array) == [[f"{array}_[0-12:4,20%2]", "CANCELLED", "None", str(array), "0-12:4,20%2"]]


def test_all_tasks_are_listed_however_many_ranges_they_are(cluster):
    tasks = [i * (i + 1) // 2 for i in range(300)]
    array = cluster.submit("true", "-H", "-a", ",".join(map(str, tasks)))
    listed = cluster.run("squeue", "-h", "-r", "-t", "all", "-o", "%i").stdout.split()
    assert [one for one in listed if one.startswith(f"{array}_")] == [f"{array}_{task}" for task in tasks]
    told = [job for job in json.loads(cluster.run("gqueue", "--json").stdout)["jobs"] if job["array_job_id"] == array]
    assert told[0]["array_tasks"].split(",") == [str(task) for task in tasks]
    cluster.run("scancel", array)


def test_parts_are_held_changed_and_cancelled(cluster):
    array = cluster.submit("true", "-H", "-a", "0-9")
    cluster.run("scancel", f"{array}_[0-2]", f"{array}_9")
    cluster.run("scontrol", "update", f"JobId={array}_4", "TimeLimit=7")
    assert ids(cluster, array, "PENDING") == [f"{array}_[3,5-8]", f"{array}_[4]"]
    asked = cluster.run("gcancel", "-i", f"{array}_[7-20]", input="y\n")
    assert f"job_id={array}_[3,5-8]" in asked.stderr
    assert ids(cluster, array, "PENDING") == [f"{array}_[3,5-6]", f"{array}_[4]"]
    cluster.run("scontrol", "release", f"{array}_[3-4]")
    wait_for(lambda: ids(cluster, array, "COMPLETED") == [f"{array}_3", f"{array}_4"], "tasks of an array")
    assert cluster.detail(f"{array}_4")["TimeLimit"] == "00:07:00"
    assert cluster.detail(f"{array}_3")["ArrayTaskId"] == "3"
    assert ids(cluster, array, "PENDING") == [f"{array}_[5-6]"]
    gone = cluster.run("scontrol", "release", f"{array}_99", check=False)
    assert gone.returncode == 1 and f"{array}_99" in gone.stderr
    cluster.run("scontrol", "release", array)
    wait_for(lambda: len(ids(cluster, array, "COMPLETED")) == 4, "tasks of an array")


def test_the_throttle_can_be_changed(cluster):
    array = cluster.submit("sleep 60", "-a", "0-9%1")
    wait_for(lambda: len(ids(cluster, array, "RUNNING")) == 1, "tasks of an array")
    cluster.run("scontrol", "update", f"JobId={array}", "ArrayTaskThrottle=3")
    wait_for(lambda: len(ids(cluster, array, "RUNNING")) == 3, "tasks of an array")
    assert rows(cluster, array, "PENDING")[0][:3] == [f"{array}_[3-9%3]", "PENDING", "JobArrayTaskLimit"]
    cluster.run("scancel", f"{array}_0")
    wait_for(lambda: f"{array}_3" in ids(cluster, array, "RUNNING"), "tasks of an array")
    cluster.run("scancel", array)
    wait_for(lambda: ids(cluster, array, "PENDING,RUNNING,COMPLETING") == [], "tasks of an array")


def test_a_task_is_named_wherever_a_job_is(cluster):
    array = cluster.submit("echo task $SLURM_ARRAY_TASK_ID; sleep 60", "-a", "0-5%2")
    wait_for(lambda: ids(cluster, array, "RUNNING") == [f"{array}_0", f"{array}_1"], "tasks of an array")
    task = f"{array}_1"
    number = cluster.run("squeue", "-h", "-o", "%A", "-j", task).stdout.strip()
    said = cluster.run("grun", f"--jobid={task}", "--overlap", "sh", "-c", "echo $SLURM_JOB_ID").stdout
    assert said.strip() == number != str(array)
    assert "n" in cluster.run("gangway", "topo", task).stdout
    cluster.run("gangway", "checkpointed", task)
    assert "checkpoint" in cluster.run("gcontrol", "show", "job", number, "--history").stdout.lower()
    wait_for(lambda: "task 1" in cluster.run("gangway", "logs", task).stdout, "the task's output")
    listed = cluster.run("squeue", "-h", "-r", "-o", "%i", "-j", f"{array}_[1,3-4]").stdout.split()
    assert sorted(listed) == [task, f"{array}_3", f"{array}_4"]
    for words in (["grun", f"--jobid={array}_4", "true"], ["gangway", "checkpointed", f"{array}_4"],
                  ["gangway", "topo", f"{array}_4"], ["gangway", "logs", f"{array}_4"]):
        refused = cluster.run(*words, check=False)
        assert refused.returncode == 1 and "is no job yet" in refused.stderr, refused
    cluster.run("scancel", array)
    wait_for(lambda: ids(cluster, array, "PENDING,RUNNING,COMPLETING") == [], "tasks of an array")


def test_who_waits_for_an_array_is_told_of_its_worst_task(cluster):
    done = cluster.run("gbatch", "--wait", "-a", "0-3", "--wrap", "exit $SLURM_ARRAY_TASK_ID", cwd=cluster.work,
                       check=False)
    assert done.returncode == 3
    assert "3 tasks of the array did not complete" in done.stderr


@pytest.mark.parametrize("text, why", [
    ("5-1", "the range 5-1 ends before it begins"),
    ("1-", "a number is missing"),
    ("0-9:0", "a step of 0 never ends"),
    ("1000001", "MaxArraySize"),
    ("", "it names no task"),
])
def test_what_is_no_array(cluster, text, why):
    refused = cluster.run("sbatch", f"--array={text}", "--wrap", "true", cwd=cluster.work, check=False)
    assert refused.returncode == 255
    assert "Invalid job array specification" in refused.stderr and why in refused.stderr


def test_a_restarted_controller_goes_on(cluster):
    array = cluster.submit("sleep 0.2", "-a", "0-19%2")
    cluster.run("scancel", f"{array}_[10-19:2]")
    cluster.kill("gctld")
    cluster.start("gctld")
    wait_for(lambda: len(ids(cluster, array, "COMPLETED")) == 15, "tasks of an array")
    assert ids(cluster, array, "CANCELLED") == [f"{array}_[10-18:2%2]"]


def records(cluster, *options):
    out = cluster.run("sacct", "-nXP", "-o", "JobID,JobIDRaw,State,ExitCode", *options).stdout
    return [line.split("|") for line in out.splitlines()]


def test_the_records_of_an_array(cluster):
    array = cluster.submit("exit $((SLURM_ARRAY_TASK_ID == 2))", "-H", "-a", "0-6")
    cluster.run("scancel", f"{array}_[4-5]")
    cluster.run("scontrol", "release", f"{array}_[0-3]")
    wait_for(lambda: len(ids(cluster, array, "COMPLETED,FAILED")) == 4, "tasks of an array")
    rows = sorted(records(cluster, "-j", array))
    assert [(row[0], row[2].split()[0], row[3]) for row in rows] == [
        (f"{array}_0", "COMPLETED", "0:0"), (f"{array}_1", "COMPLETED", "0:0"), (f"{array}_2", "FAILED", "1:0"),
        (f"{array}_3", "COMPLETED", "0:0"), (f"{array}_[4-5]", "CANCELLED", "0:0"), (f"{array}_[6]", "PENDING", "0:0")]
    assert [row[0] for row in records(cluster, "-j", f"{array}_2")] == [f"{array}_2"]
    assert [row[0] for row in records(cluster, "-j", f"{array}_[1-5:2]")] == [f"{array}_1", f"{array}_3", f"{array}_[4-5]"]
    raw = next(row[1] for row in rows if row[0] == f"{array}_2")
    assert records(cluster, "-j", raw)[0][:2] == [f"{array}_2", raw]
    steps = cluster.run("sacct", "-nP", "-o", "JobID", "-j", f"{array}_2.batch").stdout
    assert steps.split() == [f"{array}_2.batch"]
    cluster.run("scontrol", "release", array)
    wait_for(lambda: len(ids(cluster, array, "COMPLETED,FAILED")) == 5, "tasks of an array")
    assert [row[1] for row in records(cluster, "-j", f"{array}_6")] == [str(array)]  # the last to start


def test_a_thousand_tasks_and_an_array_behind_them(cluster):
    options = ("-n1", "--mem=10", "-o", "/dev/null")
    array = cluster.run("sbatch", "--parsable", "-a", "1-1000", *options, "--wrap", "true").stdout.strip()
    behind = cluster.run("sbatch", "--parsable", "-a", "1-3", "-d", f"afterok:{array}", "-o", f"{cluster.work}/b%a",
                         "--wrap", "squeue -h -j $SLURM_ARRAY_JOB_ID -t R -o %i | wc -l").stdout.strip()
    wait_for(lambda: len(ids(cluster, behind, "COMPLETED")) == 3, "an array behind a thousand tasks", 240)
    ended = records(cluster, "-j", array)
    assert len(ended) == 1000 and {row[2] for row in ended} == {"COMPLETED"}
    assert ids(cluster, array, "PENDING,RUNNING,FAILED") == []


def test_each_task_behind_its_own(cluster):
    first = cluster.run("sbatch", "--parsable", "-a", "1-4", "-n1", "--mem=10", "-o", "/dev/null", "--hold",
                        "--wrap", "test $SLURM_ARRAY_TASK_ID != 3").stdout.strip()
    behind = cluster.run("sbatch", "--parsable", "-a", "1-4,9", "-d", f"aftercorr:{first}", "-n1", "--mem=10",
                         "-o", f"{cluster.work}/corr-%a", "--wrap", "echo ran").stdout.strip()
    wait_for(lambda: ids(cluster, behind, "COMPLETED") == [f"{behind}_9"], "the task that waits for nothing")
    shown = cluster.run("squeue", "-h", "-r", "-j", f"{behind}_2", "-o", "%r %E").stdout.strip()
    assert shown == f"Dependency afterok:{first}_2(unfulfilled)"
    cluster.run("scontrol", "release", f"{first}_[2-3]")
    wait_for(lambda: ids(cluster, behind, "COMPLETED") == [f"{behind}_2", f"{behind}_9"], "the task behind one that ended")
    never = wait_for(lambda: cluster.run("squeue", "-h", "-r", "-j", f"{behind}_3", "-o", "%r").stdout.strip() ==
                     "DependencyNeverSatisfied", "the task behind one that failed")
    assert never and ids(cluster, behind, "PENDING") == [f"{behind}_[1,3-4]"]
    cluster.run("scancel", first, behind)
