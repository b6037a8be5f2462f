#!/usr/bin/env python3
"""A small workflow runner as sites write them: it drives a batch system by sbatch, scancel and JSON alone.

Usage: json_runner.py FOLDER < STAGES
STAGES is a JSON list of {"name", "command", "needs": [names], "gpus"}. It chooses a partition whose nodes have the GPUs,
submits what is ready, asks for all that it waits for at once, takes the end of a job from the accounting once the queue
has forgotten it, cancels the rest when a stage fails, and prints what became of each stage as JSON.
"""

import json
import subprocess
import sys
import time

ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "DEADLINE", "BOOT_FAIL"}


def call(*words):
    """The standard output; an error ends the runner."""
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def asked(*words):
    """The answer as JSON."""
    answer = json.loads(call(*words, "--json"))
    assert answer["errors"] == [], answer["errors"]
    return answer


def partition_with(gpus):
    """An open partition that has a node with so many GPUs free."""
    free = {}
    for node in asked("scontrol", "show", "node")["nodes"]:
        if {"DOWN", "DRAIN"} & set(node["state"]):
            continue
        has, used = (sum(int(part.split("(")[0].split(":")[-1]) for part in node[key].split(",") if part.startswith("gpu"))
                     for key in ("gres", "gres_used"))
        for name in node["partitions"]:
            free[name] = max(free.get(name, 0), has - used)
    for partition in asked("scontrol", "show", "partition")["partitions"]:
        name = partition["name"]
        if "UP" in partition["partition"]["state"] and free.get(name, -1) >= gpus:
            return name
    raise SystemExit(f"no partition has {gpus} GPUs free")


def state_of(job):
    """The base state, of the queue's record or the accounting's."""
    state = job["state"]["current"] if "state" in job else job["job_state"]
    return next(word for word in state if word in ENDED | {"PENDING", "RUNNING", "SUSPENDED"})


def submit(stage, folder):
    """The job's number."""
    gpus = [f"--gpus={stage['gpus']}"] if stage.get("gpus") else []
    text = call("sbatch", "--parsable", "-J", stage["name"], "-D", folder, "-o", f"{stage['name']}.out", "-t", "10",
                "-p", partition_with(stage.get("gpus", 0)), *gpus, "--wrap", stage["command"])
    return int(text.split(";")[0])


def look(jobs):
    """The records of jobs by number; those that the queue has forgotten come from the accounting."""
    wanted = ",".join(map(str, jobs))
    found = {job["job_id"]: job for job in asked("squeue", "--jobs", wanted, "--states=all")["jobs"]}
    missing = [str(job) for job in jobs if job not in found]
    if missing:
        found |= {job["job_id"]: job for job in asked("sacct", "-j", ",".join(missing))["jobs"]}
    return found


def run(stages, folder):
    """What became of each stage."""
    jobs, states = {}, {}
    while len(states) < len(stages):
        for stage in stages:
            is_ready = all(states.get(name) == "COMPLETED" for name in stage.get("needs", []))
            if stage["name"] not in jobs and is_ready:
                jobs[stage["name"]] = submit(stage, folder)
        open_jobs = {name: number for name, number in jobs.items() if name not in states}
        records = look(list(open_jobs.values()))
        states |= {name: state_of(records[number]) for name, number in open_jobs.items()
                   if state_of(records[number]) in ENDED}
        if any(state != "COMPLETED" for state in states.values()):
            left = {name: number for name, number in jobs.items() if name not in states}
            if left:
                call("scancel", *map(str, left.values()))
            states |= dict.fromkeys([stage["name"] for stage in stages if stage["name"] not in states], "CANCELLED")
        time.sleep(0.05)
    ended = asked("sacct", "-j", ",".join(map(str, jobs.values())))["jobs"]
    codes = {job["name"]: job["exit_code"]["return_code"]["number"] for job in ended}
    return {name: {"state": state, "exit_code": codes.get(name)} for name, state in states.items()}


if __name__ == "__main__":
    print(json.dumps(run(json.load(sys.stdin), sys.argv[1])))
