"""Each option of Slurm's commands beside those that submit: taken, or refused by name, as the page for those who come
from Slurm says."""

import pathlib
import re

import pytest
from cluster import wait_for

HERE = pathlib.Path(__file__).parent
REFUSED = ("unrecognized option", "invalid option", "is not supported in this version", "ambiguous")


def options():
    for line in (HERE / "command_options.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        command, *words = line.split()
        for word in words:
            is_there = not word.startswith("---")
            yield command, word if is_there else word[1:], is_there


def command_line(option):
    name, equals, value = option.partition("=")
    return [option] if name.startswith("--") or not equals else [name, value]


@pytest.mark.parametrize("command", sorted({command for command, _, _ in options()}))
def test_every_option_is_taken_or_refused_by_name(shared_cluster, command):
    wrong = []
    for of, option, is_there in options():
        if of != command:
            continue
        # Without a configuration every command ends before it asks anything of anybody.
        done = shared_cluster.run("env", "GANGWAY_CONF=/none", command, *command_line(option), check=False)
        refused = any(text in done.stderr for text in REFUSED)
        if refused == is_there or (not is_there and option.split("=")[0] not in done.stderr):
            wrong.append(f"{option}: {done.stderr or done.stdout[:100]}")
    assert wrong == []


@pytest.mark.parametrize("command", ["squeue", "sinfo", "sprio", "sshare -a", "sdiag", "sacct", "scontrol show node", "scancel -u root"])
def test_the_own_cluster_and_all_are_taken_and_another_is_refused(shared_cluster, command):
    name, *words = command.split()
    plain = shared_cluster.run(name, *words).stdout
    (cluster,) = [line.split(":")[1].strip() for line in (shared_cluster.dir / "run" / "gangway.yaml").read_text().splitlines()
                  if line.startswith("cluster:")]
    for option in (f"--clusters={cluster}", "--cluster=all", f"-M{cluster}"):
        said = shared_cluster.run(name, option, *words).stdout
        header = f"CLUSTER: {cluster}\n" if name in ("squeue", "sinfo", "sprio") else ""
        assert said.startswith(header), option
        assert len(said.splitlines()) - len(header.splitlines()) == len(plain.splitlines()), option
    other = shared_cluster.run(name, "-M", "elsewhere", *words, check=False)
    assert other.returncode == 1 and "No cluster 'elsewhere' known by database." in other.stderr


def test_all_names_of_fields_are_listed_and_each_can_be_shown(shared_cluster):
    cluster = shared_cluster
    job = cluster.run("sbatch", "--parsable", "-H", "--wrap", "true").stdout.strip()
    for command in ("squeue", "sinfo", "sprio"):
        names = cluster.run(command, "--helpformat").stdout.split()
        assert len(names) > 10
        shown = cluster.run(command, "-O", ",".join(f"{name}:40" for name in names))
        assert all(len(line) <= 40 * len(names) for line in shown.stdout.splitlines()), command
    assert cluster.run("sinfo", "--helpstate").stdout.split()[0] == "all"
    rare = "AccrueTime admin_comment AllocNodes AllocSID AssocID BatchFlag BoardsPerNode BurstBuffer Cluster ClusterFeature " \
           "Container CPUFreq cpus-per-tres DelayBoot DerivedEC gres HetJobID HetJobIDSet HetJobOffset LastSchedEval MaxCPUs " \
           "MaxNodes MCSLabel mem-per-tres MinTime Network Nodes NTPerBoard NTPerCore NTPerNode NTPerSocket Origin PendingTime " \
           "PreemptTime Profile Reboot ResizeTime ResvPort SPerBoard system_comment tres-bind tres-freq tres-per-socket Wait4Switch"
    assert cluster.run("squeue", "-h", "-j", job, "-O", ",".join(rare.split())).returncode == 0
    cluster.run("scancel", job)


NETWORK = """network:
- {switch: leaf1, nodes: "n[0-1]"}
- {switch: leaf2, nodes: "n[2-3]"}
- {switch: spine, switches: "leaf[1-2]"}
"""


def test_switches_daemons_and_names_of_hosts(make_cluster):
    cluster = make_cluster(nodes=4, config=NETWORK)
    show = lambda *words, check=True: cluster.run("scontrol", "show", *words, check=check)  # noqa: E731
    leaves = ["SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[0-1]", "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=n[2-3]"]
    spine = "SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[0-3] Switches=leaf[1-2]"
    assert show("topology").stdout.splitlines() == [*leaves, spine]
    assert show("topo", "n3").stdout.splitlines() == [leaves[1], spine]
    assert show("topology", "switch=leaf1").stdout.splitlines() == leaves[:1]
    wrong = show("topology", "n9", check=False)
    assert wrong.returncode == 1 and "no switch or node is called n9" in wrong.stderr
    assert show("daemons").stdout == "slurmctld \n", "the nodes have other names than this machine"
    assert cluster.run("gcontrol", "show", "daemons").stdout == "gctld \n"
    assert show("aliases", "n[1-2],elsewhere").stdout == "n1 n2\n"
    assert shown_config(cluster)["TopologyPlugin"] == "topology/tree"


def test_who_waits_for_a_job_hears_that_it_runs(shared_cluster):
    cluster = shared_cluster
    assert "No topology information available" in cluster.run("scontrol", "show", "topology").stdout
    job = cluster.run("sbatch", "--parsable", "-H", "--wrap", "sleep 600").stdout.strip()
    waiting = cluster.popen("scontrol", "wait_job", job)
    assert waiting.poll() is None
    cluster.run("scontrol", "release", job)
    assert waiting.wait(timeout=60) == 0
    cluster.run("scancel", job)
    cluster.wait_ended(int(job))
    ended = cluster.run("scontrol", "wait_job", job, check=False)
    assert ended.returncode == 1 and "has ended: CANCELLED" in ended.stderr


def test_jobs_that_clear_up_are_listed(shared_cluster):
    cluster = shared_cluster
    job = cluster.submit(f"trap '' TERM; touch {cluster.work}/deaf; while :; do sleep 0.1; done")
    wait_for((cluster.work / "deaf").exists, "it ignores SIGTERM")
    assert cluster.run("scontrol", "completing").stdout == ""
    cluster.run("scancel", job)
    line = wait_for(lambda: cluster.run("scontrol", "completing").stdout, "it is being ended")
    assert re.fullmatch(rf"JobId={job} EndTime=\S+ CompletingTime=00:00:\d\d Nodes\(COMPLETING\)=n\d\n", line), line
    cluster.wait_ended(job)


KEYS = """AccountingStorageType AccountingStorageEnforce AccountingStorageTRES ClusterName DefMemPerCPU EnforcePartLimits FirstJobId
GresTypes InactiveLimit JobAcctGatherFrequency JobAcctGatherType KillOnBadExit KillWait LaunchParameters MaxArraySize MaxJobCount
MinJobAge MpiDefault OverTimeLimit PreemptMode PreemptType PriorityType PriorityWeightAge PriorityWeightFairShare
PriorityWeightJobSize PriorityWeightPartition PriorityWeightQOS ProctrackType SchedulerType SelectType SelectTypeParameters
SLURM_CONF SLURM_VERSION SlurmctldHost[0] SlurmctldPort SlurmdPort SlurmdSpoolDir SlurmUser TaskPlugin TmpFS TopologyPlugin"""


def shown_config(cluster):
    lines = cluster.run("scontrol", "show", "config").stdout.splitlines()
    assert lines[0].startswith("Configuration data as of ")
    return {key.strip(): value for key, _, value in (line.partition(" = ") for line in lines[1:])}


def test_the_configuration_is_shown_under_slurms_keys(make_cluster):
    cluster = make_cluster(nodes=1, config="jobs: {kill_wait: 7s, min_job_age: 90s, max_jobs: 500}\nlicenses: [matlab:5]\n"
                          "accounts: {enforce: false}\n")
    shown = shown_config(cluster)
    assert [key for key in KEYS.split() if key not in shown] == []
    assert shown["KillWait"] == "7 sec" and shown["MinJobAge"] == "90 sec" and shown["MaxJobCount"] == "500"
    assert shown["AccountingStorageTRES"] == "cpu,mem,node,billing,gres/gpu,license/matlab"
    assert shown["AccountingStorageEnforce"] == "limits,qos"
    assert shown["PriorityType"] == "priority/basic" and shown["PriorityWeightAge"] == "0"
    assert shown["PreemptMode"] == "REQUEUE" and shown["PreemptType"] == "preempt/qos"
    assert shown["LaunchParameters"] == "(null)" and shown["MpiDefault"] == "pmix"
    assert shown["SlurmUser"] == "root(0)" and shown["SLURM_CONF"].endswith("gangway.yaml")
    conf = (cluster.dir / "run").resolve() / "gangway.yaml"
    conf.write_text(conf.read_text().replace("scheduler: {", "scheduler: {order: multifactor, order_weights: {age: 77}, reclaim: none, "))
    cluster.run("gcontrol", "reconfigure")
    shown = shown_config(cluster)
    assert shown["PriorityType"] == "priority/multifactor"
    assert (shown["PriorityWeightAge"], shown["PriorityWeightFairShare"]) == ("77", "10000")
    assert shown["PreemptMode"] == "OFF" and shown["PreemptType"] == "preempt/none"
