"""Figures of the controller as sdiag prints them, past use as sshare does: the lines that exporters read."""

import re

from cluster import wait_for
from quotas import ALICE

LABELS = ["Server thread count:", "Agent queue size:", "DBD Agent queue size:", "Jobs submitted:", "Jobs started:", "Jobs completed:",
          "Jobs canceled:", "Jobs failed:", "Jobs pending:", "Jobs running:", "Main schedule statistics (microseconds):", "Last cycle:",
          "Max cycle:", "Mean cycle:", "Cycles per minute:", "Last queue length:", "Backfilling stats",
          "Total backfilled jobs (since last slurm start):", "Total backfilled jobs (since last stats cycle start):",
          "Total backfilled heterogeneous job components:", "Depth Mean:", "Remote Procedure Call statistics by message type",
          "Remote Procedure Call statistics by user", "Pending RPC statistics"]


def number(text, label):
    return int(re.search(rf"(?m)^\s*{re.escape(label)}:\s+(\d+)$", text).group(1))


def test_sdiag_has_slurms_lines_and_counts_what_happens(quota_cluster):
    cluster = quota_cluster
    cluster.run("sdiag", "--reset")
    good = cluster.submit("true", "-t", "5")
    bad = cluster.submit("exit 3", "-t", "5")
    gone = cluster.submit("sleep 600", "-t", "5")
    cluster.submit("true", "-t", "5", "--array=0-2", "--hold")
    for job in (good, bad):
        assert cluster.wait_ended(job)
    cluster.run("gcancel", gone)
    assert cluster.wait_ended(gone)
    text = cluster.run("sdiag").stdout
    for label in LABELS:
        assert label in text, label
    counts = [number(text, f"Jobs {what}") for what in ("submitted", "started", "completed", "canceled", "failed")]
    assert counts == [6, 3, 1, 1, 1]
    assert number(text, "Total cycles") > 0 and number(text, "Last cycle") > 0
    assert number(text, "Max cycle") >= number(text, "Last cycle")
    assert re.search(r"(?m)^\tREQUEST_SUBMIT_BATCH_JOB +\( +10\) count:4 +ave_time:\d+ +total_time:\d+$", text), text
    assert re.search(r"(?m)^\troot +\( +0\) count:\d+ +ave_time:\d+ +total_time:\d+$", text), text
    own = cluster.json("gdiag", "--json")["statistics"]
    assert own["jobs_submitted"] == 6 and own["rpcs_by_message_type"][0]["count"] >= own["rpcs_by_message_type"][-1]["count"]


def test_only_administrators_reset(quota_cluster):
    done = quota_cluster.run("sdiag", "-r", user=ALICE, check=False)
    assert done.returncode == 1 and "only administrators may begin the figures anew" in done.stderr
    assert "Jobs submitted" in quota_cluster.run("sdiag", "-i", user=ALICE).stdout
    assert quota_cluster.run("sdiag", "stray", check=False).returncode == 1


def test_a_job_that_starts_before_a_larger_one_was_backfilled(quota_cluster):
    cluster = quota_cluster
    cluster.run("gdiag", "--reset")
    first = cluster.submit("sleep 600", "-t", "60", "-N1", "--exclusive")
    cluster.wait_state(first, "RUNNING")
    cluster.submit("sleep 600", "-t", "60", "-N16", "--exclusive")
    small = cluster.submit("sleep 600", "-t", "5", "-n1")
    cluster.wait_state(small, "RUNNING")
    assert cluster.json("gdiag", "--json")["statistics"]["bf_last_backfilled_jobs"] == 1


def test_sshare_has_slurms_columns(quota_cluster):
    cluster = quota_cluster
    cluster.run("gacctmgr", "add", "qos", "dept", "weight=3")
    cluster.run("gacctmgr", "add", "qos", "ml", "parent=dept", f"users={ALICE}")
    cluster.run("gacctmgr", "add", "qos", "other", "budget=10gpuh/total")
    job = cluster.submit("sleep 600", "-q", "ml", "--gres=gpu:8", "-t", "5", user=ALICE)
    cluster.wait_state(job, "RUNNING")

    def rows(*words):
        lines = cluster.run("sshare", "-n", "-P", *words).stdout.splitlines()
        return {line.split("|")[0].strip() + "/" + line.split("|")[1]: line.split("|") for line in lines}

    assert cluster.run("sshare", "-P").stdout.splitlines()[0] == "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare"
    wait_for(lambda: int(rows("-a")["ml/"][4]) > 0, "some use")
    table = rows("-a")
    assert table["dept/"][2:4] == ["3", "0.600000"] and table["ml/"][3] == "0.600000" and table["other/"][3] == "0.200000"
    assert table["dept/"][4] == table["ml/"][4] and float(table["other/"][6]) == 1
    assert float(table["ml/"][6]) < 1 and f"ml/{ALICE}" in table
    assert "ml/" in rows() and f"ml/{ALICE}" not in rows()
    assert all(key.split("/")[1] for key in rows("-a", "-U"))
    pairs = dict(line.split("|") for line in cluster.run("sshare", "-n", "-P", "-o", "account,fairshare").stdout.splitlines())
    assert {"root", " dept", "  ml", " other"} <= set(pairs)
    long = cluster.run("sshare", "-l", "-P", "-A", "other").stdout.splitlines()
    assert long[0].split("|")[-4:] == ["FairShare", "LevelFS", "GrpTRESMins", "TRESRunMins"]
    assert long[1].split("|")[-2] == "gres/gpu=600"
    wrong = cluster.run("sshare", "-o", "acount", check=False)
    assert wrong.returncode == 1 and "did you mean" in wrong.stderr
    assert "FairShare" in cluster.run("sshare", "-e").stdout
