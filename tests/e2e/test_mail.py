"""Users are mailed about their jobs by the program of the configuration, which gscriptd runs."""

import json
import os
import pathlib
import stat

import pytest

from cluster import Cluster, wait_for
from conftest import QUICK

# Writes what it is given into a file of its own; where its folder has `fail`, it fails instead.
PROGRAM = """#!/usr/bin/python3
import json, os, pathlib, sys, time
folder = pathlib.Path({folder!r})
if (folder / "fail").exists():
    sys.exit("the queue is full")
mail = dict(args=sys.argv[1:], body=sys.stdin.read(), env=dict(os.environ))
path = folder / f"{{time.monotonic_ns()}}.json"
path.with_suffix(".part").write_text(json.dumps(mail))
path.with_suffix(".part").rename(path)
"""


class Post:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.program = self.folder / "mailer"
        self.program.write_text(PROGRAM.format(folder=str(self.folder)))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)

    def mails(self, word=""):
        all_ = [json.loads(path.read_text()) for path in sorted(self.folder.glob("*.json"))]
        return [mail for mail in all_ if word in mail["args"][1]]

    def subjects(self, word):
        return [mail["args"][1] for mail in self.mails(word)]

    def wait_for(self, word, count=1):
        wait_for(lambda: len(self.mails(word)) >= count, f"{count} mails with {word!r}; {self.subjects('')}")
        return self.mails(word)


@pytest.fixture(scope="module")
def post(tmp_path_factory):
    folder = tmp_path_factory.mktemp("post")
    for parent in [folder, *folder.parents]:
        if os.access(parent, os.W_OK) and parent.stat().st_uid == os.geteuid() and parent != pathlib.Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o011)
    return Post(folder / "box")


@pytest.fixture(scope="module")
def cluster(post):
    config = QUICK + f"mail: {{program: {post.program}, domain: example.org, per_user_hour: 100}}\n"
    one = Cluster(nodes=1, config=config)
    try:
        yield one.up()
    finally:
        one.down()


def test_start_and_end_are_told(cluster, post):
    job = cluster.submit("sleep 1; exit 3", "-J", "told", "--mail-type=BEGIN,END", "--mail-user=ann@example.com,bob")
    cluster.wait_ended(job)
    began = post.wait_for(f"Job_id={job} Name=told Began, Queued time ")[0]
    assert began["args"][0] == "-s" and began["args"][2:] == ["--", "ann@example.com", "bob@example.org"]
    ended = post.wait_for(f"Gangway Job_id={job} Name=told Ended, Run time ")[0]
    assert ended["args"][1].endswith(", FAILED, ExitCode 3")
    assert "State: FAILED\nNodes: n0\n" in ended["body"], ended["body"]
    assert ended["env"]["SLURM_JOB_ID"] == str(job) and ended["env"]["SLURM_JOB_EXIT_CODE"] == "3:0"
    assert set(ended["env"]) <= {"PATH", "LC_CTYPE"} | {n for n in ended["env"] if n.startswith("SLURM_")}
    detail = cluster.detail(job)
    assert detail["MailType"] == "BEGIN,END" and detail["MailUser"] == "ann@example.com,bob"


def test_whoever_submits_is_told_by_default(cluster, post):
    done = cluster.run("sbatch", "--parsable", "--mail-type", "FAIL", "--wrap", "exit 1")
    assert done.stderr == ""
    mail = post.wait_for(f"Slurm Job_id={done.stdout.strip()} Name=wrap Failed, Run time")[0]
    assert mail["args"][3:] == [f"{cluster.user or 'root'}@example.org"]
    good = cluster.submit("true", "--mail-type=FAIL")
    cluster.wait_ended(good)
    again = cluster.submit("true", "--mail-type=END")
    post.wait_for(f"Job_id={again} ")
    assert post.mails(f"Job_id={good} ") == []


def test_an_array_is_told_of_once(cluster, post):
    script = "[ $SLURM_ARRAY_TASK_ID != 2 ]"
    array = cluster.submit(script, "-a", "1-4", "-J", "sweep", "--mail-type=BEGIN,END")
    post.wait_for(f"Array Summary Job_id={array}_* ({array}) Name=sweep Ended, Mixed, ExitCode [0-1], 1 of 4 tasks did not complete")
    post.wait_for(f"Array Summary Job_id={array}_* ({array}) Name=sweep Began")
    assert len(post.mails(f"Job_id={array}_")) == 2
    each = cluster.submit(script, "-a", "1-4", "--mail-type=END,ARRAY_TASKS")
    post.wait_for(f"Array Task Job_id={each}_", 4)
    assert len([s for s in post.subjects(f"Job_id={each}_") if "FAILED, ExitCode 1" in s]) == 1


def test_other_events(cluster, post):
    job = cluster.submit("sleep 100", "--requeue", "-J", "events", "-t", "60", "--mail-type=REQUEUE,TIME_LIMIT_50,TIME_LIMIT")
    cluster.wait_state(job, "RUNNING")
    cluster.run("gcontrol", "requeue", job)
    post.wait_for(f"Job_id={job} Name=events Requeued, Run time")
    bad = cluster.submit("exit 1")
    after = cluster.submit("true", "-d", f"afterok:{bad}", "--mail-type=ALL")
    post.wait_for(f"Job_id={after} Name=gbatch Invalid dependency")
    cluster.wait_state(job, "RUNNING")
    cluster.run("gcontrol", "update", f"JobId={after}", "MailType=none")
    cluster.run("gcancel", after, job)
    cluster.wait_ended(job)
    assert post.mails(f"Job_id={after} Name=gbatch Ended") == [] and len(post.mails(f"Job_id={job} ")) == 1


@pytest.mark.parametrize("options, text", [
    (["--mail-type=SOMETIMES"], "is none of NONE, ALL, BEGIN"),
    (["--mail-type=EN"], 'did you mean "END"'),
    (["--mail-user="], "--mail-user: the value is empty"),
])
def test_bad_input(cluster, options, text):
    done = cluster.run("gbatch", *options, "--wrap", "true", check=False)
    assert done.returncode == 255 and done.stdout == "" and text in done.stderr, done.stderr


@pytest.mark.parametrize("address", ["-f/etc/passwd", "|/bin/sh", "/tmp/x", "a b", "<you>@example.edu", ",".join(["a"] * 11)])
def test_an_odd_address_stops_no_script_and_is_not_mailed(cluster, post, address):
    done = cluster.run("sbatch", "--parsable", "--mail-type=END", f"--mail-user={address}", "--wrap", "true")
    assert done.stderr.startswith("sbatch: warning: left out: --mail-user (") and done.stderr.count("\n") == 1, done.stderr
    mail = post.wait_for(f"Job_id={done.stdout.strip()} ")[0]
    assert mail["args"][2:] == ["--", f"{cluster.user or 'root'}@example.org"]
    refused = cluster.run("gcontrol", "update", f"JobId={cluster.submit('true', '-H')}", f"MailUser={address}", check=False)
    assert refused.returncode == 1, refused


def test_a_name_brings_nothing_into_a_mail(cluster, post):
    job = cluster.submit("true", "-J", "a\nTo: all", "--mail-type=END")
    mail = post.wait_for(f"Job_id={job} ")[0]
    assert "\n" not in mail["args"][1] and "Name=a\\x0aTo: all" in mail["args"][1]


def test_what_fails_is_in_the_log(cluster, post):
    (post.folder / "fail").touch()
    job = cluster.submit("true", "--mail-type=END")
    log = cluster.dir / "log" / "gctld.log"
    wait_for(lambda: f"mail not sent: Gangway Job_id={job} " in log.read_text() and
             "exit code 1: the queue is full" in log.read_text(), "the failure in the log")
    (post.folder / "fail").unlink()


def test_mails_wait_for_gscriptd(cluster, post):
    """Jobs do not; and mails come once it is there again."""
    command = cluster.command_of("gscriptd")
    cluster.kill("gscriptd")
    job = cluster.submit("true", "--mail-type=END")
    assert cluster.wait_ended(job) == "COMPLETED" and post.mails(f"Job_id={job} ") == []
    assert "gscriptd" in command[0]
    cluster.start("gscriptd")
    post.wait_for(f"Job_id={job} ")


def test_a_user_has_a_rate(cluster, post):
    config = cluster.dir / "gangway.yaml"
    config.write_text(config.read_text().replace("per_user_hour: 100", "per_user_hour: 3"))
    cluster.run("gcontrol", "reconfigure")
    jobs = [cluster.submit("true", "-J", "many", "--mail-type=END") for _ in range(8)]
    for job in jobs:
        cluster.wait_ended(job)
    log = cluster.dir / "log" / "gctld.log"
    wait_for(lambda: "is not sent: its user had 3 within the hour" in log.read_text(), "the refusal in the log")
    assert len(post.mails("Name=many")) <= 3


def test_a_program_that_is_configured_later_is_used_at_once(make_cluster, post):
    one = make_cluster(nodes=1, config=QUICK)
    config = one.dir / "gangway.yaml"
    config.write_text(config.read_text() + f"\nmail: {{program: {post.program}, double_dash: false}}\n")
    one.run("gcontrol", "reconfigure")
    job = one.submit("kill -9 $$", "-J", "later", "--mail-type=FAIL", "--mail-user=ann")
    mail = post.wait_for("Name=later Failed")[0]
    assert mail["args"][1].endswith(", FAILED") and mail["args"][2:] == ["ann"], (job, mail)


def test_without_a_program_the_job_is_told(make_cluster):
    one = make_cluster(nodes=1, config=QUICK)
    done = one.run("sbatch", "--mail-type=END", "--wrap", "true")
    assert done.stdout.startswith("Submitted batch job ")
    assert done.stderr.startswith("sbatch: warning: left out: --mail-type (no mail is sent: mail.program"), done.stderr
    assert one.run("sbatch", "--mail-type=NONE", "--wrap", "true").stderr == ""
