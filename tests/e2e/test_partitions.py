"""Partitions that commands make, change and delete, with real daemons."""

import os

import pytest
from cluster import wait_for
from quotas import acct, load, refused, restart


@pytest.fixture
def cluster(quota_cluster):
    return quota_cluster


def test_partitions_are_made_changed_and_deleted_and_kept_over_a_crash(cluster):
    def control(*words):
        return cluster.run("gcontrol", *words)

    load(cluster, "qos: [{name: a}]")
    assert control("create", "PartitionName=small", "Nodes=n[0-1]", "MaxTime=30", "AllowQos=a").stdout == "Partition created: small\n"
    control("create", "PartitionName=gone", "Nodes=n5")
    control("update", "PartitionName=small", "Nodes=n[0-2]", "PriorityTier=3")
    control("update", "PartitionName=gone", "State=DRAIN")
    job = cluster.submit("sleep 600", "-p", "small", "-q", "a", "-t", "5")
    cluster.wait_state(job, "RUNNING")
    waits = cluster.submit("sleep 600", "-p", "small", "-q", "a", "-t", "5", "--hold")
    for words, error in [
            (["create", "PartitionName=small", "Nodes=n1"], "partition small exists already"),
            (["create", "PartitionName=new"], "a partition needs nodes"),
            (["create", "PartitionName=new", "Nodes=n77"], "Invalid node name specified: n77"),
            (["create", "PartitionName=new", "Nodes=n1", "QOS=nosuch"], "nosuch"),
            (["create", "PartitionName=new", "Nodes=n1", "MaxTime=5", "DefaultTime=10"], "DefaultTime is longer than MaxTime"),
            (["delete", "PartitionName=small"], "partition small has 2 jobs"),
            (["delete", "PartitionName=nosuch"], "nosuch")]:
        assert error in refused(cluster, *words, command="gcontrol"), words
    cluster.run("gcancel", waits)
    assert "partition small has 1 job" in refused(cluster, "delete", "PartitionName=small", command="gcontrol")
    control("delete", "PartitionName=gone")
    restart(cluster)
    shown = control("show", "partition").stdout
    assert "PartitionName=gone" not in shown
    small = shown[shown.index("PartitionName=small"):]
    for text in ("Nodes=n[0-2]", "MaxTime=00:30:00", "PriorityTier=3", "AllowQos=a", "State=UP"):
        assert text in small, shown
    wait_for(lambda: cluster.state(job) == "RUNNING", "the job is found again")
    cluster.run("gcancel", "-p", "small")
    wait_for(lambda: cluster.run("gcontrol", "delete", "PartitionName=small", check=False).returncode == 0, "small goes")
    assert "Invalid partition name specified: small" in cluster.run("gbatch", "-p", "small", "--wrap", "true", check=False).stderr


def test_a_qos_that_a_partition_names_is_not_deleted(cluster):
    load(cluster, "qos: [{name: a}, {name: b}]")
    cluster.run("gcontrol", "create", "PartitionName=pool", "Nodes=ALL", "QOS=a", "AllowQos=a,b")
    try:
        assert "partition pool names QOS a as its default" in refused(cluster, "delete", "qos", "a")
        assert "partition pool names QOS b as one of those it takes" in refused(cluster, "delete", "qos", "b")
        cluster.run("gcontrol", "update", "PartitionName=pool", "QOS=none", "AllowQos=ALL")
        acct(cluster, "delete", "qos", "a,b")
    finally:
        cluster.run("gcontrol", "delete", "PartitionName=pool")


def effective(cluster, name):
    """Key -> (value, origin) as `--effective --json` has them."""
    partitions = cluster.json("gcontrol", "show", "partition", name, "--effective", "--json")["partitions"]
    assert [p["name"] for p in partitions] == [name]
    return {key: (said["value"], said["origin"]) for key, said in partitions[0]["keys"].items()}


def test_what_holds_in_a_partition_and_who_says_so(cluster):
    try:
        cluster.run("gcontrol", "create", "PartitionName=pool", "Nodes=n[0-1]", "MaxTime=30", "Consolidate=dry_run")
        keys = effective(cluster, "pool")
        assert keys["max_time"][0] == 1800 and keys["nodes"][0] == ["n0", "n1"]
        for key in ("max_time", "default_time", "consolidate", "nodes"):
            assert keys[key][1]["kind"] == "command" and keys[key][1]["uid"] == os.getuid(), (key, keys[key])
        assert keys["consolidate"][0] == "dry_run"
        assert keys["fit"] == ("best", {"kind": "built_in"})
        restart(cluster)
        assert effective(cluster, "pool") == keys
        main = effective(cluster, "main")
        assert main["consolidate"] == ("off", {"kind": "built_in"})
        assert main["unlimited"][0] is True and main["unlimited"][1]["kind"] == "partition"
        place, line = main["unlimited"][1]["place"].rsplit(":", 1)
        with open(place) as file:
            assert "unlimited: true" in file.read().splitlines()[int(line) - 1]
        shown = cluster.run("gcontrol", "show", "partition", "pool", "--effective").stdout.splitlines()
        assert shown[0] == "PartitionName=pool" and shown[1].split() == ["KEY", "VALUE", "ORIGIN"]
        told = {line.split()[0]: line.split()[1:] for line in shown[2:]}
        assert told["max_time"][:4] == ["30m", "gcontrol", "by", keys["max_time"][1]["user"] + ","] and told["fit"] == ["best", "built-in"]
        assert set(told) == set(keys)
    finally:
        cluster.run("gcontrol", "delete", "PartitionName=pool", check=False)


def test_a_dry_run_of_consolidation_tells_what_would_be_moved_and_moves_nobody(cluster):
    try:
        cluster.run("gcontrol", "create", "PartitionName=pool", "Nodes=n[0-1]", "MaxTime=60", "Fit=WORST", "Consolidate=DRY_RUN")
        stay = [cluster.submit("sleep 600", "-p", "pool", "-N1", "--gpus=2", "-t", "60") for _ in range(2)]
        for job in stay:  # one on each node
            cluster.wait_state(job, "RUNNING")
        big = cluster.submit("sleep 600", "-p", "pool", "-N1", "--gpus=8", "-t", "30")

        def told():
            history = cluster.run("gcontrol", "show", "job", big, "--history").stdout
            return [line for line in history.splitlines() if "would move" in line]

        wait_for(told, "the dry run's word")
        assert "would start in pool on n" in told()[0] and "consolidate is dry_run" in told()[0]
        assert cluster.state(big) == "PENDING"
        assert [cluster.state(job) for job in stay] == ["RUNNING", "RUNNING"]
    finally:
        cluster.run("gcancel", "-p", "pool", check=False)
        wait_for(lambda: cluster.run("gcontrol", "delete", "PartitionName=pool", check=False).returncode == 0, "pool goes")
