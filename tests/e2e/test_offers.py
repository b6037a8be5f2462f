"""Offers, and what jobs tell of themselves, with real daemons."""

import json

from cluster import wait_for
from conftest import QUICK

ALICE = "daemon"  # an ordinary user that every Debian has

TEAMS = QUICK + """
qos:
  - {name: team, guaranteed: {gpu: 8}}
  - {name: rest, guaranteed: {gpu: 8}}
"""


def offers(cluster, *words):
    return json.loads(cluster.run("gangway", "offers", "--json", *words).stdout)


def test_an_offer_is_taken_up_once_and_held_to_the_quotas(make_cluster):
    cluster = make_cluster(nodes=2, config=TEAMS)
    told = offers(cluster, "-q", "team")
    assert [(o["nodes"], o["gpus"]) for o in told["offers"]] == [("n[0-1]", 8)]
    assert (told["gpus_guaranteed"], told["qos"]) == (8, "team")
    offer = told["offers"][0]["id"]
    # All of it is more than the team is guaranteed, and an allocation does not borrow.
    denied = cluster.run("galloc", "-q", "team", f"--from-offer={offer}", "true", check=False)
    assert denied.returncode == 1, denied.stdout
    job = cluster.run("galloc", "-q", "team", f"--from-offer={offer}", "-N1", "--no-shell", env={"SALLOC_PARTITION": "main"}).stderr
    job = job.split("allocation ")[1].split()[0].rstrip(".")
    shown = cluster.detail(job)
    assert (shown["Partition"], shown["NodeList"], shown["QOS"]) == ("main", "n0", "team")
    assert "gres/gpu=8" in shown["AllocTRES"].split(",")
    gone = cluster.run("galloc", "-q", "team", f"--from-offer={offer}", "-N1", "true", check=False)
    assert gone.returncode == 1 and f"there is no offer {offer} now" in gone.stderr
    left = offers(cluster, "-q", "team")
    assert [o["nodes"] for o in left["offers"] if o["gpus"] == 8] == ["n1"]
    assert left["gpus_guaranteed"] == 0
    cluster.run("gcancel", job)


def test_who_watches_is_told_when_they_change(make_cluster):
    cluster = make_cluster(nodes=1)
    with cluster.popen("gangway", "offers", "--json", "--watch") as watch:
        first = json.loads(watch.stdout.readline())
        assert first["offers"][0]["gpus"] == 8
        job = cluster.submit("sleep 600", "--gpus=5", "-t", "10")
        while max([o["gpus"] for o in json.loads(watch.stdout.readline())["offers"]], default=0) > 3:
            pass
        cluster.run("gcancel", job)
        while max([o["gpus"] for o in json.loads(watch.stdout.readline())["offers"]], default=0) < 8:
            pass
        watch.terminate()


def test_a_job_tells_how_far_it_is(make_cluster):
    cluster = make_cluster(nodes=1, config=QUICK + "scheduler: {order: srtf}\n")
    job = cluster.submit("gangway progress --step 10 --of 1000 --rate 2.5 && touch told\nsleep 600", "-t", "60", "-D", str(cluster.work), user=ALICE)
    wait_for((cluster.work / "told").exists, "the job tells")
    shown = cluster.detail(job)
    assert (shown["Progress"], shown["StepsPerSecond"]) == ("10/1000", "2.5")
    assert shown["ToldEnd"] > shown["StartTime"]
    asked = json.loads(cluster.run("gqueue", "--json", "-j", job).stdout)["jobs"][0]["progress"]
    assert (asked["step"], asked["of"], asked["steps_per_second"], asked["has_overrun"]) == (10, 1000, 2.5, False)
    cluster.kill("gctld")
    cluster.start("gctld")
    assert cluster.detail(job)["Progress"] == "10/1000"
    strange = cluster.run("gangway", "progress", "--step=1", job, user="games", check=False)
    assert strange.returncode == 1 and "access denied" in strange.stderr
    for words, why in ((["--rate", "fast"], "--rate"), ([], "nothing is told"), (["--step", "5", "--of", "4"], "step 5 of 4")):
        wrong = cluster.run("gangway", "progress", *words, job, check=False)
        assert wrong.returncode == 1 and why in wrong.stderr


PRINTS = """for i in 1 2 3; do echo "step $i/300 loss 0.$i"; done | gangway progress --read > printed
touch told
sleep 600"""


# All of the group get the signals, as all processes of a job do.
SAVES = """trap : TERM USR1 HUP
{{ trap : TERM USR1 HUP; echo step 7/300; until [ -s {out} ]; do sleep 0.05; done
  for s in USR1 HUP TERM; do kill -$s 0; done; echo saved; }} | gangway progress --read {job} > {out}
echo "the reader: $?"
"""


def test_what_a_program_prints_tells_how_far_it_is(make_cluster):
    cluster = make_cluster(nodes=1)
    job = cluster.submit(PRINTS, "-t", "60", "-D", str(cluster.work), user=ALICE)
    wait_for((cluster.work / "told").exists, "the pipe is over")
    assert (cluster.work / "printed").read_text() == "".join(f"step {i}/300 loss 0.{i}\n" for i in (1, 2, 3))
    assert cluster.detail(job)["Progress"] == "3/300"
    for words, why in ((["--read", "--step=1"], "--read goes with neither"), (["--pattern", "x"], "--pattern is for --read"),
                       (["--read", "--pattern", "epoch"], "has no group"), (["--read", "--pattern", "("], "no regular expression")):
        wrong = cluster.run("gangway", "progress", *words, job, check=False)
        assert wrong.returncode == 1 and why in wrong.stderr
    # What tells the job to save its work does not end the reader before the program has printed its last.
    through = cluster.run("setsid", "-w", "sh", "-c", SAVES.format(job=job, out=cluster.work / "out"))
    assert through.stdout == "the reader: 0\n", through.stderr
    assert (cluster.work / "out").read_text() == "step 7/300\nsaved\n"
    # Nobody is there to be told: the output comes through all the same.
    cluster.kill("gctld")
    through = cluster.run("sh", "-c", f"printf 'step 4\nno end' | gangway progress --read {job}", env={"GANGWAY_TIMEOUT": "1"})
    assert through.stdout == "step 4\nno end" and "error" in through.stderr
