"""Forecasts of starts: learned from jobs that have ended, told by all commands that show a job, and never in the way."""

import json
import re
import time

from cluster import wait_for
from conftest import QUICK

CONFIG = QUICK + "scheduler: {forecast_every: 1s}\n"


def range_of(cluster, job):
    """The forecast, in seconds since 1970; None: it has none."""
    return json.loads(cluster.run("gqueue", "--json", "-t", "all", "-j", job).stdout)["jobs"][0].get("start_range")


def test_a_range_is_told_by_all_commands(make_cluster):
    """A job that is kept from the scheduler has none."""
    cluster = make_cluster(nodes=1, topology="dgx-h100", config=CONFIG)
    ended = [cluster.submit("true", "-N1", "--gpus-per-node=1", "-t", "60") for _ in range(24)]
    for job in ended:
        cluster.wait_state(job, "COMPLETED")
    first = cluster.submit("sleep 600", "-N1", "--gpus-per-node=8", "-t", "60")
    cluster.wait_state(first, "RUNNING")
    job = cluster.submit("true", "-N1", "--gpus-per-node=8", "-t", "60")
    held = cluster.submit("true", "-N1", "--gpus-per-node=8", "-t", "60", "--hold")
    wait_for(lambda: range_of(cluster, job), "the forecast")
    told = range_of(cluster, job)
    assert time.time() - 60 < told["low"] <= told["likely"] <= told["high"] < time.time() + 3700
    assert range_of(cluster, held) is None, "it is kept from the scheduler"
    text = cluster.run("gangway", "why", job).stdout
    assert re.search(r"\nBy how long jobs here really run it starts between \S+T\S+ and \S+T\S+, most likely at \S+T\S+\.\n", text), text
    shown = cluster.run("gcontrol", "show", "job", job).stdout
    assert re.search(r"\n   StartRange=\S+T\S+/\S+T\S+ LikelyStart=\S+T\S+\n", shown), shown
    row = cluster.run("gqueue", "-h", "-j", job, "-O", "LikelyStart:30,StartRange:60").stdout
    assert re.fullmatch(r"\S+T\S+ +\S+T\S+/\S+T\S+ *\n", row), row
    assert json.loads(cluster.run("gangway", "why", "--json", job).stdout)["start_range"].keys() == {"low", "likely", "high"}
    cluster.run("gcontrol", "hold", job)
    assert range_of(cluster, job) is None, "it is kept from the scheduler now"
    cluster.run("gcontrol", "release", job)
    wait_for(lambda: range_of(cluster, job), "the next forecast")


def test_who_asks_before_submitting_is_told_a_range(make_cluster):
    """Of a job that would start now, or under Slurm's names, there is none."""
    cluster = make_cluster(nodes=1, topology="dgx-h100", config=CONFIG)
    for job in [cluster.submit("true", "-N1", "--gpus-per-node=1", "-t", "60") for _ in range(24)]:
        cluster.wait_state(job, "COMPLETED")
    cluster.wait_state(cluster.submit("sleep 600", "-N1", "--gpus-per-node=7", "-t", "60"), "RUNNING")
    waits = cluster.submit("true", "-N1", "--gpus-per-node=8", "-t", "60")  # it goes first

    def asked(*words):
        return cluster.run(*words[:2], "-N1", "-t", "60", "--wrap", "true", *words[2:], check=False)

    done = asked("gbatch", "--test-only", "--gpus-per-node=8")
    assert done.returncode == 2 and "would wait until" in done.stderr, done
    line = re.search(r"it would start between (\S+) and (\S+), most likely at (\S+)\n", done.stderr)
    assert line, done.stderr
    low, high, likely = line.groups()
    planned = re.search(r"would wait until (\S+) at the latest", done.stderr)[1]
    assert low <= likely <= high <= planned
    assert "it would start" not in asked("gbatch", "--test-only", "--gpus-per-node=1", "-t", "10").stderr
    assert "it would start" not in asked("sbatch", "--test-only", "--gpus-per-node=8").stderr
    wait_for(lambda: range_of(cluster, waits), "its own forecast")


def test_none_is_made_where_the_administrator_wants_none(make_cluster):
    """The key takes effect without a restart, both ways."""
    cluster = make_cluster(nodes=1, topology="dgx-h100", config=CONFIG)
    cluster.wait_state(cluster.submit("sleep 600", "-N1", "--gpus-per-node=8", "-t", "60"), "RUNNING")
    job = cluster.submit("true", "-N1", "--gpus-per-node=8", "-t", "60")
    wait_for(lambda: range_of(cluster, job), "the forecast")
    path = (cluster.dir / "run").resolve() / "gangway.yaml"
    with_forecasts = path.read_text()
    path.write_text(re.sub(r"forecast_every: \S+?([,}\n])", r"forecast_every: 0s\1", with_forecasts))
    cluster.run("gcontrol", "reconfigure")
    assert range_of(cluster, job) is None
    assert "N/A" in cluster.run("gqueue", "-h", "-j", job, "-O", "StartRange").stdout
    path.write_text(with_forecasts)
    cluster.run("gcontrol", "reconfigure")
    wait_for(lambda: range_of(cluster, job), "the forecast again")
