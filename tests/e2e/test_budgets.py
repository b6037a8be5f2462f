"""Budgets of GPU-hours with real daemons: set, told, spent, over a restart of the controller, and taken away."""

import json

import pytest
from cluster import wait_for
from quotas import ALICE, acct, dump, load, refused, restart


@pytest.fixture
def cluster(quota_cluster):
    return quota_cluster


def budgets(cluster):
    listed = json.loads(acct(cluster, "show", "qos", "--json").stdout)["budgets"]
    return {(one["owner"], one["name"]): one for one in listed}


def submit(cluster, *options, check=True):
    return cluster.run("gbatch", "--parsable", "-o", "/dev/null", *options, "--wrap", "sleep 600", user=ALICE, check=check)


def shown(cluster, job):
    return cluster.run("gcontrol", "show", "job", job).stdout


def test_a_budget_is_used_told_and_spent(cluster):
    acct(cluster, "add", "qos", "ml", "budget=1000gpuh/month")
    acct(cluster, "add", "qos", "other")
    runs = submit(cluster, "-q", "ml", "--gres=gpu:8").stdout.strip()
    wait_for(lambda: "JobState=RUNNING" in shown(cluster, runs), "it runs")
    wait_for(lambda: budgets(cluster)["QOS", "ml"]["used_gpu_seconds"] > 8, "a second's use")
    assert budgets(cluster)["QOS", "ml"]["gpus_now"] == 8
    blocked = submit(cluster, "-q", "ml", "--gres=gpu:8", "--begin=now+1hour").stdout.strip()

    # A smaller budget is spent at once; what runs runs on.
    said = acct(cluster, "modify", "qos", "ml", "set", "budget=8gpus/month").stdout
    assert said == "QOS ml: budget 1000gpuh/month -> 8gpus/month\n"
    cluster.run("gcontrol", "update", f"JobId={blocked}", "StartTime=now", user=ALICE)
    assert "JobState=RUNNING" in shown(cluster, runs)
    assert "Reason=QOSGrpGRESMinutes" in shown(cluster, blocked)
    assert cluster.run("gqueue", "-h", "-j", blocked, "-o", "%r").stdout.strip() == "QOSGrpGRESMinutes"
    no = cluster.run("sbatch", "-q", "ml", "--gres=gpu:1", "--wrap", "true", user=ALICE, check=False)
    assert no.returncode == 1, no
    assert "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)" in no.stderr
    assert "the budget of QOS ml is spent: " in no.stderr and "gacctmgr show budgets" in no.stderr
    submit(cluster, "-q", "ml")
    submit(cluster, "-q", "other", "--gres=gpu:1")
    table = acct(cluster, "show", "budgets", "ml", "-P").stdout.splitlines()
    assert table[0] == "Owner|Name|Budget|Used|Left|Used%|GPUs|SpentAt|Next"
    assert table[1].split("|")[:3] == ["QOS", "ml", "8gpus/month"] and table[1].split("|")[7] == "spent"

    # What was used outlives the controller, and so does what that means.
    used = budgets(cluster)["QOS", "ml"]["used_gpu_seconds"]
    restart(cluster)
    assert budgets(cluster)["QOS", "ml"]["used_gpu_seconds"] >= used
    assert "Reason=QOSGrpGRESMinutes" in shown(cluster, blocked)

    acct(cluster, "modify", "qos", "ml", "set", "budget=none")
    wait_for(lambda: "JobState=RUNNING" in shown(cluster, blocked), "it starts")
    assert budgets(cluster) == {}


def test_a_user_has_one_budget_for_all_qos(cluster):
    acct(cluster, "add", "qos", "a,b")
    acct(cluster, "modify", "user", ALICE, "set", "budget=1gpus/week")
    assert acct(cluster, "-nP", "show", "user", ALICE, "format=User,DefaultQOS,Budget").stdout == f"{ALICE}||1gpus/week\n"
    job = submit(cluster, "-q", "a", "--gres=gpu:8").stdout.strip()
    wait_for(lambda: budgets(cluster)["user", ALICE]["used_gpu_seconds"] > 1, "it is used")
    acct(cluster, "modify", "user", ALICE, "set", "budget=1gpus/week")  # each change looks at what is used
    no = submit(cluster, "-q", "b", "--gres=gpu:1", check=False)
    assert f"the budget of user {ALICE} is spent: 1 GPU-second a week" in no.stderr
    cluster.run("gcancel", job, user=ALICE)


def test_with_borrow_jobs_start_with_a_warning(cluster):
    acct(cluster, "add", "qos", "ml", "guaranteed=gpu:8", "budget=1gpus/day:borrow")
    job = submit(cluster, "-q", "ml", "--gres=gpu:8").stdout.strip()
    wait_for(lambda: budgets(cluster)["QOS", "ml"]["used_gpu_seconds"] > 1, "it is used")
    assert "Quota=covered" in shown(cluster, job)
    acct(cluster, "modify", "qos", "ml", "set", "weight=2")
    wait_for(lambda: "Quota=borrowed at ml" in shown(cluster, job), "it only borrows now")
    more = submit(cluster, "-q", "ml", "--gres=gpu:1")
    assert "the budget of QOS ml is spent" in more.stderr and "the job only borrows GPUs" in more.stderr
    assert more.stdout.strip().isdigit()


def test_files_of_quotas_hold_budgets(cluster):
    tree = ("qos:\n  - name: ml\n    budget: 5000gpuh/month:borrow\n"
            f"users:\n  - name: {ALICE}\n    budget: 12.5gpuh/day\n")
    load(cluster, tree)
    text = dump(cluster)
    assert "budget: \"5000gpuh/month:borrow\"" in text or "budget: 5000gpuh/month:borrow" in text
    assert "12.5gpuh/day" in text
    load(cluster, text)
    assert dump(cluster) == text


def test_slurms_word_and_wrong_ones(cluster):
    acct(cluster, "add", "qos", "ml")
    done = cluster.run("sacctmgr", "-iv", "modify", "qos", "ml", "set", "GrpTRESMins=gres/gpu=300000")
    assert "budget none -> 5000gpuh/total" in done.stderr
    assert cluster.run("sacctmgr", "-nP", "show", "qos", "ml", "format=GrpTRESMins").stdout == "gres/gpu=300000\n"
    cluster.run("sacctmgr", "-i", "modify", "qos", "ml", "set", "GrpTRESMins=gres/gpu=-1")
    assert budgets(cluster) == {}
    assert "is no budget of GPU-hours" in refused(cluster, "modify", "qos", "ml", "set", "budget=5000")
    assert "did you mean \"month\"?" in refused(cluster, "modify", "qos", "ml", "set", "budget=5000gpuh/moth")
    assert "only minutes of gres/gpu are counted" in refused(cluster, "modify", "qos", "ml", "set", "GrpTRESMins=cpu=10")
    assert "only the budget of a QOS can say :borrow" in refused(cluster, "modify", "user", ALICE, "set", "budget=1gpuh/day:borrow")
    assert "no budget of" in refused(cluster, "show", "budgets", "nobody")
    assert "changed at its QOS or user" in refused(cluster, "modify", "budget", "ml", "set", "budget=none")
