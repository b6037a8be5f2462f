"""Where the tasks of a step go and what each of them is: planes, lists of hosts, parts with programs of their own."""

import shlex

WHERE = ["sh", "-c", "echo $SLURM_PROCID $SLURMD_NODENAME $SLURM_DISTRIBUTION"]


def placed(done):
    return sorted((line for line in done.stdout.splitlines()), key=lambda line: int(line.split()[0]))


def test_tasks_go_by_planes(shared_cluster):
    done = shared_cluster.run("grun", "-N2", "-n8", "-m", "plane=2", *WHERE)
    assert placed(done) == [f"{rank} n{rank // 2 % 2} plane" for rank in range(8)]
    shared_cluster.wait_idle()


def test_steps_that_say_cpus_alone_fill_their_nodes(shared_cluster):
    cluster = shared_cluster
    count = ["sh", "-c", "echo $SLURM_NTASKS"]
    filled = cluster.run("galloc", "-N2", "--mincpus=8", "grun", "-c4", *count).stdout.split()
    cpus = int(cluster.run("galloc", "-N2", "--mincpus=8", "sh", "-c", "echo $SLURM_JOB_CPUS_PER_NODE").stdout.split("(")[0])
    assert filled == [str(2 * (cpus // 4))] * (2 * (cpus // 4)) and cpus >= 8
    assert len(cluster.run("galloc", "-N2", "--mincpus=8", "grun", "-c4", "-N1", *count).stdout.split()) == cpus // 4
    # Who has said how many tasks there are, of the job or of the step, has said it.
    assert len(cluster.run("galloc", "-N2", "-n3", "-c4", "grun", "-c4", *count).stdout.split()) == 3
    assert len(cluster.run("galloc", "-N2", "--mincpus=8", "grun", "-c4", "-n1", *count).stdout.split()) == 1
    assert len(cluster.run("grun", "-N2", "-c4", *count).stdout.split()) == 2
    cluster.wait_idle()


def test_a_batch_job_tells_its_steps_of_planes(shared_cluster):
    cluster = shared_cluster
    job = cluster.submit(f"srun {' '.join(WHERE[:2])} '{WHERE[2]}' > {cluster.work}/planes", "-N2", "-n6", "-m", "plane=1", "-t", "5")
    assert cluster.wait_ended(job) and cluster.state(job) == "COMPLETED"
    lines = sorted((cluster.work / "planes").read_text().splitlines())
    assert lines == [f"{rank} n{rank % 2} cyclic" for rank in range(6)]


def test_a_file_of_hosts_says_where_each_task_goes(shared_cluster):
    cluster = shared_cluster
    hosts = cluster.work / "hosts"
    hosts.write_text("n1\nn0  # the second\n\nn1*2\n")
    by_file = ["env", f"SLURM_HOSTFILE={hosts}"]
    expected = [f"{rank} {node} arbitrary" for rank, node in enumerate(["n1", "n0", "n1", "n1"])]
    assert placed(cluster.run(*by_file, "grun", *WHERE)) == expected
    assert placed(cluster.run(*by_file, "srun", "-m", "arbitrary", *WHERE)) == expected
    assert placed(cluster.run(*by_file, "galloc", "-N2", "-n8", "grun", *WHERE)) == expected
    assert placed(cluster.run(*by_file, "galloc", "-N2", "-n8", "grun", "-n2", *WHERE)) == expected[:2]
    # -w says it better than the file: mpirun names the nodes of its daemons so, wherever it is called.
    named = cluster.run(*by_file, "grun", "-N2", "--ntasks-per-node=1", "-n2", "-w", "n0,n1", *WHERE)
    assert placed(named) == ["0 n0 block", "1 n1 block"]
    # GPUs are shared out among the tasks of the list, whatever the job has.
    shared = cluster.run(*by_file, "galloc", "-N2", "-n8", "--gpus-per-node=8", "grun", "--gpus=4", "sh", "-c", "echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES")
    assert [len(line.split()[1].split(",")) for line in placed(shared)] == [1, 1, 1, 1]
    # Without a file -w is the list.
    assert placed(cluster.run("grun", "-m", "arbitrary", "-w", "n1,n0", *WHERE)) == ["0 n1 arbitrary", "1 n0 arbitrary"]
    cluster.wait_idle()


def test_what_is_said_of_the_job_holds_for_no_step_without_a_list(shared_cluster):
    cluster = shared_cluster
    job = cluster.submit(f"srun -n2 {' '.join(WHERE[:2])} '{WHERE[2]}' > {cluster.work}/nolist", "-N1", "-n2", "-m", "arbitrary", "-t", "5")
    assert cluster.wait_ended(job) and cluster.state(job) == "COMPLETED"
    assert sorted((cluster.work / "nolist").read_text().splitlines()) == ["0 n0 block", "1 n0 block"]


def test_lists_of_hosts_that_cannot_be(shared_cluster):
    cluster = shared_cluster
    hosts = cluster.work / "hosts"

    def refused(text, *words):
        hosts.write_text(text)
        done = cluster.run("env", f"SLURM_HOSTFILE={hosts}", "grun", *words, *WHERE, check=False)
        assert done.returncode != 0 and done.stdout == "", done
        return done.stderr

    assert "names no node" in refused("# none\n")
    assert "3 tasks asked, and hosts for 2" in refused("n0\nn1\n", "-n3")
    assert "number behind *" in refused("n0*x\n")
    assert "names hosts for more than 100000 tasks" in refused("n0*99999\nn1*2\n")
    assert "n9" in refused("n0\nn9\n")
    nowhere = cluster.run("grun", "-m", "arbitrary", *WHERE, check=False)
    assert "no host is named for any task" in nowhere.stderr
    missing = cluster.run("env", "SLURM_HOSTFILE=/no/such/file", "grun", *WHERE, check=False)
    assert "SLURM_HOSTFILE: /no/such/file" in missing.stderr
    cluster.wait_idle()


def test_parts_have_programs_of_their_own_and_one_range_of_ranks(shared_cluster):
    cluster = shared_cluster
    words = ["sh", "-c", "echo $SLURM_PROCID $SLURM_NTASKS main", ":", "-n", "2", "sh", "-c", "echo $SLURM_PROCID $SLURM_NTASKS worker", ":",
             "--ntasks=1", "sh", "-c", "echo $SLURM_PROCID $SLURM_NTASKS $0", "last"]
    expected = ["0 4 main", "1 4 worker", "2 4 worker", "3 4 last"]
    assert placed(cluster.run("grun", *words)) == expected
    assert placed(cluster.run("galloc", "-n4", "srun", *words)) == expected
    wide = cluster.run("grun", "-N2", "--ntasks-per-node=2", "sh", "-c", "echo $SLURM_PROCID main", ":", "sh", "-c", "echo $SLURM_PROCID other")
    assert placed(wide) == ["0 main", "1 main", "2 main", "3 main", "4 other"]
    failing = cluster.run("grun", "true", ":", "-n1", "sh", "-c", "exit 5", check=False)
    assert failing.returncode == 5
    odd = cluster.run("grun", "true", ":", "-t2", "true", check=False)
    assert "option --time of a further part" in odd.stderr and odd.returncode == 1
    assert "do not go with --bcast" in cluster.run("grun", "--bcast", "true", ":", "true", check=False).stderr
    cluster.wait_idle()


def test_a_step_runs_in_the_component_that_is_asked_for(shared_cluster):
    cluster = shared_cluster
    where = "sh -c 'echo $SLURM_JOB_ID $SLURM_PROCID $SLURMD_NODENAME'"
    script = f"""
srun -n1 {where} > {cluster.work}/het0
srun --het-group=1 {where} > {cluster.work}/het1
srun --pack-group=0 -n1 {where} > {cluster.work}/het0b
srun --het-group=2 true 2> {cluster.work}/het2
srun --het-group=1 sh -c 'echo $SLURM_CPUS_PER_TASK; srun --het-group=0 -n1 sh -c "echo \\$SLURMD_NODENAME"' > {cluster.work}/het3
"""
    job = cluster.submit(script, "-t", "5", "-n1", "-w", "n0", ":", "-n2", "-c4", "-w", "n1")
    assert cluster.wait_ended(job)
    assert (cluster.work / "het0").read_text() == f"{job} 0 n0\n"
    assert sorted((cluster.work / "het1").read_text().splitlines()) == [f"{job + 1} 0 n1", f"{job + 1} 1 n1"]
    assert (cluster.work / "het0b").read_text() == f"{job} 0 n0\n"
    assert sorted((cluster.work / "het3").read_text().split()) == ["4", "4", "n0", "n0"]
    assert "there is no component 2: the job has 2, from 0 on" in (cluster.work / "het2").read_text()
    assert "this is no heterogeneous job" in cluster.run("srun", "--het-group=1", "true", check=False).stderr
    cluster.wait_idle()


SHOWN = "sh -c 'echo $SLURM_PROCID/$SLURM_NTASKS $SLURM_NODEID/$SLURM_NNODES $SLURM_JOB_ID $SLURMD_NODENAME $SLURM_CPUS_PER_TASK $0'"


def test_parts_in_several_components_are_launched_as_one(shared_cluster):
    cluster = shared_cluster
    out = cluster.work
    script = f"""
srun -n2 {SHOWN} a : {SHOWN} b | sort > {out}/parts
srun --het-group=0,1 {SHOWN} c | sort > {out}/both
srun --het-group=1 -n1 {SHOWN} d : --het-group=0 -n1 {SHOWN} e | sort > {out}/turned
srun -K -n1 sh -c 'trap "exit 3" TERM; : > $0; sleep 100 & while :; do wait; done' {out}/trapped : -n1 sh -c 'until [ -e $0 ]; do sleep 0.05; done; exit 7' {out}/trapped; echo $? > {out}/code
srun true : true : true 2> {out}/three; echo $? >> {out}/code
srun -l -o {out}/%j.%t.out {SHOWN} f : -n1 {SHOWN} g
srun -n1 cat : -n1 true < {out}/parts > {out}/read
"""
    job = cluster.submit(script, "-t", "5", "-n2", "-w", "n0", ":", "-n2", "-c4", "-w", "n1")
    assert cluster.wait_ended(job)
    lines = lambda name: (out / name).read_text().splitlines()  # noqa: E731
    assert lines("parts") == [f"0/4 0/2 {job} n0 a", f"1/4 0/2 {job} n0 a", f"2/4 1/2 {job + 1} n1 4 b", f"3/4 1/2 {job + 1} n1 4 b"]
    assert lines("both") == [line[:-1] + "c" for line in lines("parts")]
    assert lines("turned") == [f"0/2 0/2 {job + 1} n1 4 d", f"1/2 1/2 {job} n0 e"]
    assert lines("code") == ["7", "1"]
    assert "part 2 of the call has no component: the job has 2" in (out / "three").read_text()
    assert lines(f"{job}.0.out") == [f"0/3 0/2 {job} n0 f"] and lines(f"{job}.2.out") == [f"2/3 1/2 {job + 1} n1 4 g"]
    assert lines("read") == lines("parts")
    steps = cluster.run("sacct", "-n", "-X", "-j", job, "-o", "jobid%20").stdout.split()
    assert steps == [f"{job}+0", f"{job}+1"]
    cluster.wait_idle()


def test_parts_with_sizes_of_their_own_are_launched_as_one(shared_cluster):
    cluster = shared_cluster
    words = [*shlex.split(SHOWN), "small", ":", "-n2", "-c2", *shlex.split(SHOWN), "large", ":", *shlex.split(SHOWN), "too"]
    done = cluster.run("galloc", "-N1", "-n8", "-w", "n0", "srun", "-n1", *words)
    shown = [line.split() for line in sorted(done.stdout.splitlines())]
    assert [line[0] for line in shown] == ["0/4", "1/4", "2/4", "3/4"]
    assert [line[-1] for line in shown] == ["small", "large", "large", "too"]
    assert [line[1] for line in shown] == ["0/2", "1/2", "1/2", "1/2"], "each step has a part of the node"
    assert [line[4] for line in shown[1:]] == ["2", "2", "2"]
    cluster.wait_idle()


def test_an_allocation_has_components_too(shared_cluster):
    cluster = shared_cluster
    shown = ["srun", *shlex.split(SHOWN), "a", ":", *shlex.split(SHOWN), "b"]
    done = cluster.run("galloc", "-n1", "-w", "n0", ":", "-n2", "-c4", "-w", "n1", *shown)
    job = int(done.stderr.split("Granted job allocation ")[1].split()[0])
    assert sorted(done.stdout.splitlines()) == [f"0/3 0/2 {job} n0 a", f"1/3 1/2 {job + 1} n1 4 b", f"2/3 1/2 {job + 1} n1 4 b"]
    assert "Nodes n[0-1] are ready for job" in done.stderr
    told = cluster.run("galloc", "-n1", ":", "-n2", "-c4", "sh", "-c",
                       "echo $SLURM_HET_SIZE $SLURM_JOB_ID_HET_GROUP_1 $SLURM_NTASKS_HET_GROUP_1 $SLURM_JOB_ID; exit 5", check=False)
    job = int(told.stderr.split("Granted job allocation ")[1].split()[0])
    assert told.stdout == f"2 {job + 1} 2 {job}\n" and told.returncode == 5
    assert cluster.wait_ended(job) == "FAILED"
    tested = cluster.run("salloc", "--test-only", "-n1", ":", "-n2", "-c4", "true")
    assert tested.stderr.count(" to start at ") == 2 and tested.stderr.count("in partition main") == 2
    bad = cluster.run("salloc", "-n1", ":", "-n0", "true", check=False)
    assert bad.returncode == 1 and "-n/--ntasks" in bad.stderr
    cluster.wait_idle()


def test_parts_without_an_allocation_get_one_with_components(shared_cluster):
    cluster = shared_cluster
    words = [*shlex.split(SHOWN), "a", ":", "-n2", "-c4", "-w", "n1", *shlex.split(SHOWN), "b"]
    done = cluster.run("srun", "-w", "n0", "-t", "5", *words)
    lines = [line.split() for line in sorted(done.stdout.splitlines())]
    job = int(lines[0][2])
    assert sorted(done.stdout.splitlines()) == [f"0/3 0/2 {job} n0 a", f"1/3 1/2 {job + 1} n1 4 b", f"2/3 1/2 {job + 1} n1 4 b"]
    assert cluster.wait_ended(job) == "COMPLETED" and done.stderr == ""
    shown = cluster.run("scontrol", "show", "job", job).stdout
    assert shown.count("TimeLimit=00:05:00") == 2
    failed = cluster.run("srun", "true", ":", "-c2", "sh", "-c", "exit 3", check=False)
    assert failed.returncode == 3 and cluster.wait_ended(job + 2) == "FAILED"
    kept = cluster.run("srun", "--keep", "true", ":", "-c2", "true", check=False)
    assert kept.returncode == 1 and "--keep and --detach do not go with" in kept.stderr
    cluster.wait_idle()


def test_components_with_gpus_have_the_cpus_that_they_ask_for(shared_cluster):
    cluster = shared_cluster
    job = cluster.submit("echo $SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0 $SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1", "-t", "5",
                         "-c1", "--gpus=1", ":", "-c4", "--gpus=1")
    assert cluster.wait_ended(job)
    assert (cluster.work / f"gangway-{job}.out").read_text() == "2 4\n", "a core, and two"


def test_a_part_has_one_task_and_options_of_its_own(shared_cluster):
    cluster = shared_cluster
    each = cluster.run("galloc", "-N1", "-n4", "srun", "echo", "a", ":", "-c1", "echo", "b")
    assert sorted(each.stdout.split()) == ["a", "b"]
    cluster.run("scontrol", "create", "PartitionName=other", "Nodes=ALL")
    try:
        where = ["sh", "-c", "echo $SLURM_JOB_PARTITION $SLURM_HET_SIZE; exit $0"]
        done = cluster.run("srun", "-J", "one", "-p", "other", "-w", "n0", *where, "255", ":", "-J", "two", "-c2", "-w", "n1", *where, "0", check=False)
        assert done.returncode == 255 and sorted(done.stdout.splitlines()) == ["main 2", "other 2"]
    finally:
        cluster.wait_idle()
        cluster.run("scontrol", "delete", "PartitionName=other")
    rows = cluster.run("sacct", "-n", "-P", "-o", "jobid,jobname,exitcode", "-S", "now-10minutes", "-a").stdout.splitlines()
    steps = dict((row.split("|")[0], row.split("|")[1:]) for row in rows)
    job = max(int(name.split("+")[0]) for name in steps if "+" in name)
    assert steps[f"{job}+0"] == ["one", "255:0"], "a code, not a signal"
    assert steps[f"{job}+0.0"][0] == "one" and steps[f"{job}+1.0"][0] == "two"
    hidden = cluster.run("sacct", "-n", "-X", "-P", "-o", "jobid", "-j", job, "-N", "n1").stdout.split()
    assert hidden == [f"{job}+1"], "the first component was elsewhere"
    alone = cluster.run("sacct", "-n", "-X", "-P", "-o", "jobid", "-j", f"{job}+0").stdout.split()
    assert alone == [f"{job}+0"] == cluster.run("sacct", "-n", "-X", "-P", "-o", "jobid", "-j", job, "--whole-hetjob=no").stdout.split()


def test_parts_outside_of_their_job_are_told_so(shared_cluster):
    cluster = shared_cluster
    shell = cluster.run("salloc", "--no-shell", "-n1", ":", "-n1")
    job = int(shell.stderr.split("Granted job allocation ")[1].split()[0])
    wrong = cluster.run("srun", f"--jobid={job}", "true", ":", "-c1", "true", check=False)
    assert wrong.returncode == 1 and f"job {job} has components" in wrong.stderr
    cluster.run("scancel", job)
    hosts = cluster.work / "unseen_hosts"
    hosts.write_text("n1\nn1\n")
    noted = cluster.run("env", f"SLURM_HOSTFILE={hosts}", "srun", "true", ":", "-c2", "true")
    assert "SLURM_HOSTFILE is not looked at" in noted.stderr
    cluster.wait_idle()
