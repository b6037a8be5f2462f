"""Jobs under cgroup v2 alone: a gang, its limits, its devices, and that nothing of it stays."""

import re

from machine import wait_for

GROUPS = "find /sys/fs/cgroup/gangway -mindepth 1 -name 'job_*' 2>/dev/null; true"


def test_the_machines_have_cgroup_v2_alone(cluster):
    for machine in cluster.machines:
        assert machine.run("stat -fc %T /sys/fs/cgroup; grep -c ' - cgroup ' /proc/self/mountinfo", check=False).out == "cgroup2fs\n0\n"
        probe = machine.run("gstepd --probe").out
        assert "cgroup_v2" in probe.splitlines()[0], probe


def test_doctor_is_content(cluster):
    for machine in cluster.machines:
        done = machine.run("gangway doctor", check=False)
        assert done.status == 0 and not re.search("(?m)^FAIL", done.out), done.out


def test_a_batch_gang_on_both_machines(cluster):
    done = cluster.n1.as_user("gbatch", "--wait", "-N2", "--ntasks-per-node=1", "--wrap", "hostname; grun -l hostname; id -un")
    job = done.out.split()[-1]
    lines = cluster.head.read(f"/srv/games/gangway-{job}.out").splitlines()
    assert lines[0] == "head" and sorted(lines[1:3]) == ["0: head", "1: n1"] and lines[3] == "games"


def test_a_step_on_both_machines_from_either(cluster):
    for machine in cluster.machines:
        done = machine.as_user("grun", "-N2", "-l", "sh", "-c", "hostname; cat /proc/self/cgroup")
        lines = done.out.splitlines()
        assert {"0: head", "1: n1"} <= set(lines), done.out + done.err
        groups = [line for line in lines if re.search(r"^\d: 0::/gangway/example/\w+/job_", line)]
        assert len(groups) == 2, done.out


def test_a_job_over_its_memory_is_killed_and_told_so(cluster):
    job = cluster.submit("--mem=64", "--wrap", "sleep 1000 & head -c 300M /dev/zero | tail -c 299M > /dev/null; echo not reached")
    assert cluster.wait_state(job, "OUT_OF_MEMORY", "COMPLETED", "FAILED") == "OUT_OF_MEMORY"
    assert "not reached" not in cluster.head.read(f"/srv/games/gangway-{job}.out")
    cluster.wait_nodes()
    # The daemon's own unit has lost nothing by it, and was not stopped for it.
    assert sorted(cluster.head.run("systemctl show -P ActiveState -P Result gnoded").out.split()) == ["active", "success"]


def test_a_job_over_its_memory_in_a_step(cluster):
    done = cluster.n1.as_user("grun", "-N1", "-w", "n1", "--mem=64", "sh", "-c", "head -c 300M /dev/zero | tail -c 299M > /dev/null", check=False)
    assert done.status != 0
    assert "memory" in done.err.lower(), done.err


COUNT = "i=0; while sleep 0.2; do i=$((i+1)); echo $i > /srv/games/count; done"


def test_a_suspended_job_does_nothing_and_goes_on(cluster):
    job = cluster.submit("-w", "n1", "--wrap", COUNT)
    wait_for(lambda: cluster.n1.run("cat /srv/games/count", check=False).out.strip(), "the job counts")
    cluster.head.run(f"gcontrol suspend {job}")
    cluster.wait_state(job, "SUSPENDED")
    group = cluster.n1.run(f"ls -d /sys/fs/cgroup/gangway/example/n1/job_{job}.*").out.strip()
    wait_for(lambda: "frozen 1" in cluster.n1.read(f"{group}/cgroup.events"), "the kernel has frozen the group")
    cluster.head.run(f"gcontrol resume {job}")
    cluster.wait_state(job, "RUNNING")
    wait_for(lambda: "frozen 0" in cluster.n1.read(f"{group}/cgroup.events"), "the kernel has thawed the group")
    before = cluster.n1.read("/srv/games/count")
    wait_for(lambda: cluster.n1.read("/srv/games/count") not in ("", before), "the job counts again")


def test_a_frozen_job_can_be_cancelled(cluster):
    job = cluster.submit("-w", "n1", "--wrap", COUNT)
    cluster.wait_state(job, "RUNNING")
    cluster.head.run(f"gcontrol suspend {job}")
    cluster.wait_state(job, "SUSPENDED")
    cluster.head.run(f"gcancel {job}")
    cluster.wait_state(job, "CANCELLED")


OPEN = "for d in renderD128 renderD129; do if ( : <> /dev/dri/$d ) 2>/srv/games/why; then echo $d yes; else echo $d no; grep -o 'not permitted' /srv/games/why; fi; done"


def test_a_job_cannot_open_the_gpu_that_it_was_not_given(cluster):
    """Both files can be opened by anybody (0666) outside of jobs: it is the device program that says no."""
    assert cluster.n1.as_user("bash", "-c", OPEN).out == "renderD128 yes\nrenderD129 yes\n"
    one = cluster.n1.as_user("grun", "-w", "n1", "-N1", "-G1", "bash", "-c", OPEN)
    assert one.out == "renderD128 yes\nrenderD129 no\nnot permitted\n", one.err
    both = cluster.n1.as_user("grun", "-w", "n1", "-N1", "-G2", "bash", "-c", OPEN)
    assert both.out == "renderD128 yes\nrenderD129 yes\n", both.err
    none = cluster.n1.as_user("grun", "-w", "n1", "-N1", "bash", "-c", OPEN)
    assert none.out == "renderD128 no\nnot permitted\nrenderD129 no\nnot permitted\n", none.err


def test_cores_are_held_by_the_cpuset(cluster):
    done = cluster.n1.as_user("grun", "-w", "n1", "-N1", "-n1", "-c1", "grep", "Cpus_allowed_list", "/proc/self/status")
    assert re.search(r"\s[01]$", done.out.strip()), done.out


def test_nothing_of_a_job_stays(cluster):
    """A process that left its session and its parent ends with the job."""
    job = cluster.submit("-w", "n1", "--wrap", "setsid sh -c 'sleep 4711 & sleep 4712' & sleep 0.5; echo done")
    cluster.wait_state(job, "COMPLETED")
    wait_for(lambda: not cluster.n1.run(GROUPS).out, "the job's group is gone")
    assert cluster.n1.run("pgrep -af 'sleep 471[12]'", check=False).out == ""
