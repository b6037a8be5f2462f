"""What the controller shows of itself: priorities in parts, fragmentation, figures for monitoring."""

import json
import pathlib
import re
import socket
import urllib.error
import urllib.request

import pytest
from cluster import wait_for
from conftest import QUICK


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def cluster_and_url(make_cluster):
    port = free_port()
    config = QUICK + f"metrics: {{listen: '127.0.0.1:{port}'}}\n" + """
scheduler: {order: multifactor, order_weights: {age: 0, fair_share: 10000, size: 800, partition: 0, nice: 2}}
"""
    return make_cluster(nodes=2, config=config), f"http://127.0.0.1:{port}/metrics"


def fetch(url):
    """The figures as {name{labels}: value}."""
    with urllib.request.urlopen(url, timeout=20) as reply:
        assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        text = reply.read().decode()
    return {name: float(value) for name, value in re.findall(r"^([a-z_]+(?:\{.*\})?) (\S+)$", text, re.M)}


def test_the_guide_has_the_metrics_that_there_are(cluster_and_url):
    cluster, url = cluster_and_url
    cluster.wait_idle()
    with urllib.request.urlopen(url, timeout=20) as reply:
        text = reply.read().decode()
    exposed = {name: None for name in re.findall(r"(?m)^# TYPE (\S+)", text)}  # one without samples has no labels yet
    histograms = re.findall(r"(?m)^# TYPE (\S+) histogram$", text)
    for name, labels in re.findall(r"(?m)^([a-z_]+)(?:\{(.*)\})? \S+$", text):
        part = re.sub("_(bucket|sum|count)$", "", name)  # of a histogram; the bounds of its buckets need no word
        exposed[part if part in histograms else name] = ",".join(one for one in re.findall(r'(\w+)="', labels) if one != "le")
    guide = (pathlib.Path(__file__).parents[2] / "docs/admin-guide.md").read_text()
    table = guide.split("| metric | |")[1].split("\n\n")[0]
    told = dict(re.findall(r"`(gangway_[a-z_]+)(?:\{([a-z_,]*)\})?`", table))
    assert set(told) == set(exposed)
    assert {name: labels for name, labels in exposed.items() if labels is not None} == {
        name: labels for name, labels in told.items() if exposed[name] is not None}


def test_figures_over_http(cluster_and_url):
    cluster, url = cluster_and_url
    cluster.wait_idle()
    assert fetch(url)["gangway_gpus"] == 16
    running = cluster.submit("sleep 1000", "-N1", "--gpus-per-node=5")
    cluster.wait_state(running, "RUNNING")
    waiting = cluster.submit("sleep 1000", "-N2", "--gpus-per-node=8")
    for field in (cluster.show(running, "%Q"), re.search(r" Priority=(\d+)", cluster.run("gcontrol", "show", "job", running).stdout)[1]):
        assert int(field) > 0, "a running job shows the priority that it had"

    def look():
        m = fetch(url)
        done = (m['gangway_jobs{state="running"}'] == 1 and m["gangway_queue_length"] == 1
                and m.get('gangway_partition_gpus_free{partition="main",gpu_type="all"}') == 11)
        return m if done else None

    figures = wait_for(look, "the figures of one running and one waiting job")
    assert figures['gangway_jobs{state="pending"}'] == 1
    assert figures["gangway_gpus_used"] == 5 and figures["gangway_gpus_offline"] == 0
    assert figures['gangway_nodes{state="mixed"}'] == 1 and figures['gangway_nodes{state="idle"}'] == 1
    # 11 free, drawn from one job of 5 and one of 8: the 3 of the first node are of no use to either.
    assert figures['gangway_partition_gpus_fragmented{partition="main",gpu_type="all"}'] == 3
    assert figures['gangway_partition_largest_gang_gpus{partition="main",gpu_type="all"}'] == 8
    assert figures["gangway_scheduler_passes_total"] > 0 and figures["gangway_scheduler_steps_total"] > 0
    assert figures["gangway_store_commits_total"] > 0 and figures["gangway_store_writable"] == 1
    for path, status in (("/", 404), ("/metrics/x", 404)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url.replace("/metrics", path), timeout=20)
        assert refused.value.code == status
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url, data=b"x", timeout=20)
    assert refused.value.code == 405

    line = cluster.run("ginfo", "--fragmentation", "-h").stdout.split()
    assert line[1:] == ["all", "16", "11", "3.00", "27.3", "8"], line
    one = json.loads(cluster.run("ginfo", "--fragmentation", "--json").stdout)["fragmentation"][0]
    assert (one["free_gpus"], one["unusable_gpus"], one["largest_gang_gpus"]) == (11, 3, 8)
    cluster.run("gcancel", running, waiting)


def test_priorities_in_parts(cluster_and_url):
    cluster, _ = cluster_and_url
    cluster.wait_idle()
    blocker = cluster.submit("sleep 1000", "-N2", "--gpus-per-node=8")
    cluster.wait_state(blocker, "RUNNING")
    nice = cluster.submit("sleep 1000", "-N1", "--gpus-per-node=2", "--nice=50")
    plain = cluster.submit("sleep 1000", "-N1", "--gpus-per-node=8")
    held = cluster.submit("sleep 1000", "-N1", "--gpus-per-node=8", "--hold")
    rows = [line.split() for line in cluster.run("gprio", "-h", "-o", "%i %Y %A %F %J %N").stdout.splitlines()]
    # The fair share is whole until the use of the only user is told, every five minutes; then it is a half. Sizes: 2 and
    # 8 of 16 GPUs.
    fair = int(rows[0][3])
    assert fair in (10000, 5000)
    assert rows == [[str(plain), str(fair + 400), "0", str(fair), "400", "0"],
                    [str(nice), str(fair), "0", str(fair), "100", "100"]]
    assert cluster.show(plain, "%Q") in ("10400", "5400")
    assert re.search(r" Priority=(10400|5400) ", cluster.reason_text(plain))
    by_slurm = cluster.run("sprio", "-h", "-S", "Y", "-o", "%i").stdout.split()
    assert by_slurm == [str(nice), str(plain)]
    weights = cluster.run("gprio", "-w", "-h").stdout.split()
    assert weights[0] == "Weights" and "10000" in weights and "800" in weights
    shown = json.loads(cluster.run("gprio", "--json", "-j", nice).stdout)
    assert [job["job_id"] for job in shown["jobs"]] == [nice]
    parts = shown["jobs"][0]["parts"]
    assert parts["size"] == {"factor": 0.125, "weight": 800, "product": 100}
    assert sum(part["product"] for part in parts.values()) == pytest.approx(shown["jobs"][0]["score"])
    unknown = cluster.run("gprio", "-j", "9999", check=False)
    assert unknown.returncode == 1 and "9999" in unknown.stderr
    cluster.run("gcancel", blocker, nice, plain, held)


def test_what_jobs_wait_for_is_a_figure(cluster_and_url):
    cluster, url = cluster_and_url
    job = cluster.submit("true", "--hold")
    wait_for(lambda: fetch(url)['gangway_jobs_waiting{cause="held"}'] == 1, "a job that is held")
    cluster.run("gcontrol", "release", job)
    cluster.wait_state(job, "COMPLETED")
    figures = wait_for(lambda: (m := fetch(url))['gangway_job_wait_seconds_count{cause="held"}'] == 1 and m, "its wait")
    held = figures['gangway_job_wait_seconds_sum{cause="held"}']
    assert held > 0 and figures['gangway_job_wait_seconds_bucket{cause="held",le="+Inf"}'] == 1
    assert [value for name, value in figures.items() if name.startswith("gangway_job_waited_seconds_total") and 'cause="held"' in name] == [held]
    assert figures['gangway_jobs_waiting{cause="held"}'] == 0 and figures['gangway_jobs_waiting{cause="quota"}'] == 0
