"""The site's own program looks at every submission: it refuses, changes and tells, and when it fails nothing slips by."""

import json
import pathlib
import stat

import pytest

from cluster import Cluster, wait_for
from conftest import QUICK

# Keeps what it is given, and answers what the file `answer` says: a text, or `exit N`, or `hang`.
PROGRAM = """#!/usr/bin/python3
import pathlib, sys, time
folder = pathlib.Path({folder!r})
(folder / "asked").write_text(sys.stdin.read())
answer = (folder / "answer").read_text()
if answer == "hang":
    time.sleep(1000)
print("looking", file=sys.stderr)
if answer.startswith("exit "):
    sys.exit(int(answer.split()[1]))
print(answer)
"""


class Site:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.program = self.folder / "look"
        self.program.write_text(PROGRAM.format(folder=str(self.folder)))
        self.program.chmod(0o755 | stat.S_IXOTH)
        self.says({})

    def says(self, answer):
        (self.folder / "answer").write_text(answer if isinstance(answer, str) else json.dumps(answer))

    def asked(self):
        return json.loads((self.folder / "asked").read_text())


def config(site, more=""):
    return QUICK + f"submit_hook: {{program: {site.program}, limit: 2s{more}}}\n"


@pytest.fixture(scope="module")
def cluster(request):
    one = Cluster(nodes=2)
    one.site = Site(one.root / "site")
    one.overlay.write_text(config(one.site))
    try:
        yield one.up()
    finally:
        one.down()


@pytest.fixture(autouse=True)
def is_content(cluster):
    yield
    cluster.site.says({})


def test_it_is_told_of_the_job_and_who_submits_it(cluster):
    job = cluster.submit("#!/bin/sh\necho of the site\n", "-J", "told", "-t", "30", "--gpus-per-node=2", "--comment=mine")
    cluster.wait_ended(job)
    asked = cluster.site.asked()
    assert asked["user_name"] == (cluster.user or "root") and asked["script"] == "#!/bin/sh\necho of the site\n"
    assert asked["jobs"][0]["name"] == "told" and asked["jobs"][0]["time_limit"] == 1800
    assert asked["jobs"][0]["request"]["gpus"] == 2 and asked["jobs"][0]["comment"] == "mine"


def test_it_refuses_in_its_own_words(cluster):
    cluster.site.says({"refuse": "name an account with -A"})
    for command in (["gbatch", "--wrap", "true"], ["grun", "true"], ["galloc", "true"]):
        done = cluster.run(*command, check=False)
        assert done.returncode == 1, done
        assert "name an account with -A" in done.stderr, done
    assert cluster.run("gqueue", "-h").stdout == ""


def test_it_changes_the_job_and_tells_the_user(cluster):
    cluster.site.says({"set": {"comment": "of the site", "time_limit": 600, "request": {"exclude": "n0"}},
                       "tell": "n0 is for others"})
    done = cluster.run("gbatch", "--wrap", "true")
    assert "warning: n0 is for others" in done.stderr
    job = int(done.stdout.split()[-1])
    cluster.wait_state(job, "COMPLETED")
    detail = cluster.detail(job)
    assert detail["Comment"] == "of the site" and detail["TimeLimit"] == "00:10:00" and detail["NodeList"] == "n1"


def test_what_it_sets_must_be_allowed(cluster):
    cluster.site.says({"set": {"partitions": "nowhere"}})
    done = cluster.run("gbatch", "--wrap", "true", check=False)
    assert done.returncode == 1 and "nowhere" in done.stderr


def test_an_array_is_asked_about_once_and_each_component_is_shown(cluster):
    cluster.wait_ended(cluster.submit("true", "--array=1-5%2"))
    assert cluster.site.asked()["array_tasks"] == "1-5%2"
    cluster.wait_ended(cluster.submit("#!/bin/sh\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\ntrue\n"))
    assert [job["request"]["tasks"] for job in cluster.site.asked()["jobs"]] == [1, 2]


@pytest.mark.parametrize("answer,why", [("exit 3", "exit code 3"), ("hang", "it took longer than 00:00:02"),
                                        ("gibberish", "no JSON object: gibberish"),
                                        ('{"set": {"colour": 1}}', '"colour" of a job cannot be set')])
def test_a_program_that_fails_lets_nothing_by(cluster, answer, why):
    cluster.site.says(answer)
    done = cluster.run("gbatch", "--wrap", "true", check=False)
    assert done.returncode == 1 and "the site's submission program cannot look at it: " in done.stderr, done
    assert why in done.stderr, done
    assert cluster.run("gqueue", "-h").stdout == ""


def test_others_do_not_wait_while_it_hangs(cluster):
    cluster.site.says("hang")
    (cluster.site.folder / "asked").unlink()
    waiting = cluster.popen("gbatch", "--wrap", "true")
    wait_for(lambda: (cluster.site.folder / "asked").exists(), "it is asked")
    assert cluster.run("gqueue", "-h").returncode == 0
    assert waiting.poll() is None
    waiting.communicate(timeout=60)


def test_without_gscriptd_a_command_waits_for_it(cluster):
    cluster.kill("gscriptd")
    waiting = cluster.popen("gbatch", "--wrap", "true")
    cluster.start("gscriptd")
    out, err = waiting.communicate(timeout=60)
    assert out.startswith("Submitted batch job"), err


def test_where_the_site_wants_it_failures_are_passed_by(cluster):
    path = cluster.dir / "gangway.yaml"
    before = path.read_text()
    try:
        assert "on_failure: refuse" in before or "limit: 2s" in before, before
        path.write_text(before.replace("limit: 2s", "limit: 2s, on_failure: accept") if "limit: 2s" in before else
                        before.replace("on_failure: refuse", "on_failure: accept"))
        cluster.run("gcontrol", "reconfigure")
        cluster.site.says("exit 3")
        job = cluster.submit("true")
        cluster.wait_state(job, "COMPLETED")
    finally:
        path.write_text(before)
        cluster.run("gcontrol", "reconfigure")
