"""`squeue --json` and the like in the shape of 23.11, which programs parse."""

import json
import pathlib
import re
import time

import pytest
from cluster import wait_for


def asked(cluster, *words):
    return json.loads(cluster.run(*words).stdout)


def number(value):
    return {"set": True, "infinite": False, "number": value}


UNSET = {"set": False, "infinite": False, "number": 0}
INFINITE = {"set": False, "infinite": True, "number": 0}

# The fields of a job in data_parser/v0.0.40.
FIELDS = """account accrue_time admin_comment allocating_node array_job_id array_task_id array_max_tasks array_task_string association_id
batch_features batch_flag batch_host flags burst_buffer burst_buffer_state cluster cluster_features command comment container
container_id contiguous core_spec thread_spec cores_per_socket billable_tres cpus_per_task cpu_frequency_minimum cpu_frequency_maximum
cpu_frequency_governor cpus_per_tres cron deadline delay_boot dependency derived_exit_code eligible_time end_time excluded_nodes
exit_code extra failed_node features federation_origin federation_siblings_active federation_siblings_viable gres_detail group_id
group_name het_job_id het_job_id_set het_job_offset job_id job_resources job_size_str job_state last_sched_evaluation licenses
mail_type mail_user max_cpus max_nodes mcs_label memory_per_tres name network nodes nice tasks_per_core tasks_per_tres tasks_per_node
tasks_per_socket tasks_per_board cpus node_count tasks partition prefer memory_per_cpu memory_per_node minimum_cpus_per_node
minimum_tmp_disk_per_node power preempt_time preemptable_time pre_sus_time hold priority profile qos reboot required_nodes
minimum_switches requeue resize_time restart_cnt resv_name scheduled_nodes selinux_context shared exclusive oversubscribe show_flags
sockets_per_board sockets_per_node start_time state_description state_reason standard_error standard_input standard_output submit_time
suspend_time system_comment time_limit time_minimum threads_per_core tres_bind tres_freq tres_per_job tres_per_node tres_per_socket
tres_per_task tres_req_str tres_alloc_str user_id user_name maximum_switch_wait_time wckey current_working_directory"""


def test_a_job_has_every_field_and_form(shared_cluster):
    cluster = shared_cluster
    before = int(time.time())
    job = cluster.submit("sleep 600", "-J", "shape", "-N2", "-n4", "-c2", "--mem=100", "-t", "90", "--gpus-per-node=1", "--comment=c d")
    cluster.wait_state(job, "RUNNING")
    answer = asked(cluster, "squeue", "--json", "-j", job)
    assert sorted(answer) == ["errors", "jobs", "last_backfill", "last_update", "meta", "warnings"]
    assert answer["meta"]["plugin"]["data_parser"] == "data_parser/v0.0.40"
    assert answer["meta"]["slurm"]["version"] == {"major": "23", "micro": "4", "minor": "11"}
    assert answer["errors"] == [] and answer["warnings"] == []
    assert before <= answer["last_update"]["number"] <= time.time()
    (one,) = answer["jobs"]
    assert sorted(one) == sorted(FIELDS.split())
    assert one["job_id"] == job and one["job_state"] == ["RUNNING"] and one["name"] == "shape" and one["comment"] == "c d"
    assert one["time_limit"] == number(90) and one["node_count"] == number(2) and one["cpus"] == number(8)
    assert one["array_job_id"] == number(0) and one["array_task_id"] == UNSET
    assert one["memory_per_node"] == number(100) and one["memory_per_cpu"] == UNSET
    assert before <= one["submit_time"]["number"] <= one["start_time"]["number"] <= time.time()
    assert one["end_time"]["number"] == one["start_time"]["number"] + 90 * 60
    assert one["exit_code"] == {"status": ["SUCCESS"], "return_code": number(0), "signal": {"id": UNSET, "name": ""}}
    resources = one["job_resources"]
    assert resources["nodes"] == "n[0-1]" and resources["allocated_cpus"] == 8
    assert [(n["nodename"], n["cpus_used"], n["memory_allocated"]) for n in resources["allocated_nodes"]] == [("n0", 4, 100), ("n1", 4, 100)]
    assert one["gres_detail"] == ["gpu:1(IDX:0)"] * 2
    assert one["priority"]["number"] > 0 and one["hold"] is False and one["batch_flag"] is True
    assert asked(cluster, "scontrol", "show", "job", job, "--json")["jobs"][0].keys() == one.keys()
    cluster.run("scancel", job)
    cluster.wait_ended(job)
    (ended,) = asked(cluster, "squeue", "--json", "-t", "all", "-j", job)["jobs"]
    assert ended["job_state"] == ["CANCELLED"] and ended["job_resources"] == {}
    assert ended["core_spec"] is None
    assert ended["exit_code"]["status"] == ["SIGNALED"] and ended["exit_code"]["signal"] == {"id": number(15), "name": "TERM"}


def test_what_is_still_done_for_a_job_is_a_flag(shared_cluster):
    cluster = shared_cluster
    job = cluster.submit(f"trap '' TERM; touch {cluster.work}/deaf-json; while :; do sleep 0.1; done")
    wait_for((cluster.work / "deaf-json").exists, "it ignores SIGTERM")
    cluster.run("scancel", job)
    states = wait_for(lambda: [s for one in asked(cluster, "squeue", "--json", "-j", job)["jobs"]
                               if "COMPLETING" in (s := one["job_state"])], "it is being ended")
    assert states[0][0] in ("CANCELLED", "RUNNING") and states[0][1:] == ["COMPLETING"]
    cluster.wait_ended(job)


def test_jobs_that_wait_and_arrays(shared_cluster):
    cluster = shared_cluster
    held = cluster.submit("true", "-H", "-t", "UNLIMITED")
    array = cluster.submit("true", "-H", "-a", "2-9%3")
    jobs = {one["job_id"]: one for one in asked(cluster, "squeue", "--json")["jobs"]}
    one = jobs[held]
    assert one["job_state"] == ["PENDING"] and one["priority"] == number(0) and one["hold"] is True
    assert one["state_reason"] == "JobHeldUser" and one["time_limit"] == INFINITE and one["job_resources"] == {}
    tasks = jobs[array]
    assert tasks["array_job_id"] == number(array) and tasks["array_task_id"] == UNSET
    assert tasks["array_task_string"] == "2-9%3" and tasks["array_max_tasks"] == number(3)
    cluster.run("scontrol", "release", f"{array}_4")
    cluster.wait_state(f"{array}_4", "COMPLETED")
    ran = [one for one in asked(cluster, "squeue", "--json", "-t", "all")["jobs"] if one["array_task_id"] == number(4)]
    assert [one["array_job_id"] for one in ran] == [number(array)]
    cluster.run("scancel", held, array)
    assert asked(cluster, "squeue", "--json", "-t", "RUNNING")["jobs"] == []


RECORD = """account comment allocation_nodes array association block cluster container derived_exit_code time exit_code extra
failed_node flags group het job_id name mcs nodes partition hold priority qos required constraints licenses reservation
kill_request_user script restart_cnt state steps submit_line tres used_gres user wckey working_directory"""
STEP = "time exit_code nodes tasks pid CPU kill_request_user state statistics step task tres"


def test_records_of_accounting(shared_cluster):
    cluster = shared_cluster
    job = cluster.submit("srun -n2 true; exit 3", "-n2", "-t", "5", "--comment=why", "--mem=200")
    cluster.wait_ended(job)
    cluster.run("scontrol", "update", f"JobId={job}", "Comment=later", check=False)
    answer = asked(cluster, "sacct", "--json", "-j", job)
    assert answer["meta"]["command"] == ["show", "accounting"]
    (one,) = answer["jobs"]
    assert sorted(one) == sorted(RECORD.split())
    assert one["job_id"] == job and one["state"]["current"] == ["FAILED"] and one["comment"]["job"] == "why"
    assert one["exit_code"]["return_code"] == number(3) and one["time"]["limit"] == number(5)
    assert one["required"] == {"CPUs": 2, "memory_per_cpu": UNSET, "memory_per_node": number(200)}
    assert {t["type"]: t["count"] for t in one["tres"]["allocated"]} == {"cpu": 2, "mem": 200, "node": 1, "billing": 2}
    steps = {step["step"]["name"]: step for step in one["steps"]}
    assert list(steps) == ["batch", "extern", "true"]
    assert all(sorted(step) == sorted(STEP.split()) for step in steps.values())
    assert steps["true"]["step"]["id"] == f"{job}.0" and steps["true"]["tasks"]["count"] == 2
    assert steps["batch"]["exit_code"]["status"] == ["ERROR"] and steps["true"]["state"] == ["COMPLETED"]
    most = steps["true"]["tres"]["requested"]["max"]
    assert [(t["type"], t["name"]) for t in most] == [("cpu", ""), ("mem", ""), ("fs", "disk"), ("vmem", ""), ("pages", "")]
    waiting = cluster.submit("true", "-H", "-a", "1-3")
    (array,) = asked(cluster, "sacct", "--json", "-j", waiting)["jobs"]
    assert array["array"] == {"job_id": waiting, "limits": {"max": {"running": {"tasks": 0}}}, "task_id": UNSET, "task": "1-3"}
    cluster.run("scancel", waiting)
    by = asked(cluster, "sacct", "--json", "-j", waiting)["jobs"]
    assert {(record["kill_request_user"], record["state"]["current"][0]) for record in by} == {("root", "CANCELLED")}


NODE = """architecture burstbuffer_network_address boards boot_time cluster_name cores specialized_cores cpu_binding cpu_load free_mem
cpus effective_cpus specialized_cpus energy external_sensors extra power features active_features gres gres_drained gres_used last_busy
mcs_label specialized_memory name next_state_after_reboot address hostname state operating_system owner partitions port real_memory
comment reason reason_changed_at reason_set_by_user resume_after reservation alloc_memory alloc_cpus alloc_idle_cpus tres_used
tres_weighted slurmd_start_time sockets threads temporary_disk weight tres version"""
PARTITION = """nodes accounts groups qos alternate tres cluster select_type cpus defaults grace_time maximums minimums name node_sets
priority timeouts partition suspend_time"""
SUMMARY = """port node nodes cpus sockets cores threads disk memory weight features gres cluster comment extra reason reservation
partition"""


def test_nodes_and_partitions(shared_cluster):
    cluster = shared_cluster
    job = cluster.submit("sleep 600", "-w", "n0", "-n3", "-c1", "--mem=1000", "--gpus=2")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=new disk")
    nodes = asked(cluster, "scontrol", "show", "nodes", "--json")["nodes"]
    assert all(sorted(node) == sorted(NODE.split()) for node in nodes)
    first, second = nodes
    assert first["state"] == ["MIXED"] and second["state"] == ["IDLE", "DRAIN"] and second["reason"] == "new disk"
    assert first["alloc_memory"] == 1000 and first["alloc_cpus"] == 4 and first["cpus"] == 224
    assert first["gres"] == "gpu:h100:8" and first["gres_used"].startswith("gpu:2(IDX:")
    assert first["tres_used"] == "cpu=4,mem=1000M,billing=4,gres/gpu=2"
    assert first["tres"] == f"cpu=224,mem={first['real_memory'] // 1024 ** 2}T,billing=224,gres/gpu=8"
    assert "Version=23.11.4\n" in cluster.run("scontrol", "show", "node", "n0").stdout
    assert "Version=0.1.0\n" in cluster.run("gcontrol", "show", "node", "n0").stdout
    assert "CfgTRES=cpu=224,mem=2T,billing=224,gres/gpu=8" in cluster.run("scontrol", "show", "node", "n0").stdout
    (partition,) = asked(cluster, "scontrol", "show", "partition", "--json")["partitions"]
    assert sorted(partition) == sorted(PARTITION.split())
    assert partition["name"] == "main" and partition["nodes"]["configured"] == "n[0-1]" and partition["partition"]["state"] == ["UP"]
    assert partition["maximums"]["time"] == INFINITE and partition["cpus"]["total"] == 448
    groups = asked(cluster, "sinfo", "--json")["sinfo"]
    assert all(sorted(group) == sorted(SUMMARY.split()) for group in groups)
    assert {tuple(g["node"]["state"]): g["nodes"]["nodes"] for g in groups} == {("MIXED",): ["n0"], ("IDLE", "DRAIN"): ["n1"]}
    mixed = next(g for g in groups if g["node"]["state"] == ["MIXED"])
    assert {k: mixed["nodes"][k] for k in ("allocated", "idle", "other", "total")} == {"allocated": 1, "idle": 0, "other": 0, "total": 1}
    assert mixed["cpus"]["allocated"] == 4 and mixed["cpus"]["total"] == 224 and mixed["partition"]["name"] == "main"
    assert mixed["port"] == 0 and mixed["reason"]["time"] == 0
    load = mixed["cpus"]["load"]
    assert load["minimum"] == load["maximum"] >= 0 and first["cpu_load"] >= 0
    free = mixed["memory"]["free"]
    assert free["minimum"] == free["maximum"] and free["minimum"]["set"] and free["minimum"]["number"] > 0
    assert first["free_mem"]["set"] and first["free_mem"]["number"] > 0
    by_node = asked(cluster, "sinfo", "-N", "--json")["sinfo"]
    assert [g["nodes"]["nodes"] for g in by_node] == [["n0"], ["n1"]] and by_node[1]["partition"] == mixed["partition"]
    assert [g["nodes"]["nodes"] for g in asked(cluster, "sinfo", "--json", "-n", "n1")["sinfo"]] == [["n1"]]
    cluster.run("scontrol", "update", "NodeName=n1", "State=RESUME")
    cluster.run("scancel", job)
    cluster.wait_idle()


@pytest.mark.parametrize("words", [["squeue", "--json"], ["scontrol", "show", "jobs", "--json"],
                                   ["sacct", "--json"], ["sinfo", "--json"], ["scontrol", "show", "node", "--json"]])
def test_the_own_names_have_a_schema_of_their_own(shared_cluster, words):
    own = {"squeue": "gqueue", "scontrol": "gcontrol", "sacct": "gacct", "sinfo": "ginfo"}[words[0]]
    assert "schema_version" not in asked(shared_cluster, *words)
    assert "schema_version" in asked(shared_cluster, own, *words[1:])


def documented(heading):
    """The keys of the tables below a heading of docs/json.md."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "json.md").read_text()
    keys = set()
    for line in page.split(heading, 1)[1].split("\n\n", 1)[1].splitlines():
        if line and not line.startswith("|"):
            continue
        if not line and keys:
            break
        keys |= set(re.findall(r"`(\w+)`", line.split("|")[1])) if line else set()
    return keys


def test_the_page_has_every_key_of_the_own_schema(shared_cluster):
    cluster = shared_cluster
    job = cluster.submit("true", "-H", "-a", "1-2")
    (one,) = asked(cluster, "gqueue", "--json")["jobs"]
    assert set(one) - documented("## Jobs") == set()
    assert documented("## Jobs") - set(one) <= {"suspended_because"}
    cluster.run("gcancel", job)
    info = asked(cluster, "ginfo", "--json")
    assert set(info["nodes"][0]) == documented("one of them.")
    assert set(info["partitions"][0]) | {"fragmentation"} == documented("numbers of the jobs on it |")
