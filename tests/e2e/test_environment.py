"""The variables that programs in a job and in its steps read, each with its value, under both prefixes."""

import os
import pwd
import re
import socket

USER = pwd.getpwuid(os.geteuid()).pw_name

BATCH = {
    "JOB_NAME": "vars", "JOB_NUM_NODES": "2", "NNODES": "2", "NTASKS": "4", "NPROCS": "4", "NTASKS_PER_NODE": "2", "TASKS_PER_NODE": "2(x2)",
    "JOB_CPUS_PER_NODE": "4(x2)", "CPUS_ON_NODE": "4", "CPUS_PER_TASK": "2", "MEM_PER_CPU": "100", "JOB_PARTITION": "main", "JOB_ACCOUNT": "normal",
    "JOB_QOS": "normal", "JOB_USER": USER, "JOB_UID": str(os.geteuid()), "JOB_GID": str(os.getegid()), "GPUS_ON_NODE": "2",
    "GPUS_PER_NODE": "2", "JOB_NODELIST": "n[0-1]", "NODELIST": "n[0-1]", "SUBMIT_HOST": socket.gethostname(), "PROCID": "0", "LOCALID": "0",
    "NODEID": "0", "GTIDS": "0",
}
PRESENT = ["JOB_ID", "JOBID", "JOB_GPUS", "CLUSTER_NAME", "SUBMIT_DIR", "TASK_PID", "JOB_START_TIME", "JOB_END_TIME", "TOPOLOGY_ADDR"]
STEP = {
    "STEP_ID": "0", "STEPID": "0", "STEP_NODELIST": "n[0-1]", "STEP_NUM_NODES": "2", "STEP_NUM_TASKS": "2", "STEP_TASKS_PER_NODE": "1(x2)",
    "NTASKS": "2", "TASKS_PER_NODE": "1(x2)", "DISTRIBUTION": "block", "UMASK": "0027", "JOB_NAME": "vars", "CPUS_PER_TASK": "2",
    "NTASKS_PER_NODE": "2",
}


def variables(path, number=None):
    lines = path.read_text().splitlines()
    if number is not None:
        lines = [line[len(f"{number}: "):] for line in lines if line.startswith(f"{number}: ")]
    return dict(line.split("=", 1) for line in lines if re.match(r"[A-Za-z_]+=", line))


def test_a_script_and_its_steps_are_told_all(shared_cluster):
    cluster = shared_cluster
    script = f"umask 027; env > {cluster.work}/script.env; srun -l -n2 -N2 --gpus-per-task=1 env > {cluster.work}/step.env"
    job = cluster.submit(script, "-J", "vars", "-N2", "-n4", "--ntasks-per-node=2", "-c2", "--mem-per-cpu=100", "--gpus-per-node=2", "-t", "5")
    assert cluster.wait_ended(job) == "COMPLETED"
    told = variables(cluster.work / "script.env")
    for prefix in ("SLURM_", "GANGWAY_"):
        assert {name: told.get(prefix + name) for name in BATCH} == BATCH
        assert [name for name in PRESENT if not told.get(prefix + name)] == []
        assert told[prefix + "JOB_ID"] == str(job) == told[prefix + "JOBID"]
    assert told["SLURMD_NODENAME"] == "n0" and told["ENVIRONMENT"] == "BATCH" and told["SLURM_SUBMIT_DIR"] == str(cluster.work)
    for rank in (0, 1):
        step = variables(cluster.work / "step.env", rank)
        for prefix in ("SLURM_", "GANGWAY_"):
            own = {**STEP, "PROCID": str(rank), "NODEID": str(rank), "LOCALID": "0", "GTIDS": str(rank)}
            if prefix == "GANGWAY_":
                del own["UMASK"]
            assert {name: step.get(prefix + name) for name in own} == own
            assert step[prefix + "STEP_GPUS"] and step[prefix + "TASK_PID"]
        assert step["SLURM_LAUNCH_NODE_IPADDR"] and step["SLURM_SRUN_COMM_HOST"] and step["SLURMD_NODENAME"] == f"n{rank}"
    cluster.wait_idle()


def test_tasks_of_an_array_are_told_which_they_are(shared_cluster):
    cluster = shared_cluster
    job = cluster.submit(f"env > {cluster.work}/task.$SLURM_ARRAY_TASK_ID", "-n1", "--array=2-8:3", "-t", "5")
    assert cluster.wait_ended(job)
    for task in (2, 5, 8):
        told = variables(cluster.work / f"task.{task}")
        assert {name: told["SLURM_ARRAY_" + name] for name in ("JOB_ID", "TASK_ID", "TASK_COUNT", "TASK_MIN", "TASK_MAX", "TASK_STEP")} == {
            "JOB_ID": str(job), "TASK_ID": str(task), "TASK_COUNT": "3", "TASK_MIN": "2", "TASK_MAX": "8", "TASK_STEP": "3"}
    cluster.wait_idle()


def test_overcommitted_tasks_are_told_so(shared_cluster):
    cluster = shared_cluster
    assert cluster.run("srun", "-O", "-n2", "sh", "-c", "echo $SLURM_OVERCOMMIT").stdout == "1\n1\n"
    assert cluster.run("srun", "-n1", "sh", "-c", "echo $SLURM_OVERCOMMIT").stdout == "\n"
    job = cluster.submit("echo $SLURM_OVERCOMMIT $GANGWAY_OVERCOMMIT", "-O", "-n4", "-t", "5")
    assert cluster.wait_ended(job) == "COMPLETED"
    assert (cluster.work / f"gangway-{job}.out").read_text() == "1 1\n"
    cluster.wait_idle()
