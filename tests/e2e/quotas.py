"""What the tests of quotas share: a cluster of 128 GPUs whose tree they change, and words for it."""

from cluster import wait_for

ALICE, BOB, CAROL = "daemon", "games", "bin"  # Ordinary users that every Debian has.


def emptied(cluster):
    """For a fixture: no jobs and no QOS are left when a test is done."""
    yield cluster
    cluster.run("gcancel", "-u", f"root,{ALICE},{BOB},{CAROL}", check=False)
    wait_for(lambda: cluster.run("gqueue", "-h").stdout == "", "the end of all jobs")
    load(cluster, "qos: []")


def load(cluster, tree, *options, check=True):
    return cluster.run("gacctmgr", "load", "-", *options, input=tree, check=check)


def acct(cluster, *words, **options):
    return cluster.run("gacctmgr", *words, **options)


def refused(cluster, *words, user=None, command="gacctmgr"):
    """What is said to words that must change nothing."""
    before = dump(cluster)
    done = cluster.run(command, *words, user=user, check=False)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("error") == 1, (words, done)
    assert dump(cluster) == before, words
    return done.stderr


def dump(cluster):
    return acct(cluster, "dump").stdout


def tree(cluster):
    """Name -> what `gacctmgr show tree --json` says of the QOS."""
    return {q["name"]: q for q in cluster.json("gacctmgr", "show", "tree", "--json")["qos"]}


def submit(cluster, qos, gpus, *options, user=None, script="sleep 600"):
    return cluster.submit(script, *(["-q", qos] if qos else []), f"--gpus={gpus}", "-t", "60", *options, user=user)


def running(cluster, qos, gpus, *options, count=1, user=None):
    """Jobs of one node each, started."""
    jobs = [submit(cluster, qos, gpus, "-N1", *options, user=user) for _ in range(count)]
    for job in jobs:
        cluster.wait_state(job, "RUNNING")
    return jobs


def restart(cluster):
    """Until all nodes are back: they come one by one, and what is submitted meanwhile finds room on the first alone."""
    there = len(cluster.node_states())
    cluster.restart("gctld")
    wait_for(cluster.ping, "the controller")

    def are_back():
        states = cluster.node_states().values()
        return len(states) == there and not any(state.endswith("*") or state == "unknown" for state in states)

    wait_for(are_back, lambda: f"all nodes; {cluster.node_states()}")


def shares(cluster):
    return cluster.json("gshare", "--json")


def sides(cluster):
    return {s["name"]: s for s in shares(cluster)["sides"]}
