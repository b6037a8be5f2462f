"""Stored rows that cannot be read, of every kind: the controller starts, other jobs continue, each row is shown and deleted."""

import re
import sqlite3

from cluster import wait_for
from conftest import QUICK
from quotas import ALICE

GARBAGE = b"\xff\xfe\xff"
UNTIL_TOLD = "echo $$ > {0}.pid; while [ ! -e {0}.go ]; do sleep 0.05; done\n"


def damage(cluster, *changes):
    """Changes rows of the database of a cluster whose controller is away, and returns how many."""
    with sqlite3.connect(cluster.dir / "state" / "gangway.db") as db:
        return [db.execute(sql, {"garbage": GARBAGE} if ":garbage" in sql else {}).rowcount for sql in changes]


def count(cluster, of):
    with sqlite3.connect(cluster.dir / "state" / "gangway.db") as db:
        return db.execute(f"SELECT count(*) FROM {of}").fetchone()[0]


def shown(cluster):
    rows = cluster.json("gcontrol", "show", "heldaside", "--json")["held_aside"]
    return {f"{row['kind']}:{row['name']}": row for row in rows}


def script(cluster, name):
    return UNTIL_TOLD.format(cluster.work / name)


def is_going_on(cluster, name):
    path = cluster.work / f"{name}.pid"
    if not path.exists() or not path.read_text().strip():
        return False
    try:
        with open(f"/proc/{int(path.read_text())}/cmdline", "rb") as command:
            return bool(command.read())
    except FileNotFoundError:
        return False


def make_everything(cluster):
    """Something in every table; returns the jobs that run, the one that waits, the one that has ended."""
    control = cluster.run
    control("gcontrol", "create", "PartitionName=made", "Nodes=n3")
    control("gcontrol", "create", "ReservationName=course", "StartTime=now+2days", "Duration=60", "Nodes=n3", f"Users={ALICE}")
    control("gacctmgr", "-i", "add", "qos", "above")
    control("gacctmgr", "-i", "add", "qos", "below", "parent=above")
    control("gacctmgr", "-i", "add", "user", ALICE, "account=below", "default_qos=below")
    ended = cluster.submit("exit 0")
    cluster.wait_state(ended, "COMPLETED")
    # A node each, the first with a step in it.
    first = cluster.submit(f"grun sleep 600 &\n{script(cluster, 'first')}kill $!", "-N1", "--gpus-per-node=8")
    second = cluster.submit(script(cluster, "second"), "-N1", "--gpus-per-node=8")
    for job in (first, second):
        cluster.wait_state(job, "RUNNING")
    wait_for(lambda: f"{first}.0" in cluster.run("gqueue", "-s", "-h", "-o", "%i").stdout, "the step")
    wait_for(lambda: is_going_on(cluster, "first") and is_going_on(cluster, "second"), "both scripts")
    waiting = cluster.submit("exit 0", "-H")
    return first, second, waiting, ended


def test_every_kind_of_row(make_cluster):
    cluster = make_cluster(nodes=4, config=QUICK)
    first, second, waiting, ended = make_everything(cluster)
    node = cluster.show(first, "%N")
    spare = next(n for n in ("n0", "n1", "n2", "n3") if n not in (node, cluster.show(second, "%N")))
    wait_for(lambda: count(cluster, f"run_nodes WHERE job={first}") == 2, "the rows of the run and of its step")
    cluster.kill("gctld")
    changes = {
        f"UPDATE jobs SET status=:garbage WHERE id={first}": {f"job:{first}", f"step:{first}.0", f"run:{first}/{node}",
                                                              f"run:{first}.0/{node}"},
        f"UPDATE jobs SET cpus='many' WHERE id={waiting}": {f"job:{waiting}"},
        f"UPDATE ended_jobs SET spec=:garbage WHERE id={ended}": {f"ended_job:{ended}"},
        f"UPDATE nodes SET bytes=:garbage WHERE name='{spare}'": {f"node:{spare}"},
        "UPDATE partitions SET bytes=:garbage WHERE name='made'": {"partition:made"},
        "UPDATE reservations SET bytes=:garbage WHERE name='course'": {"reservation:course"},
        "UPDATE qos SET bytes=:garbage WHERE name='above'": {"qos:above", "qos:below"},
        f"UPDATE quota_users SET bytes=:garbage WHERE name='{ALICE}'": {f"user:{ALICE}"},
        "INSERT INTO usage VALUES('nobody','x',1,1)": {"usage:nobody/x"},
        "INSERT INTO replies VALUES(4242,'request',:garbage,strftime('%s','now')*1000000)": {"reply:4242/request"},
        "UPDATE meta SET value=:garbage WHERE name='next_job'": {"setting:next_job"},
        "INSERT INTO blob_facts VALUES('nothing',-1,0,0)": {"script:nothing"},
    }
    assert damage(cluster, *changes) == [1] * len(changes)
    cluster.start("gctld")
    wait_for(cluster.ping, "the controller answers, whatever its rows say")

    expected = set().union(*changes.values())
    rows = shown(cluster)
    assert set(rows) == expected
    assert f"{len(expected)} rows held aside" in cluster.run("gcontrol", "ping").stdout
    assert "gcontrol show heldaside" in cluster.gangway("doctor", check=False).stdout
    assert rows[f"job:{first}"]["nodes"] == node and "status" in rows[f"job:{first}"]["reason"]
    assert re.search(rf"HeldAside=job:{first}\n   Reason=.*\n   Since=", cluster.run("gcontrol", "show", "heldaside").stdout)
    log = "".join(path.read_text(errors="replace") for path in (cluster.dir / "log").glob("gctld*"))
    assert f"a stored row cannot be read and is held aside: job {first}" in log

    # The others continue, and what ran of the first is left alone; its node takes nothing else.
    cluster.wait_state(second, "RUNNING")
    wait_for(lambda: cluster.node_states().get(node, "").startswith("drain"), f"{node} takes no jobs; {cluster.node_states()}")
    assert is_going_on(cluster, "first") and is_going_on(cluster, "second")
    assert cluster.node_states()[spare].startswith("drain")
    new = cluster.submit("exit 0", "-N1", "--gpus-per-node=8")
    assert new > waiting, "a number was given again"
    cluster.wait_state(new, "COMPLETED")
    (cluster.work / "second.go").touch()
    cluster.wait_state(second, "COMPLETED")

    # They stay over a restart, and go one by one; with the job's what runs of it.
    cluster.restart("gctld")
    wait_for(cluster.ping, "the controller answers again")
    assert set(shown(cluster)) == expected
    wait_for(lambda: cluster.node_states().get(node, "").startswith("drain"), f"{node} takes no jobs")
    denied = cluster.run("gcontrol", "delete", f"HeldAside=job:{first}", user=ALICE, check=False)
    assert denied.returncode == 1 and "administrators" in denied.stderr
    assert is_going_on(cluster, "first")
    for row in sorted(expected):
        cluster.run("gcontrol", "delete", f"HeldAside={row}")
    assert shown(cluster) == {}
    assert cluster.run("gcontrol", "show", "heldaside").stdout == "No rows are held aside\n"
    wait_for(lambda: not is_going_on(cluster, "first"), "the end of what nobody knows any more")
    cluster.run("gcontrol", "update", f"NodeName={spare}", "State=RESUME")
    cluster.wait_idle()
    assert cluster.submit("exit 0") == new + 1
    gone = cluster.run("gcontrol", "delete", f"HeldAside=job:{first}", check=False)
    assert gone.returncode == 1 and "no row" in gone.stderr


def test_what_runs_of_a_held_job_ends_by_itself(make_cluster):
    cluster = make_cluster(nodes=2, config=QUICK)
    job = cluster.submit(script(cluster, "j"), "-N2")
    cluster.wait_state(job, "RUNNING")
    wait_for(lambda: is_going_on(cluster, "j"), "the script")
    cluster.kill("gctld")
    assert damage(cluster, f"DELETE FROM run_nodes WHERE job={job} AND node='n1'") == [1]
    cluster.start("gctld")
    wait_for(cluster.ping, "the controller answers again")
    wait_for(lambda: [s[:5] for s in cluster.node_states().values()] == ["drain"] * 2, f"{cluster.node_states()}")
    assert shown(cluster)[f"job:{job}"]["nodes"] == "n[0-1]"
    (cluster.work / "j.go").touch()
    cluster.wait_idle()
    assert shown(cluster)[f"job:{job}"]["nodes"] == ""


def test_a_held_gang_ends_on_a_node_that_comes_back_after_its_end(make_cluster):
    cluster = make_cluster(nodes=2, config=QUICK)
    job = cluster.submit(script(cluster, "j"), "-N2")
    cluster.wait_state(job, "RUNNING")
    first = cluster.detail(job)["BatchHost"]
    other = "n1" if first == "n0" else "n0"
    wait_for(lambda: is_going_on(cluster, "j"), "the script")
    cluster.kill("gctld")
    cluster.kill(f"gnoded.{other}")
    assert damage(cluster, f"DELETE FROM run_nodes WHERE job={job} AND node='{other}'") == [1]
    (cluster.work / "j.go").touch()
    cluster.start("gctld")
    wait_for(lambda: cluster.node_states().get(first) == "idle", lambda: f"the end on {first}: {cluster.node_states()}")
    cluster.start(f"gnoded.{other}")
    cluster.wait_idle()
    assert shown(cluster)[f"job:{job}"]["nodes"] == ""
