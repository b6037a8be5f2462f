"""Partitions that commands make, change and delete, with real daemons."""

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
            (["create", "PartitionName=new", "Nodes=n77"], "invalid node name specified: n77"),
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
    assert "invalid partition name specified: small" in cluster.run("gbatch", "-p", "small", "--wrap", "true", check=False).stderr


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
