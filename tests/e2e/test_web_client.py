"""The Python client of the API, as a script of a user: 15 lines that submit a gang, wait with its reasons, and read its output."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster import wait_for
from conftest import QUICK, needs_root, others_can_run
from web import WEB, address, make_token

PYTHON = Path(__file__).parents[2] / "etc/python"
sys.path.insert(0, str(PYTHON))
import gangway  # noqa: E402

USER = "daemon"
SCRIPT = """
import sys
import gangway
cluster = gangway.Client(sys.argv[1], token_file=sys.argv[2])
job = cluster.submit("#!/bin/bash\\nsrun -N2 -n2 sh -c 'echo $SLURM_PROCID of $SLURM_JOB_NUM_NODES'\\n",
                     "-N2", "--gpus-per-node=8", "--time=5", "-o", sys.argv[3] + "/out.%j", chdir=sys.argv[3])
for told in job.wait(every=0.1):
    print(told.state, told.reason)
print(*sorted(job.read_output().splitlines()), sep="\\n")
"""


@pytest.fixture
def site(make_cluster):
    return make_cluster(nodes=2, config=QUICK + WEB)


@needs_root
def test_a_script_of_fifteen_lines(site, tmp_path):
    others_can_run(site, USER)
    assert len(SCRIPT.strip().splitlines()) <= 15
    folder = Path("/tmp") / f"client.{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o777)
    try:
        secret = tmp_path / "token"
        secret.write_text(make_token(site, USER) + "\n")
        blocker = site.submit("sleep 2", "-N2", "--gpus-per-node=8", "-t", "5")
        site.wait_state(blocker, "RUNNING")
        done = subprocess.run([sys.executable, "-c", SCRIPT, f"http://{address(site)}", secret, folder], capture_output=True, text=True,
                              env={"PYTHONPATH": str(PYTHON), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}, timeout=300)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert lines[0].startswith("PENDING ") and len(lines[0]) > len("PENDING "), lines
        assert lines[-3].startswith("COMPLETED") and lines[-2:] == ["0 of 2", "1 of 2"], lines
    finally:
        subprocess.run(["rm", "-r", folder], check=True)


@needs_root
def test_jobs_are_read_and_changed(site, tmp_path):
    others_can_run(site, USER)
    cluster = gangway.Client(f"http://{address(site)}", token=make_token(site, USER))
    job = cluster.submit("#!/bin/sh\nsleep 600\n", "--hold", "-t", "5", chdir="/tmp")
    assert job.status().state == "PENDING" and not job.status().has_ended
    assert [one["job_id"] for one in cluster.jobs(user=USER)] == [job.number]
    assert f"Job {job.number}" in job.why()
    job.release()
    wait_for(lambda: job.status().state == "RUNNING", "its start")
    job.requeue()
    wait_for(lambda: job.status().state == "RUNNING" and job.status().details["restart_count"] == 1, "its second run")
    job.cancel()
    wait_for(lambda: job.status().has_ended, "its end")
    with pytest.raises(gangway.ApiError) as refused:
        job.cancel()
    assert (refused.value.status, refused.value.code) == (409, "conflict")
    with pytest.raises(gangway.ApiError, match="Invalid job id"):
        cluster.job(999999).status()
    with pytest.raises(gangway.ApiError, match="no parameter"):
        cluster.get("jobs", nosuch=1)


def test_it_waits_for_a_server_that_is_away(site):
    cluster = gangway.Client(f"http://{address(site)}")
    assert cluster.get("ping")["pings"][0]["nodes"] == 2
    site.kill("gctld")
    impatient = gangway.Client(f"http://{address(site)}", patience=0)
    wait_for(lambda: fails(impatient), "the end of the last answer")
    site.start("gctld")
    assert cluster.get("ping")["pings"][0]["nodes"] == 2
    with pytest.raises(gangway.ApiError) as error:
        gangway.Client("http://127.0.0.1:1", patience=0).get("ping")
    assert error.value.status == 0


def fails(cluster):
    try:
        cluster.get("ping")
        return False
    except gangway.ApiError as error:
        return error.status == 503


def test_bad_addresses_are_told():
    for address_ in ("127.0.0.1:6923", "ftp://x", "http://", "http://x/api"):
        with pytest.raises(ValueError):
            gangway.Client(address_)
    with pytest.raises(ValueError):
        gangway.Client("http://x", token="a", token_file="b")
