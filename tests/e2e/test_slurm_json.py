"""`squeue --json` and the like in the shape of 23.11, which programs parse."""

import json
import time

import pytest


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
    assert ended["exit_code"]["status"] == ["SIGNALED"] and ended["exit_code"]["signal"] == {"id": number(15), "name": "TERM"}


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


@pytest.mark.parametrize("words", [["squeue", "--json"], ["scontrol", "show", "jobs", "--json"]])
def test_the_own_names_have_a_schema_of_their_own(shared_cluster, words):
    own = {"squeue": "gqueue", "scontrol": "gcontrol"}[words[0]]
    assert "schema_version" not in asked(shared_cluster, *words)
    assert "schema_version" in asked(shared_cluster, own, *words[1:])
