"""The commands that show and change the tree of quotas, with real daemons: transactions, files, a controller that dies,
who lends to whom.
"""

import json
import pathlib
import re
import sys
import threading

import pytest
from cluster import ENDED, wait_for
from quotas import ALICE, acct, dump, load, refused, restart, running, shares, sides, submit, tree

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scenario"))
import pages  # noqa: E402

PAIR = """
qos:
  - {name: quota1, guaranteed: {gpu: 128}}
  - {name: quota1.1, parent: quota1, guaranteed: {gpu: 48}}
  - {name: quota1.2, parent: quota1, guaranteed: {gpu: 80}}
"""
TO_56_72 = ["modify", "qos", "quota1.1", "set", "guaranteed=gpu:56", "--", "qos", "quota1.2", "set", "guaranteed=gpu:72"]


@pytest.fixture
def cluster(quota_cluster):
    return quota_cluster


def guaranteed(cluster, name):
    return tree(cluster)[name]["guaranteed"].get("gpu")


# ---- Changes


def test_qos_are_added_shown_changed_and_deleted(cluster):
    done = acct(cluster, "add", "qos", "dept", "guaranteed=gpu:64,cpu:1000", "limit=gpu:96", "weight=2", "description=all of it")
    assert done.stdout.startswith("QOS dept added below cluster: ")
    acct(cluster, "add", "qos", "a,b", "parent=dept", "guaranteed=gpu:16")
    shown = acct(cluster, "show", "tree").stdout
    assert re.findall(r"(?m)^( *)(\S+) +gpu:16", shown) == [("  ", "a"), ("  ", "b")], shown
    acct(cluster, "modify", "qos", "a", "set", "guaranteed=gpu:2.5", "grace=1m", "preempt_children=true")
    a = tree(cluster)["a"]
    assert (a["guaranteed"], a["grace"], a["preempt_children"], a["parent"]) == ({"gpu": 2.5}, 60, True, "dept")
    # An amount changes the resources that it names.
    acct(cluster, "modify", "qos", "dept", "set", "guaranteed=gpu:80")
    assert tree(cluster)["dept"]["guaranteed"] == {"gpu": 80, "cpu": 1000}
    acct(cluster, "modify", "qos", "dept", "set", "guaranteed=cpu:none", "limit=")
    dept = tree(cluster)["dept"]
    assert (dept["guaranteed"], dept["limit"], dept["weight"]) == ({"gpu": 80}, {}, 2)
    assert acct(cluster, "-nP", "show", "qos", "format=Name,Parent,Guaranteed").stdout.splitlines() == [
        "dept|cluster|gpu:80", "a|dept|gpu:2.5", "b|dept|gpu:16"]
    assert "has 2 below it: a, b" in refused(cluster, "delete", "qos", "dept")
    acct(cluster, "delete", "qos", "a,b,dept")
    assert tree(cluster) == {}


@pytest.mark.parametrize("words, error", [
    (["add", "qos", "quota1.1"], "QOS quota1.1 exists already"),
    (["add", "qos", "new", "--", "qos", "new"], "QOS new exists already"),
    (["add", "qos", "a/b"], '"a/b" is not a name'),
    (["add", "qos", "x", "parent=nosuch"], "no QOS nosuch to be its parent"),
    (["add", "qos", "quota1.3", "parent=quota1", "guaranteed=gpu:1"],
     "the guarantees below QOS quota1 add up to 129 gpu, but it has 128: quota1.1 48, quota1.2 80, quota1.3 1"),
    (["modify", "qos", "quota1", "set", "guaranteed=gpu:100"],
     "the guarantees below QOS quota1 add up to 128 gpu, but it has 100: quota1.1 48, quota1.2 80"),
    (["modify", "qos", "quota1", "set", "guaranteed=gpu:200"],
     "the guarantees below cluster add up to 200 gpu, but it has 128: quota1 200"),
    (["add", "qos", "x", "guaranteed=cpu:9999"], "add up to 9999 cpu, but it has 3584: x 9999"),
    (["modify", "qos", "quota1", "set", "parent=quota1.1"], "is below itself"),
    (["modify", "qos", "quota1", "set", "parent=quota1"], "QOS quota1 is below itself"),
    (["modify", "qos", "quota1.1", "set", "guaranteed=gpu:-1"], "-1 of gpu is negative"),
    (["modify", "qos", "quota1.1", "set", "limit=gpu:-8"], "-8 of gpu is negative"),
    (["modify", "qos", "quota1.1", "set", "weight=-1"], "weight: -1 is out of range"),
    (["modify", "qos", "quota1.1", "set", "max_jobs=-2"], "max_jobs: -2 is out of range"),
    (["modify", "qos", "quota1.1", "set", "guaranteed=gpx:1"], 'did you mean "gpu"'),
    (["modify", "qos", "quota1.1", "set", "garanteed=gpu:1"], 'did you mean "guaranteed"'),
    (["modify", "qos", "quota1.1", "set", "grace=30"], "grace: 30 has no unit"),
    (["modify", "qos", "quota1.1", "set", "users=nosuchuser"], "this host has no user nosuchuser"),
    (["modify", "qos", "quota1.1", "set", "operators+=@nosuchgroup"], "this host has no group nosuchgroup"),
    (["modify", "qos", "cluster", "set", "guaranteed=gpu:1"], "the root of the tree (cluster) has users and operators only"),
    (["modify", "qos", "quota1.3", "set", "weight=1"], "quota1.3"),
    (["delete", "qos", "quota1"], "QOS quota1 has 2 below it: quota1.1, quota1.2"),
    (["delete", "qos", "cluster"], "the root of the tree cannot be deleted"),
    (["add", "user", "nosuchuser", "account=quota1"], "this host has no user nosuchuser"),
    (["modify", "user", "daemon", "set", "default_qos=nosuch"], "nosuch"),
    (["modify", "qos", "cluster", "set", "operators=bin", "--", "user", "daemon", "set", "default_qos=cluster"],
     "the root of the tree (cluster) is nobody's default QOS"),
])
def test_a_bad_change_is_refused_and_changes_nothing(cluster, words, error):
    load(cluster, PAIR)
    assert error in refused(cluster, *words)


def test_two_changes_are_one_transaction(cluster):
    load(cluster, PAIR)
    assert ("the guarantees below QOS quota1 add up to 136 gpu, but it has 128: quota1.1 56, quota1.2 80"
            in refused(cluster, *TO_56_72[:5]))
    # The second half is no better where it stands behind a good one.
    assert "exists already" in refused(cluster, "modify", "qos", "quota1.2", "set", "guaranteed=gpu:72", "--",
                                       "add", "qos", "quota1.1")
    done = acct(cluster, *TO_56_72)
    assert done.stdout == "QOS quota1.1: guaranteed gpu:48 -> gpu:56\nQOS quota1.2: guaranteed gpu:80 -> gpu:72\n"
    assert (guaranteed(cluster, "quota1.1"), guaranteed(cluster, "quota1.2")) == (56, 72)
    # Who must may break the rule of sums.
    acct(cluster, "modify", "qos", "quota1.2", "set", "guaranteed=gpu:80", "--force")
    assert guaranteed(cluster, "quota1.2") == 80


def test_a_dry_run_says_who_would_be_above_its_quota_and_changes_nothing(cluster):
    load(cluster, PAIR)
    jobs = running(cluster, "quota1.2", 8, count=2) + [submit(cluster, "quota1.2", 64, "-N8")]
    firm = submit(cluster, "quota1.1", 8, "-N1", "--no-requeue")
    for job in [*jobs, firm]:
        cluster.wait_state(job, "RUNNING")
    before = dump(cluster)
    done = acct(cluster, *TO_56_72, "--dry-run")
    assert done.stdout.splitlines() == [
        "QOS quota1.1: guaranteed gpu:48 -> gpu:56", "QOS quota1.2: guaranteed gpu:80 -> gpu:72",
        "QOS quota1.2 holds 80 gpu, guaranteed 72: 8 borrowed",
        f"can be taken back now: jobs {', '.join(map(str, jobs))}",
        "(--dry-run: nothing was changed)"]
    limits = acct(cluster, "modify", "qos", "quota1.2", "set", "limit=gpu:40", "--dry-run", "--json").stdout
    told = json.loads(limits)
    assert told["dry_run"] and "QOS quota1.2 holds 80 gpu, its limit is 40: no more of it starts" in told["effects"]
    assert dump(cluster) == before
    assert {cluster.state(job) for job in jobs} == {"RUNNING"}


def test_the_whole_tree_goes_to_a_file_and_back(cluster):
    load(cluster, PAIR)
    acct(cluster, "modify", "qos", "quota1.1", "set", "limit=gpu:64,mem:512G", "weight=3", "priority=-2", "grace=90s",
         "min_runtime=10m", "max_wall=2-12", "max_jobs=7", "max_submit=70", "max_jobs_per_user=5",
         "max_submit_per_user=50", "limit_per_user=gpu:0.5", "users=daemon,@games", "operators=bin",
         'description=says "a: b" # no comment')
    acct(cluster, "modify", "qos", "cluster", "set", "operators=bin")
    acct(cluster, "add", "user", "daemon", "account=quota1.2", "default_qos=quota1.2")
    file = cluster.work / "quotas.yaml"
    acct(cluster, "dump", file)
    text = file.read_text()
    assert "File exists" in refused(cluster, "dump", file)
    assert acct(cluster, "load", file).stdout == "nothing changed\n"
    load(cluster, "qos: []")
    assert tree(cluster) == {}
    acct(cluster, "load", file)
    assert dump(cluster) == text
    # What another file does not have goes.
    other = "qos:\n- {name: other, guaranteed: {gpu: 4}}\n- {name: quota1, guaranteed: {gpu: 16}}\n"
    lines = load(cluster, other, "--dry-run").stdout.splitlines()
    assert {"QOS quota1.1 deleted", "QOS quota1.2 deleted", "QOS other added below cluster: guaranteed none -> gpu:4",
            "QOS quota1: guaranteed gpu:128 -> gpu:16"} <= set(lines) and lines[-1].startswith("(--dry-run")
    assert dump(cluster) == text
    load(cluster, other)
    assert sorted(tree(cluster)) == ["other", "quota1"]
    assert acct(cluster, "show", "user", "-nP").stdout == ""
    job = submit(cluster, "other", 1)
    done = load(cluster, PAIR, check=False)
    assert done.returncode == 1 and "QOS other has 1 job" in done.stderr
    wrong = load(cluster, "qos:\n- {name: x, garanteed: {gpu: 1}}\n", check=False)
    assert wrong.returncode == 1 and "stdin:2:" in wrong.stderr and 'did you mean "guaranteed"' in wrong.stderr
    assert sorted(tree(cluster)) == ["other", "quota1"] and cluster.state(job) not in ENDED
    file.unlink()


def test_jobs_of_a_deleted_qos_are_charged_to_the_other_and_the_store_stays_sound(cluster):
    load(cluster, "qos: [{name: old}, {name: new, guaranteed: {gpu: 8}}]")
    jobs = [cluster.submit("sleep 600", "-q", "old", "-t", "60"), *running(cluster, "old", 8)]  # one has CPUs only
    for job in jobs:
        cluster.wait_state(job, "RUNNING")
    told = acct(cluster, "delete", "qos", "old", "--move-to=new", "--dry-run").stdout
    assert "borrowed" not in told, told
    more = running(cluster, "old", 4)
    told = acct(cluster, "delete", "qos", "old", "--move-to=new", "--dry-run").stdout
    assert "QOS new holds 12 gpu, guaranteed 8: 4 borrowed" in told and "old" in tree(cluster)
    acct(cluster, "delete", "qos", "old", "--move-to=new")
    cluster.run("gcancel", *jobs, *more)
    for job in [*jobs, *more]:
        cluster.wait_state(job, "CANCELLED")
    restart(cluster)
    assert sorted(tree(cluster)) == ["new"]


def test_who_opens_a_qos_to_everybody_is_told(cluster):
    load(cluster, "qos: [{name: a, users: [daemon]}, {name: b, parent: a}, {name: c, users: [daemon]}]")
    now_open = "is open to everybody now: no users are named there or above"
    assert f"QOS a {now_open}" in acct(cluster, "modify", "qos", "a", "set", "users-=daemon").stdout
    assert "QOS a was open to everybody" in acct(cluster, "modify", "qos", "a", "set", "users=daemon").stdout
    assert now_open not in acct(cluster, "modify", "qos", "a", "set", "users+=games", "users-=daemon").stdout
    told = acct(cluster, "delete", "user", "daemon").stdout
    assert f"QOS c {now_open}" in told and f"QOS a {now_open}" not in told


def test_a_deleted_qos_leaves_its_jobs_to_another(cluster):
    load(cluster, PAIR + "  - {name: old, limit: {gpu: 8}}\n")
    runs = running(cluster, "old", 8)[0]
    waits = submit(cluster, "old", 8)
    wait_for(lambda: cluster.show(waits, "%r") == "QOSJobLimit", "the limit")
    assert "QOS old has 2 jobs (move them: gacctmgr delete qos old --move-to=QOS)" in refused(cluster, "delete", "qos", "old")
    assert "cannot move to itself" in refused(cluster, "delete", "qos", "old", "--move-to=old")
    assert "it is deleted too" in refused(cluster, "delete", "qos", "old", "--move-to=quota1.2", "--", "qos", "quota1.2")
    assert acct(cluster, "delete", "qos", "old", "--move-to=quota1.2").stdout == "QOS old deleted\n"
    assert "old" not in tree(cluster)
    cluster.wait_state(waits, "RUNNING")  # the limit is gone
    assert [cluster.show(job, "%q %a %T") for job in (runs, waits)] == ["quota1.2 quota1.2 RUNNING"] * 2
    wait_for(lambda: sides(cluster)["quota1.2"]["resources"]["gpu"]["in_use"] == 16, "both are counted there")
    assert "moved from QOS old to quota1.2 by root" in cluster.run("gcontrol", "show", "job", runs, "--history").stdout


# ---- A controller that dies


class Writer(threading.Thread):
    """Moves 8 GPUs to and fro, one numbered transaction after the other, until one gets no answer."""

    def __init__(self, cluster, number):
        super().__init__()
        self.cluster, self.acknowledged, self.tried = cluster, number, number
        self.stderr = ""

    def run(self):
        while not self.stderr:
            self.tried += 1
            first, second = (56, 72) if self.tried % 2 else (48, 80)
            note = f"description={self.tried}"
            done = acct(self.cluster, "modify", "qos", "quota1.1", "set", f"guaranteed=gpu:{first}", note, "--",
                        "qos", "quota1.2", "set", f"guaranteed=gpu:{second}", note,
                        check=False, env={"GANGWAY_TIMEOUT": "1"})
            if done.returncode == 0:
                self.acknowledged = self.tried
            else:
                self.stderr = done.stderr or "no word"


def check_pair(cluster):
    """The number of the last transaction, after a look at whether it is there as a whole."""
    told = tree(cluster)
    pair = [told[name] for name in ("quota1.1", "quota1.2")]
    amounts = [q["guaranteed"]["gpu"] for q in pair]
    assert amounts in ([56, 72], [48, 80]) and pair[0]["description"] == pair[1]["description"], pair
    number = int(pair[0]["description"] or 0)
    assert number == 0 or amounts[0] == (56 if number % 2 else 48), pair
    return number


def test_a_killed_controller_has_no_half_of_a_transaction(cluster):
    load(cluster, PAIR)
    number = 0
    for _ in range(4):
        writer = Writer(cluster, number)
        writer.start()
        wait_for(lambda w=writer, n=number: w.acknowledged >= n + 5, "some transactions")
        assert check_pair(cluster) > number
        cluster.kill("gctld")
        writer.join(30)
        assert writer.stderr and not writer.is_alive(), writer.tried
        cluster.start("gctld")
        wait_for(cluster.ping, "the controller")
        number = check_pair(cluster)
        assert writer.acknowledged <= number <= writer.tried, (writer.acknowledged, number, writer.tried, writer.stderr)
    wait_for(lambda: len(cluster.node_states()) == 16 and set(cluster.node_states().values()) == {"idle"}, "all nodes are back")


# ---- Who lends to whom


LOANS = """
qos:
  - {name: dept, guaranteed: {gpu: 96}}
  - {name: a, parent: dept, guaranteed: {gpu: 16}}
  - {name: b, parent: dept, guaranteed: {gpu: 40}}
  - {name: c, parent: dept, guaranteed: {gpu: 40}}
  - {name: out, guaranteed: {gpu: 32}}
"""


def check_books(told):
    """What is lent is borrowed, level by level."""
    lent, borrowed = {}, {}
    for loan in told["loans"]:
        assert loan["amount"] > 0
        lent[loan["from"]] = lent.get(loan["from"], 0) + loan["amount"]
        borrowed[loan["to"]] = borrowed.get(loan["to"], 0) + loan["amount"]
    for side in told["sides"]:
        gpus = side["resources"]["gpu"]
        assert gpus["lent"] == lent.get(side["name"], 0) and gpus["borrowed"] >= borrowed.get(side["name"], 0), side
        if side["parent"]:
            assert gpus["borrowed"] == max(0, gpus["in_use"] - gpus["guaranteed"]), side
        children = [s["resources"]["gpu"] for s in told["sides"] if s["parent"] == side["name"]]
        if children:
            assert sum(c["in_use"] for c in children) == gpus["in_use"], side
            beyond = gpus["in_use"] - gpus["guaranteed"]  # of all below it together
            assert sum(c["borrowed"] for c in children) == sum(c["lent"] for c in children) + max(0, beyond), side


def test_gshare_says_who_lends_to_whom(cluster):
    load(cluster, LOANS)
    running(cluster, "a", 8, count=8)
    running(cluster, "c", 8, count=6)
    running(cluster, "out", 4)
    wait_for(lambda: sides(cluster)["dept"]["running"] == 14, "all are counted")
    told = shares(cluster)
    check_books(told)
    of = {s["name"]: s["resources"]["gpu"] for s in told["sides"]}
    assert {name: (of[name]["in_use"], of[name]["borrowed"], of[name]["lent"]) for name in ("dept", "a", "b", "c", "out")} == {
        "dept": (112, 16, 0), "a": (64, 48, 0), "b": (0, 0, 40), "c": (48, 8, 0), "out": (4, 0, 16)}
    assert {(x["from"], x["to"], x["amount"]) for x in told["loans"]} == {("out", "dept", 16), ("b", "a", 40)}
    text = cluster.run("gshare").stdout
    assert "out lends 16 gpu to dept" in text and "b lends 40 gpu to a" in text
    assert re.search(r"(?m)^│ ├─a +16 +64 +64 +48 +- +8 +0$", text) and re.search(r"(?m)^└─out +32 +4 +4 +- +16 +1 +0$", text), text
    only = cluster.run("gshare", "-q", "b", "-nP").stdout.splitlines()
    assert [line.split("|")[:4] for line in only if "lends" not in line] == [["b", "dept", "gpu", "40"]]
    done = cluster.run("gshare", "-q", "aa", check=False)
    assert done.returncode == 1 and 'no QOS "aa"' in done.stderr


def explain(cluster, *words):
    """The exit code, and what is said."""
    done = cluster.run("gangway", "quota", "explain", *words, check=False)
    assert done.stderr == "" or done.returncode == 1, done.stderr
    return done.returncode, done.stdout + done.stderr


def test_the_page_of_quotas_shows_what_is_said(cluster):
    """docs/quotas.md, "How much may a team have now?": its tree, before team-a has submitted anything."""
    example = (pages.ROOT / "tests/scenario/quota_question_how_much.yaml").read_text()
    load(cluster, re.search(r"(?ms)^qos:\n.*?(?=^jobs:)", example)[0])
    running(cluster, "team-b", 8, count=16)
    wait_for(lambda: sides(cluster)["team-b"]["running"] == 16, "all are counted")
    shown = [(command, excerpt) for command, excerpt in pages.commands("docs/quotas.md")
             if command == "gshare" or command.startswith("gangway quota explain team-")]
    assert len(shown) == 3, shown
    for command, excerpt in shown:
        text = cluster.run(*command.split(), check=False).stdout
        assert pages.is_true(excerpt, text), f"the page:\n{excerpt}\nit prints:\n{text}"


def test_explain_says_yes_or_no_with_the_rule(cluster):
    load(cluster, LOANS)
    running(cluster, "a", 8, count=8)
    taken = running(cluster, "c", 8, count=6)
    code, text = explain(cluster, "b", "a")
    assert code == 0 and text.startswith("yes: b may take up to 40 of gpu from a now (rule 5)\n"), text
    assert "QOS a: holds 64 gpu, guaranteed 16" in text and "QOS b: holds 0 gpu, guaranteed 40" in text
    code, text = explain(cluster, "b", str(taken[0]))
    assert code == 0 and f"b may take up to 8 of gpu from job {taken[0]} now (rule 5)" in text
    code, text = explain(cluster, "a", "b")
    assert code == 2 and text.startswith("no: a may not take from b now (rule 5)\n") and "QOS b holds nothing" in text
    code, text = explain(cluster, "out", "a")
    assert code == 0 and "their paths part at the cluster" in text, text
    # Of what nobody is guaranteed, jobs of the department itself are due a part.
    told = by_rule(cluster, 5, "dept", "a")
    assert told["may"] and 0 < told["gpus"] < 48, told
    code, text = explain(cluster, "dept", "c")
    assert code == 2 and "preempt_children is off at QOS dept" in text and "is not above its fair share" in text, text
    code, text = explain(cluster, "a", "a")
    assert code == 2 and "(rule 7)" in text
    acct(cluster, "modify", "qos", "dept", "set", "preempt_children=true")
    told = wait_for(lambda: by_rule(cluster, 6, "dept", "a"), "the switch is on")
    assert told["may"] and told["gpus"] == 64
    assert explain(cluster, "a", "dept")[0] == 2
    load(cluster, "qos: [{name: dept}, {name: a, parent: dept}, {name: c, parent: dept}, {name: idle}]")
    # Who asks for nothing now is told what it would get.
    told = wait_for(lambda: by_rule(cluster, 5, "idle", "dept"), "the new tree")
    assert told["may"] and told["gpus"] == 48, told
    cluster.wait_state(submit(cluster, "idle", 64, "-N8"), "RUNNING")  # 16 were free
    assert explain(cluster, "idle", "dept")[0] == 2
    for words in (["a", "nosuch"], ["a", "999999"], ["a"]):
        code, text = explain(cluster, *words)
        assert code == 1 and "error" in text, words


def by_rule(cluster, rule, *words):
    told = json.loads(explain(cluster, "--json", *words)[1])
    return told if told["rule"] == rule else None


def test_a_running_job_says_whether_it_is_covered_and_who_could_take_it(cluster):
    load(cluster, "qos: [{name: a, guaranteed: {gpu: 8}}, {name: b, guaranteed: {gpu: 40}}, {name: idle}]")
    first, = running(cluster, "a", 8)
    second, = running(cluster, "a", 8)

    def quota(job):
        return cluster.json("gcontrol", "show", "job", str(job), "--json")["jobs"][0]["quota"]

    wait_for(lambda: quota(second), "the scheduler has seen it")
    assert quota(first)["label"] == "covered" and quota(first)["borrowed_at"] is None
    told = quota(second)
    assert (told["label"], told["borrowed_at"], told["preemptible_by"]) == ("borrowed", "a", ["b", "/"]), told
    text = cluster.run("gcontrol", "show", "job", str(second)).stdout
    assert "Quota=borrowed at a " in text and "PreemptibleBy=b,/" in text, text
    assert "Quota=covered " in cluster.run("gcontrol", "show", "job", str(first), user=ALICE).stdout
    listed = cluster.run("gqueue", "-h", "-O", "JobID:.8,Quota:.20,PreemptibleBy:.8").stdout.splitlines()
    # Without the first the second would be covered in its place: the one or the other may go.
    assert [line.split() for line in listed] == [[str(first), "covered", "b,/"], [str(second), "borrowed", "at", "a", "b,/"]]
    both = {j["job_id"]: j["quota"]["label"] for j in cluster.json("gqueue", "--json")["jobs"]}
    assert both == {first: "covered", second: "borrowed"}
    gpus = {s["name"]: s["resources"]["gpu"] for s in shares(cluster)["sides"]}["a"]
    assert (gpus["covered"], gpus["borrowed_jobs"]) == (8, 8), gpus
    code, said = explain(cluster, "b", "a")
    assert code == 0 and "up to 8 of gpu" in said and f"job {second}: 8 gpu, borrowed at QOS a" in said, said
    assert f"job {first}: 8 gpu, covered" in said
    pending = submit(cluster, "a", 8, "-N1", "--hold")
    assert quota(pending) is None  # what waits holds nothing
