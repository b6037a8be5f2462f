"""The dashboard and the alert rules ask for metrics, labels and values that a running controller has, Prometheus accepts them,
and alerts fire when they should and not otherwise (gangway_alerts_test.yml)."""

import json
import pathlib
import re
import socket
import subprocess
import urllib.parse
import urllib.request

import pytest
import yaml
from cluster import Cluster, wait_for
from conftest import QUICK

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DASHBOARD = SOURCE / "etc/grafana/gangway.json"
ALERTS = SOURCE / "etc/prometheus/gangway-alerts.yml"
CASES = pathlib.Path(__file__).with_name("gangway_alerts_test.yml")
OF_TARGET = {"job", "instance"}  # Prometheus adds them to every sample.
VARIABLES = {"$__rate_interval": "5m", "$partition": ".*", "$qos": ".*"}

TREE = QUICK + """
scheduler: {reclaim_delay_max: 0s}
qos:
  - {name: borrower, guaranteed: {gpu: 0}, grace: 1s}
  - {name: owner, guaranteed: {gpu: 8}}
"""


def is_in_use(text):
    """Every metric has samples."""
    return all(re.search(rf"(?m)^{name}(?:_count)?(?:\{{.*\}})? ", text) for name in re.findall(r"(?m)^# TYPE (\S+)", text))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture(scope="module")
def page():
    """The metrics of a controller that has started, preempted and ended jobs."""
    port = free_port()
    one = Cluster(nodes=1, config=TREE + f"metrics: {{listen: '127.0.0.1:{port}'}}\n")

    def look():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as reply:
            text = reply.read().decode()
        return is_in_use(text) and 'gangway_qos_lost_gpu_seconds_total{qos="borrower"}' in text and text

    try:
        one.up()
        one.wait_idle()
        borrowed = one.submit("sleep 600", "-q", "borrower", "--gpus=8", "-N1", "-t", "60")
        one.wait_state(borrowed, "RUNNING")
        due = one.submit("sleep 600", "-q", "owner", "--gpus=8", "-N1", "-t", "60")
        one.wait_state(due, "RUNNING")
        text = wait_for(look, "samples of every metric")
        one.run("gcancel", borrowed, due)
        yield text
    finally:
        one.down()


@pytest.fixture(scope="module")
def exposed(page):
    """Name, as an expression has it -> label -> its values."""
    histograms = set(re.findall(r"(?m)^# TYPE (\S+) histogram$", page))
    assert histograms
    out = {}
    for name, labels in re.findall(r"(?m)^([a-z_]+)(?:\{(.*)\})? \S+$", page):
        assert name not in histograms, "a histogram has samples of its parts alone"
        for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels):
            out.setdefault(name, {}).setdefault(label, set()).add(value)
        out.setdefault(name, {})
    return out


def told():
    """Name -> labels, as the administrator's guide has them."""
    table = (SOURCE / "docs/admin-guide.md").read_text().split("| metric | |")[1].split("\n\n")[0]
    return {name: set(filter(None, labels.split(","))) for name, labels in re.findall(r"`(gangway_[a-z_]+)(?:\{([a-z_,]*)\})?`", table)}


def panels():
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def rules():
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def expressions():
    """(where, expression, what names its series) of both files."""
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"], target.get("legendFormat", "")
    for rule in rules():
        yield rule["alert"], rule["expr"], re.sub(r"\$labels\.(\w+)", r"\1", rule["annotations"]["summary"])


def queries():
    """(variable, metric, label) of the dashboard's variables."""
    variables = json.loads(DASHBOARD.read_text())["templating"]["list"]
    return [(v["name"], *re.fullmatch(r"label_values\((\w+), (\w+)\)", v["definition"]).groups()) for v in variables if v["type"] == "query"]


def labels_asked(expression):
    """(metric, label) for each label that an expression names."""
    for name, matchers in re.findall(r"(gangway_\w+)\{([^}]*)\}", expression):
        yield from ((name, label) for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", re.sub(r'"[^"]*"', "", matchers)))
    for match in re.finditer(r"\b(?:by|without) \(([^)]*)\)", expression):
        first = re.search(r"gangway_\w+", expression[match.end():])[0]
        yield from ((first, label) for label in match[1].split(", "))
    for match in re.finditer(r"\b(?:on|ignoring|group_left|group_right) \(([^)]*)\)", expression):
        yield from ((name, label) for name in re.findall(r"gangway_\w+", expression) for label in match[1].split(", "))


def values_asked(expression):
    """(metric, label, value) for each value that is written out."""
    for name, matchers in re.findall(r"(gangway_\w+)\{([^}]*)\}", expression):
        for label, text in re.findall(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"', matchers):
            if re.fullmatch(r"[\w|]+", text):
                yield from ((name, label, value) for value in text.split("|"))


def slug(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_what_is_asked_for_is_there(exposed):
    guide = told()
    asked = 0
    for where, expression, legend in expressions():
        names = set(re.findall(r"gangway_\w+", expression))
        assert names, (where, expression)
        for name in names:
            whole = re.sub("_(bucket|sum|count)$", "", name)
            assert name in exposed, (where, name)
            assert name in guide or whole in guide, (where, name)
        for name, label in labels_asked(expression):
            whole = re.sub("_(bucket|sum|count)$", "", name)
            assert label in OF_TARGET | set(exposed[name]), (where, name, label)
            assert label in OF_TARGET | {"le"} | guide.get(name, guide.get(whole)), (where, name, label)
            asked += 1
        for name, label, value in values_asked(expression):
            assert value in exposed[name][label], (where, name, label, value)
        for label in re.findall(r"\{\{ ?(\w+) ?\}\}", legend):
            assert label in exposed[re.search(r"gangway_\w+", expression)[0]], (where, label)
    assert asked > 50
    for variable, name, label in queries():
        assert label in exposed[name] and label in guide[name], (variable, name, label)


def test_every_panel_says_what_it_shows():
    board = json.loads(DASHBOARD.read_text())
    everything = board["panels"]
    assert len({panel["id"] for panel in everything}) == len(everything)
    assert [v["name"] for v in board["templating"]["list"]] == ["datasource", "partition", "qos"]
    for panel in panels():
        assert panel["title"] and panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, panel["title"]
        refs = [target["refId"] for target in panel["targets"]]
        assert refs and len(set(refs)) == len(refs), panel["title"]
        for target in panel["targets"]:
            assert set(re.findall(r"\$\w+", target["expr"])) <= set(VARIABLES), target
    places = [(p["gridPos"]["x"] + dx, p["gridPos"]["y"] + dy) for p in everything
              for dx in range(p["gridPos"]["w"]) for dy in range(p["gridPos"]["h"])]
    assert len(set(places)) == len(places) and max(x for x, _ in places) == 23, "panels lie side by side"


def test_every_alert_says_what_to_do():
    for rule in rules():
        name, said = rule["alert"], rule["annotations"]
        assert rule["labels"]["severity"] in ("critical", "warning"), name
        assert set(said) == {"summary", "action", "guide"} and all(said.values()), name
        page, heading = said["guide"].split("#")
        headings = re.findall(r"(?m)^#+ (.*)$", (SOURCE / page).read_text())
        assert heading in map(slug, headings), (name, said["guide"])
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names)


def promtool(*words, **options):
    return subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, check=False, **options)


def test_prometheus_reads_the_metrics(page):
    done = promtool("check", "metrics", input=page)
    # 3: it would have chosen other names.
    assert done.returncode in (0, 3), (done.stdout, done.stderr)


def test_prometheus_accepts_the_rules_and_the_expressions_of_the_dashboard(tmp_path):
    done = promtool("check", "rules", ALERTS)
    assert done.returncode == 0, (done.stdout, done.stderr)
    written = []
    for number, (_, expression, _) in enumerate(expressions()):
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        written.append({"record": f"asked:{number}", "expr": expression})
    path = tmp_path / "asked.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "asked", "rules": written}]}))
    done = promtool("check", "rules", path)
    assert done.returncode == 0 and f"{len(written)} rules found" in done.stdout, (done.stdout, done.stderr)


def test_alerts_fire_when_they_should():
    fired = set(re.findall(r"alertname=\"(\w+)\"", CASES.read_text()))
    assert fired == {rule["alert"] for rule in rules()}, "each alert has a case in which it fires"
    done = promtool("test", "rules", CASES)
    assert done.returncode == 0, (done.stdout, done.stderr)


def asked(port, expression):
    """The series that a running Prometheus answers with."""
    for name, value in {**VARIABLES, "$__rate_interval": "20s"}.items():
        expression = expression.replace(name, value)
    where = f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
    with urllib.request.urlopen(where, timeout=60) as reply:
        told = json.load(reply)
    assert told["status"] == "success", (expression, told)
    return told["data"]["result"]


def test_each_panel_of_the_dashboard_has_series_in_a_running_prometheus(make_cluster, tmp_path):
    metrics, port = free_port(), free_port()
    cluster = make_cluster(nodes=1, config=TREE + f"metrics: {{listen: '127.0.0.1:{metrics}'}}\n")
    config = tmp_path / "prometheus.yml"
    config.write_text(yaml.safe_dump({"global": {"scrape_interval": "1s"}, "rule_files": [str(ALERTS)],
                                      "scrape_configs": [{"job_name": "gangway", "static_configs": [{"targets": [f"127.0.0.1:{metrics}"]}]}]}))
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/data",
                                   f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        borrowed = cluster.submit("sleep 600", "-q", "borrower", "--gpus=8", "-N1", "-t", "60")
        cluster.wait_state(borrowed, "RUNNING")
        due = cluster.submit("sleep 600", "-q", "owner", "--gpus=8", "-N1", "-t", "60")
        cluster.wait_state(due, "RUNNING")

        def is_up():
            try:
                return asked(port, "min_over_time(up[3s])")[0]["value"][1] == "1"
            except (OSError, IndexError):
                return False

        wait_for(is_up, "scrapes")
        targets = [(panel["title"], target["expr"]) for panel in panels() for target in panel["targets"]]
        assert len(targets) > 30
        wait_for(lambda: not [title for title, expression in targets if not asked(port, expression)], "series for each panel", deadline=90)
    finally:
        server.terminate()
        server.wait()
