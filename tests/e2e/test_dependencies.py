"""Jobs that wait for other jobs, with real daemons: chains, what can never come, changes, and a controller that starts again."""

import pytest


@pytest.fixture(scope="module")
def cluster(shared_cluster):
    return shared_cluster


def test_a_chain_runs_in_its_order(cluster):
    first = cluster.submit("sleep 0.3; echo first >> order")
    second = cluster.submit("echo second >> order", "-d", f"afterok:{first}")
    third = cluster.submit("echo third $SLURM_JOB_DEPENDENCY >> order", f"--dependency=afterany:{first}:{second}")
    assert cluster.show(third, "%T|%r") in ("PENDING|Dependency", "RUNNING|None", "COMPLETED|None")
    assert cluster.wait_ended(third) == "COMPLETED"
    text = (cluster.work / "order").read_text()
    assert text == f"first\nsecond\nthird afterany:{first}:{second}\n"
    assert cluster.show(third, "%E") == "(null)"


def test_what_is_left_is_shown(cluster):
    held = cluster.submit("true", "-H")
    waits = cluster.submit("true", "-d", f"afterok:{held},after:{held}+5")
    left = f"afterok:{held}(unfulfilled),after:{held}+5(unfulfilled)"
    assert cluster.show(waits, "%E|%R") == f"{left}|(Dependency)"
    assert cluster.detail(waits)["Dependency"] == left
    assert f"waits for {left}" in cluster.reason_text(waits)
    cluster.run("gcontrol", "update", f"JobId={waits}", f"Dependency=afterok:{held}")
    assert cluster.show(waits, "%E") == f"afterok:{held}(unfulfilled)"
    circle = cluster.run("gcontrol", "update", f"JobId={held}", f"Dependency=afterok:{waits}", check=False)
    assert circle.returncode == 1 and "Circular job dependency" in circle.stderr
    cluster.run("gcontrol", "release", held)
    assert cluster.wait_ended(waits) == "COMPLETED"


def test_what_can_never_come_is_said(cluster):
    bad = cluster.submit("exit 3")
    stays = cluster.submit("true", "-d", f"afterok:{bad}")
    ends = cluster.submit("true", "-d", f"afterok:{bad}", "--kill-on-invalid-dep=yes")
    other = cluster.submit("true", "-d", f"afterok:{bad}?afternotok:{bad}")
    assert cluster.wait_ended(bad) == "FAILED"
    assert cluster.wait_ended(other) == "COMPLETED"
    assert cluster.wait_ended(ends) == "CANCELLED"
    assert "its dependency can never be met" in cluster.reason_text(ends)
    assert cluster.show(stays, "%T|%r|%E") == f"PENDING|DependencyNeverSatisfied|afterok:{bad}(failed)"
    cluster.run("gcontrol", "update", f"JobId={stays}", "Dependency=")
    assert cluster.wait_ended(stays) == "COMPLETED"


def test_a_controller_that_starts_again_knows_who_waits(cluster):
    first = cluster.submit("sleep 2")
    second = cluster.submit("true", "-d", f"afterok:{first}")
    cluster.wait_state(first, "RUNNING")
    cluster.kill("gctld")
    cluster.start("gctld")
    assert cluster.show(second, "%r") in ("Dependency", "None")
    assert cluster.wait_ended(second) == "COMPLETED"


def test_singletons_and_interactive_jobs(cluster):
    jobs = [cluster.submit("sleep 0.2; echo $SLURM_JOB_ID >> singles", "-J", "one", "-d", "singleton") for _ in range(3)]
    done = cluster.run("srun", "-d", f"afterany:{jobs[-1]}", "sh", "-c", "cat singles", cwd=cluster.work)
    assert done.stdout.split() == [str(job) for job in jobs], done


@pytest.mark.parametrize("text, why", [
    ("afterok:99999999", "Job dependency problem: there is no job 99999999 of yours"),
    ("aftr:1", "there is no such dependency"),
    ("afterok:1,afterok:2?afterok:3", "commas and question marks do not go together"),
    ("afterok:99999999_2", "there is no job 99999999_2 of yours"),
])
def test_bad_dependencies_are_refused(cluster, text, why):
    done = cluster.run("sbatch", "-d", text, "--wrap", "true", check=False)
    assert done.returncode in (1, 255) and done.stdout == "" and why in done.stderr, done.stderr
