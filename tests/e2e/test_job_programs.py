"""The controller's prolog and epilog of jobs, which gscriptd runs on the controller's host."""

import re
import shlex

import pytest

from cluster import Cluster, wait_for
from conftest import QUICK

# Each run of it is a line of `log`, and its environment a file. With a file `fail.KIND` it fails, with `hang.KIND` it
# waits until that is gone.
PROGRAM = """#!/bin/sh
cd {folder} || exit 9
kind=${{SLURM_SCRIPT_CONTEXT%_slurmctld}}
env > "env.$kind.$SLURM_JOB_ID"
echo "$kind $SLURM_JOB_ID $(id -u)" >> log
while [ -e "hang.$kind" ]; do sleep 0.05; done
if [ -e "fail.$kind" ]; then
  echo "asking the storage"
  echo "the storage is full"
  exit 3
fi
"""


class Site:
    def __init__(self, cluster):
        self.cluster = cluster
        self.folder = cluster.root / "site"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM.format(folder=shlex.quote(str(self.folder))))
        self.program.chmod(0o755)
        self.cluster.overlay.write_text(
            QUICK + f"controller: {{prolog: {self.program}, epilog: {self.program}, program_limit: 2m}}\n")

    def change(self, key, value):
        """In the configuration that holds."""
        path = (self.cluster.dir / "run").resolve() / "gangway.yaml"
        text, count = re.subn(rf"(^|[{{ ]){key}: [^,}}\n]*", rf"\g<1>{key}: {value}", path.read_text())
        assert count >= 1, path.read_text()
        path.write_text(text)
        self.cluster.run("gcontrol", "reconfigure")

    def lines(self, job):
        log = self.folder / "log"
        lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [kind for kind, about, _ in lines if about == str(job)]

    def env(self, kind, job):
        return dict(line.split("=", 1) for line in (self.folder / f"env.{kind}.{job}").read_text().splitlines())

    def set(self, word):
        (self.folder / word).touch()

    def unset(self, word):
        (self.folder / word).unlink()


@pytest.fixture(scope="module")
def site():
    site = Site(Cluster(nodes=2))
    try:
        site.cluster.up()
        yield site
    finally:
        site.cluster.down()


def test_they_run_around_a_job_and_are_told_of_it(site):
    cluster = site.cluster
    job = cluster.submit("exit 4", "-J", "a name", "-N2", "--comment=it's mine", "-t", "10")
    cluster.wait_ended(job)
    assert site.lines(job) == ["prolog", "epilog"]
    env = site.env("prolog", job)
    assert env["SLURM_JOB_NAME"] == "a name" and env["SLURM_JOB_COMMENT"] == "it's mine"
    assert env["SLURM_JOB_NODELIST"] == "n[0-1]" and env["SLURM_JOB_NUM_NODES"] == "2"
    assert env["SLURM_JOB_PARTITION"] and env["SLURM_CLUSTER_NAME"] and env["GANGWAY_JOB_ID"] == str(job)
    assert int(env["SLURM_JOB_END_TIME"]) == int(env["SLURM_JOB_START_TIME"]) + 600
    assert "HOME" not in env and "SLURM_JOB_EXIT_CODE" not in env
    env = site.env("epilog", job)
    assert env["SLURM_JOB_EXIT_CODE"] == "1024" and env["SLURM_JOB_EXIT_CODE2"] == "4:0"
    assert cluster.detail(job)["ExitCode"] == "4:0"


def test_the_job_waits_for_its_prolog_and_says_so(site):
    cluster = site.cluster
    site.set("hang.prolog")
    mark = cluster.work / "ran"
    job = cluster.submit(f"touch {mark}")
    wait_for(lambda: site.lines(job) == ["prolog"], "the prolog")
    detail = cluster.detail(job)
    assert detail["JobState"] == "CONFIGURING" and detail["Reason"] == "Prolog", detail
    assert not mark.exists()
    site.unset("hang.prolog")
    cluster.wait_state(job, "COMPLETED")
    assert mark.exists()


def test_a_job_cancelled_in_its_prolog_is_over_after_its_epilog(site):
    cluster = site.cluster
    site.set("hang.prolog")
    job = cluster.submit("true")
    wait_for(lambda: site.lines(job) == ["prolog"], "the prolog")
    cluster.run("gcancel", str(job))
    assert cluster.detail(job)["JobState"] == "COMPLETING"
    site.unset("hang.prolog")
    cluster.wait_state(job, "CANCELLED")
    assert site.lines(job) == ["prolog", "epilog"]


def test_after_a_prolog_that_fails_the_job_is_tried_again(site):
    cluster = site.cluster
    site.set("fail.prolog")
    job = cluster.submit("true")
    wait_for(lambda: "the storage is full" in cluster.run("gcontrol", "show", "job", str(job)).stdout, "its failure")
    assert cluster.detail(job)["JobState"] in ("PENDING", "CONFIGURING", "COMPLETING")
    site.unset("fail.prolog")
    cluster.wait_state(job, "COMPLETED")
    assert site.lines(job)[:3] == ["prolog", "epilog", "prolog"]
    assert "drain" not in cluster.run("ginfo", "-h", "-o", "%t").stdout


def test_a_dependent_job_waits_for_the_epilog_and_its_failure_changes_nothing(site):
    cluster = site.cluster
    site.set("hang.epilog")
    site.set("fail.epilog")
    job = cluster.submit("true")
    after = cluster.submit("true", f"--dependency=afterok:{job}")
    other = cluster.submit("true", "-N2")
    wait_for(lambda: site.lines(job) == ["prolog", "epilog"], "the epilog")
    wait_for(lambda: site.lines(other) == ["prolog", "epilog"], "its nodes are given to others meanwhile")
    assert cluster.detail(after)["Reason"] == "Dependency"
    site.unset("hang.epilog")
    for one in (job, after, other):
        cluster.wait_state(one, "COMPLETED")
    site.unset("fail.epilog")


def test_interactive_work_has_them_too(site):
    done = site.cluster.run("galloc", "-N1", "grun", "sh", "-c", "echo $SLURM_JOB_ID")
    job = int(done.stdout.split()[-1])
    site.cluster.wait_ended(job)
    assert site.lines(job) == ["prolog", "epilog"]


def test_the_controller_and_gscriptd_may_go_meanwhile(site):
    cluster = site.cluster
    for word, daemon in (("hang.prolog", "gscriptd"), ("hang.prolog", "gctld"), ("hang.epilog", "gctld")):
        site.set(word)
        job = cluster.submit("true")
        wait_for(lambda: word.removeprefix("hang.") in site.lines(job), word)
        cluster.kill(daemon)
        cluster.start(daemon)
        site.unset(word)
        cluster.wait_state(job, "COMPLETED")
        assert site.lines(job)[0] == "prolog" and site.lines(job)[-1] == "epilog"


def test_what_takes_too_long_is_killed_and_new_limits_hold_at_once(site):
    cluster = site.cluster
    site.change("program_limit", "1s")
    site.set("hang.prolog")
    job = cluster.submit("true")
    wait_for(lambda: "it took longer than" in cluster.run("gcontrol", "show", "job", str(job)).stdout, "the limit")
    site.unset("hang.prolog")
    cluster.wait_state(job, "COMPLETED")
    for key in ("prolog", "epilog"):
        site.change(key, '""')
    job = cluster.submit("true")
    cluster.wait_state(job, "COMPLETED")
    assert site.lines(job) == []
