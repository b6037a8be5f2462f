"""The worked cases of the quotas with real daemons, processes and emulated nodes: a department of 128 GPUs, and teams on
four nodes of ten.
"""

import collections
import json
import re

import pytest
from cluster import Cluster, wait_for
from conftest import QUICK
from machines import flat_machine
from quotas import emptied, load

DEPARTMENT = """
qos:
  - {{name: quota1, guaranteed: {{gpu: 128}}, preempt_children: {switch}}}
  - {{name: quota1.1, parent: quota1, guaranteed: {{gpu: 48}}}}
  - {{name: quota1.2, parent: quota1, guaranteed: {{gpu: 80}}}}
"""
TEAMS = """
qos:
  - {name: greedy, guaranteed: {gpu: 20}}
  - {name: modest, guaranteed: {gpu: 20}}
"""
MOVES = """
jobs: {kill_wait: 2s}
partitions: [{name: main, nodes: "n[0-3]", default: true, unlimited: true, consolidate: true}]
qos: [{name: any}, {name: patient, grace: 120s}]
"""


@pytest.fixture(scope="module")
def four_nodes():
    yield from nodes_of_ten(QUICK)


@pytest.fixture
def moving():
    """4 nodes of 10 GPUs, where jobs are moved so that others fit."""
    yield from nodes_of_ten(MOVES)


def nodes_of_ten(config):
    one = Cluster(nodes=4, config=config)
    one.topology = one.root / "ten.xml"
    one.topology.write_text(flat_machine(gpus=10))
    try:
        yield one.up()
    finally:
        one.down()


@pytest.fixture
def department(quota_cluster):
    """16 nodes of 8 GPUs."""
    return quota_cluster


@pytest.fixture
def teams(four_nodes):
    """4 nodes of 10 GPUs."""
    yield from emptied(four_nodes)


def submit(cluster, qos, gpus, *options, nodes=1, script="sleep 600"):
    words = ["--gpus-per-node", gpus // nodes, "-N", nodes] if nodes > 1 else ["--gpus", gpus, "-N1"]
    return cluster.submit(script, "-q", qos, *words, "-t", "60", *options)


def all_run(cluster, jobs):
    wait_for(lambda: set(jobs) <= jobs_in(cluster, "RUNNING"), f"{len(jobs)} jobs run")
    return jobs


def fill(cluster, qos, gpus, count):
    return all_run(cluster, [submit(cluster, qos, gpus) for _ in range(count)])


def jobs_in(cluster, state):
    return {int(i) for i in cluster.run("gqueue", "-h", "-t", state, "-o", "%i").stdout.split()}


def rows(cluster):
    """Job -> its row of `gqueue --json`."""
    return {row["job_id"]: row for row in cluster.json("gqueue", "--json")["jobs"]}


def preempted(cluster, jobs):
    """Those that were preempted, however they are now."""
    told = rows(cluster)
    return {job for job in jobs if told[job]["preemption_count"] > 0}


def is_at_rest(cluster):
    """Nobody is on the way out, and nobody else goes."""
    return not jobs_in(cluster, "COMPLETING")


# ---- 1: a department and its two teams


def test_a_job_of_the_department_takes_the_least_from_its_teams(department):
    load(department, DEPARTMENT.format(switch="true"))
    first, second = fill(department, "quota1.1", 8, 6), fill(department, "quota1.2", 8, 10)
    boss = submit(department, "quota1", 16, nodes=2)
    department.wait_state(boss, "RUNNING")
    wait_for(lambda: is_at_rest(department), "rest")
    taken = preempted(department, first + second)
    assert len(taken) == 2 and taken == jobs_in(department, "PENDING")
    assert jobs_in(department, "RUNNING") == {boss, *first, *second} - taken
    for job in taken:
        history = department.run("gcontrol", "show", "job", job, "--history").stdout
        assert f"preempted for job {boss} (rule 6 of the quotas)" in history
    # What that was decided by is still told when nothing stands as it stood.
    for job in (boss, *taken):
        done = department.run("gangway", "quota", "explain", job)
        assert "rule 6: preempt_children is on" in done.stdout and re.search(r"QOS quota1\.[12] held \d+ gpu", done.stdout), done.stdout
    told = json.loads(department.run("gangway", "quota", "explain", "--json", boss).stdout)
    assert told["job"] == str(boss) and all(f"job {job}" in str(told["preemptions"]) for job in taken), told
    quiet = next(iter(set(first + second) - taken))
    done = department.run("gangway", "quota", "explain", quiet, check=False)
    assert done.returncode == 2 and "has no preemption" in done.stdout
    # What it took is not taken back.
    done = department.run("gangway", "quota", "explain", "quota1.1", "quota1", check=False)
    assert done.returncode == 2 and "its own jobs are preempted for nobody below it" in done.stdout


def test_with_the_switch_off_it_waits_and_says_so(department):
    load(department, DEPARTMENT.format(switch="false"))
    jobs = fill(department, "quota1.1", 8, 6) + fill(department, "quota1.2", 8, 10)
    boss = submit(department, "quota1", 16, nodes=2)
    wait_for(lambda: "QOS quota1 has preempt_children off" in department.reason_text(boss), "the name of the switch")
    assert jobs_in(department, "RUNNING") == set(jobs) and not preempted(department, jobs)
    # The same job, as soon as the switch is on.
    department.run("gacctmgr", "modify", "qos", "quota1", "set", "preempt_children=true")
    department.wait_state(boss, "RUNNING")
    wait_for(lambda: is_at_rest(department), "rest")
    assert len(preempted(department, jobs)) == 2


def test_a_live_change_of_the_shares_kills_nobody_and_is_obeyed_from_then_on(department):
    load(department, DEPARTMENT.format(switch="false"))
    first, second = fill(department, "quota1.1", 8, 6), fill(department, "quota1.2", 8, 10)
    change = ["gacctmgr", "modify", "qos", "quota1.1", "set", "guaranteed=gpu:56", "--",
              "qos", "quota1.2", "set", "guaranteed=gpu:72"]
    told = department.run(*change).stdout
    assert "QOS quota1.2 holds 80 gpu, guaranteed 72: 8 borrowed" in told
    assert f"can be taken back now: jobs {', '.join(map(str, second))}" in told
    shares = wait_for(lambda: borrowed_in(department, "quota1.2", 8), "8 GPUs count as borrowed")
    assert shares["loans"] == [{"resource": "gpu", "from": "quota1.1", "to": "quota1.2", "amount": 8}]
    assert jobs_in(department, "RUNNING") == {*first, *second} and not preempted(department, first + second)
    due = submit(department, "quota1.1", 8)
    department.wait_state(due, "RUNNING")
    wait_for(lambda: is_at_rest(department), "rest")
    taken = preempted(department, first + second)
    assert len(taken) == 1 and taken <= set(second)
    more = submit(department, "quota1.1", 8)
    wait_for(lambda: department.show(more, "%r") not in ("None", ""), "a reason to wait")
    assert department.state(more) == "PENDING" and preempted(department, first + second + [due]) == taken
    assert borrowed_in(department, "quota1.2", 0)


def borrowed_in(cluster, name, amount):
    told = cluster.json("gshare", "--json")
    side = next(s for s in told["sides"] if s["name"] == name)
    return told if side["resources"]["gpu"]["borrowed"] == amount else None


# ---- 2: teams of twenty on four nodes of ten


def test_a_greedy_team_is_cut_back_when_the_other_asks_for_its_share(teams):
    load(teams, TEAMS)
    greedy, modest = fill(teams, "greedy", 10, 3), fill(teams, "modest", 10, 1)
    due = submit(teams, "modest", 10)
    teams.wait_state(due, "RUNNING")
    wait_for(lambda: is_at_rest(teams), "rest")
    assert len(preempted(teams, greedy)) == 1
    assert jobs_in(teams, "RUNNING") == {*greedy, *modest, due} - preempted(teams, greedy)
    more = submit(teams, "modest", 10)
    wait_for(lambda: teams.show(more, "%r") not in ("None", ""), "a reason to wait")
    assert teams.state(more) == "PENDING" and len(preempted(teams, greedy)) == 1


def test_an_idle_share_is_lent_and_comes_back(teams):
    load(teams, TEAMS)
    greedy = fill(teams, "greedy", 10, 4)
    assert wait_for(lambda: borrowed_in(teams, "greedy", 20), "the loan")["loans"] == [
        {"resource": "gpu", "from": "modest", "to": "greedy", "amount": 20}]
    due = all_run(teams, [submit(teams, "modest", 10) for _ in range(2)])
    wait_for(lambda: is_at_rest(teams), "rest")
    taken = preempted(teams, greedy)
    assert len(taken) == 2 and jobs_in(teams, "PENDING") == taken
    teams.run("gcancel", *due)
    all_run(teams, sorted(taken))  # what is idle again is lent again
    assert wait_for(lambda: borrowed_in(teams, "greedy", 20), "the loan")["loans"]


def test_small_jobs_fill_two_nodes_and_a_large_one_finds_another(teams):
    load(teams, TEAMS)
    small = fill(teams, "greedy", 3, 6)
    large = submit(teams, "modest", 8)
    teams.wait_state(large, "RUNNING")
    where = {job: row["nodes"] for job, row in rows(teams).items()}
    counts = collections.Counter(str(where[job]) for job in small)
    assert sorted(counts.values()) == [3, 3] and str(where[large]) not in counts, where
    assert not preempted(teams, small)


# ---- 2b: the same jobs, scattered


def scatter(cluster, qos, **options):
    """Six jobs of three GPUs, of which two, two, one and one are on a node."""
    rest = all_run(cluster, [submit(cluster, "any", gpus, "-w", f"n{i}") for i, gpus in enumerate([4, 4, 7, 7])])
    jobs = all_run(cluster, [submit(cluster, qos, 3, **options) for _ in range(6)])
    cluster.run("gcancel", *rest)
    wait_for(lambda: jobs_in(cluster, "RUNNING") == set(jobs) and is_at_rest(cluster), "the others are gone")
    assert counts_by_node(cluster, jobs) == [1, 1, 2, 2]
    return jobs


def counts_by_node(cluster, jobs):
    told = rows(cluster)
    return sorted(collections.Counter(str(told[job]["nodes"]) for job in jobs).values())


def test_scattered_jobs_make_room_for_a_large_one_by_one_move(moving):
    jobs = scatter(moving, "any")
    large = submit(moving, "any", 8)
    all_run(moving, [large, *jobs])
    wait_for(lambda: is_at_rest(moving), "rest")
    (moved,) = preempted(moving, jobs)
    where = {job: row["nodes"] for job, row in rows(moving).items()}
    assert where[large] not in [where[job] for job in jobs], where
    assert counts_by_node(moving, jobs) in ([1, 2, 3], [2, 2, 2])
    detail = moving.detail(moved)
    assert (detail["Preemptions"], detail["Restarts"]) == ("1", "1")
    history = moving.run("gcontrol", "show", "job", moved, "--history").stdout
    assert history.count(f"moved to make room for job {large}") == 2, history  # told to go, and waits again
    assert all(moving.detail(job)["Restarts"] == "0" for job in {large, *jobs} - {moved})


def test_the_place_of_one_that_moves_is_kept_over_a_crash(moving):
    told, leave = moving.work / "told", moving.work / "leave"
    jobs = scatter(moving, "patient", script=f"""
[ "${{SLURM_RESTART_COUNT:-0}}" = 0 ] || exec sleep 600
trap 'touch {told}; is_told=1' TERM
until [ -e {leave} ] && [ "$is_told" ]; do sleep 0.1; done
""")
    large = submit(moving, "any", 8)
    wait_for(told.exists, "the signal")
    (mover,) = wait_for(lambda: jobs_in(moving, "COMPLETING"), "the job on its way")
    moving.restart("gctld")
    wait_for(moving.ping, "the controller")
    wait_for(lambda: set(moving.node_states().values()) <= {"mixed", "completing"}, "the nodes")
    # Twenty-two GPUs are free, or will be; eleven of them are kept.
    others = [submit(moving, "any", 1) for _ in range(22)]
    wait_for(lambda: "planned starts" in moving.reason_text(others[-1]), "what is free is kept")
    run = jobs_in(moving, "RUNNING")
    assert run > set(jobs) - {mover} and not run & {large, mover}
    leave.touch()
    all_run(moving, [large, mover, *run])
    assert preempted(moving, jobs) == {mover}
    where = {job: row["nodes"] for job, row in rows(moving).items()}
    assert where[mover] != where[large]


# ---- 4: sessions that can never be preempted


def test_a_session_within_the_guarantee_starts_at_once(department):
    load(department, "qos: [{name: lab, guaranteed: {gpu: 32}}, {name: batch, guaranteed: {gpu: 96}}]")
    batch = fill(department, "batch", 8, 16)
    sessions = [submit(department, "lab", 8, "--no-requeue") for _ in range(4)]
    all_run(department, sessions)
    wait_for(lambda: is_at_rest(department), "rest")
    taken = preempted(department, batch)
    assert len(taken) == 4
    beyond = submit(department, "lab", 8, "--no-requeue")
    wait_for(lambda: "it can never be preempted, so it starts only within what QOS lab is guaranteed, 32 gpu: "
             "32 held by such jobs, 8 more asked" in department.reason_text(beyond), "rule 4")
    # Nobody gets what they have, not even who is guaranteed it now.
    department.run("gacctmgr", "modify", "qos", "lab", "set", "guaranteed=gpu:0", "--",
                   "qos", "batch", "set", "guaranteed=gpu:128")
    wait_for(lambda: borrowed_in(department, "lab", 32), "the change")
    due = submit(department, "batch", 8)
    wait_for(lambda: department.show(due, "%r") not in ("None", ""), "a reason to wait")
    assert jobs_in(department, "RUNNING") == {*sessions, *batch} - taken


# ---- 5: a gang of 48 GPUs among many small jobs


def test_a_gang_takes_no_more_than_its_room_and_nothing_elsewhere(department):
    load(department, "qos: [{name: many, guaranteed: {gpu: 64}}, {name: gang, guaranteed: {gpu: 64}}]")
    sizes = {}
    for _ in range(16):
        for gpus in (4, 2, 2):
            sizes[submit(department, "many", gpus)] = gpus
    all_run(department, list(sizes))
    where = {job: nodes_of(department, job) for job in sizes}
    gang = submit(department, "gang", 48, nodes=6)
    department.wait_state(gang, "RUNNING")
    wait_for(lambda: is_at_rest(department), "rest")
    nodes = nodes_of(department, gang)
    taken = preempted(department, list(sizes))
    assert len(nodes) == 6 and sum(sizes[job] for job in taken) == 48
    assert {job for job in sizes if where[job] <= nodes} == taken, "none on another node"
    assert jobs_in(department, "RUNNING") == {gang, *sizes} - taken


def nodes_of(cluster, job):
    return set(cluster.run("gcontrol", "show", "hostnames", cluster.show(job, "%N")).stdout.split())
