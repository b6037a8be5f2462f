"""The API of gwebd: what it reads for everybody, what it does for the holder of a token, and what it refuses."""

import http.client
import json
import os
import re
import socket
import subprocess
import time

import pytest

from cluster import BIN, wait_for
from conftest import QUICK, needs_root, others_can_run
from web import CLOSED, WEB, Web, address, make_token, words_of

USER, OTHER = "daemon", "games"


@pytest.fixture(scope="module")
def site():
    from cluster import Cluster
    one = Cluster(nodes=2, config=QUICK + WEB + "qos: [{name: team-a, guaranteed: {gpu: 8}}, {name: team-b, guaranteed: {gpu: 8}}]\n")
    try:
        yield one.up()
    finally:
        one.down()


def test_everybody_reads_what_the_commands_tell(site):
    running = site.submit("sleep 600", "-N1", "--gpus-per-node=8", "-t", "60", "-J", "<b>big</b>")
    site.wait_state(running, "RUNNING")
    waiting = site.submit("sleep 600", "-N2", "--gpus-per-node=8", "-t", "60")
    web = Web(site)
    wait_for(lambda: web.get(f"jobs/{waiting}/why")["state"] == "PENDING", "the scheduler's word")
    ping = web.get("ping")["pings"][0]
    assert (ping["running"], ping["pending"], ping["nodes"]) == (1, 1, 2)
    jobs = web.get("jobs")
    assert jobs["total"] == 2 and [job["job_id"] for job in jobs["jobs"]] == [int(running), int(waiting)]
    assert jobs["jobs"][0].keys() == site.json("gqueue", "--json", "-j", running)["jobs"][0].keys()
    assert web.get(f"jobs?state=RUNNING&fields=job_id,name&limit=1")["jobs"] == [{"job_id": int(running), "name": "<b>big</b>"}]
    assert web.get("jobs?offset=1&limit=5&fields=job_id") ["jobs"] == [{"job_id": int(waiting)}]
    one = web.get(f"jobs/{running}")["jobs"][0]
    assert [event["kind"] for event in one["history"]][0] == "submitted" and len(one["allocation"][0]["gpus"]) > 0
    why = web.get(f"jobs/{waiting}/why")
    command = site.run("gangway", "why", waiting).stdout
    assert words_of(why["text"]) == words_of(command) and why["blockers"] != []
    assert "RUNNING" in web.get(f"jobs/{running}/why")["text"]
    nodes = web.get("nodes")["nodes"]
    assert [node["name"] for node in nodes] == ["n0", "n1"] and nodes[0]["gpus_total"] == 8
    topology = web.get("nodes/n0")["nodes"][0]["topology"]
    assert len(topology["gpus"]) == 8 and len(topology["links"]) == 28 and topology["nics"] != []
    cluster = web.get("cluster")
    assert cluster["gpus"] == {"total": 16, "in_use": 8, "free": 8, "offline": 0}
    assert sorted(node[0] for node in cluster["nodes"]) == ["n0", "n1"]
    assert {side["name"] for side in web.get("shares")["sides"]} >= {"team-a", "team-b"}
    assert {qos["name"] for qos in web.get("quotas")["qos"]} >= {"team-a", "team-b"}
    assert web.get("partitions")["partitions"][0]["name"] == "main"
    assert web.get("reservations")["reservations"] == []
    assert web.get(f"events?job={running}&limit=1")["events"][0]["job"] == int(running)
    assert web.get("me") == {"schema_version": 1, "user": None, "read_only": True, "expires": None}
    for job in (running, waiting):
        site.run("gcancel", job)


def test_the_document_tells_every_path(site):
    document = Web(site).get("openapi.json")
    assert document["openapi"].startswith("3.1") and set(document["paths"]) >= {"/api/v1/jobs", "/api/v1/jobs/{id}/why"}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"] and method in ("get", "post"), path
            assert len(re.findall(r"{", path)) == sum(p["in"] == "path" for p in operation["parameters"]), path
            if method == "get" and path not in ("/api/v1/stream",):
                status, _ = Web(site).ask(path.replace("{id}", "999999").replace("{name}", "n0"))
                assert status in (200, 404), path
    assert document["paths"]["/api/v1/jobs"]["post"]["security"] == [{"token": []}]


def test_what_is_wrong_is_told_as_json(site):
    web = Web(site)
    assert web.refused(404, "nosuch") == "there is no /api/v1/nosuch"
    assert web.refused(404, "/nosuch") == "there is no /nosuch"
    assert web.refused(404, "jobs/999999") == "Invalid job id specified: 999999"
    assert "the number of the job" in web.refused(400, "jobs/0")
    assert "the number of the job" in web.refused(400, "jobs/4294967296")
    assert web.refused(404, "jobs/7/why/") == "there is no /api/v1/jobs/7/why/"
    assert web.refused(400, "jobs?stat=x") == "GET /api/v1/jobs has no parameter stat"
    assert "NOSUCH" in web.refused(400, "jobs?state=NOSUCH")
    assert "limit" in web.refused(400, "jobs?limit=0")
    assert "limit" in web.refused(400, "jobs?limit=99999999999999999999")
    assert web.refused(404, "nodes/nosuch")
    assert web.refused(400, "nodes?name=n[1-99999999]")
    assert web.refused(405, "jobs", method="DELETE") == "this is asked by GET, POST"
    assert web.headers["Allow"] == "GET, POST"
    assert web.refused(405, "jobs/7/cancel") == "this is asked by POST"
    assert web.refused(405, "/", method="POST") == "this is asked by GET"
    assert web.refused(400, "jobs?x=%00") == "a byte 0 in the request"
    host, port = web.where.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as one:
        one.sendall(b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
        assert one.recv(1000).startswith(b"HTTP/1.1 413 ")


def test_pages_of_others_and_names_of_others_are_refused(site):
    web = Web(site)
    port = web.where.rsplit(":", 1)[1]
    assert web.refused(421, "ping", Host="evil.example.org") == "this server is not called evil.example.org"
    assert web.refused(421, "/", Host="127.0.0.1.evil.example.org")
    assert web.ask("ping", Host=f"localhost:{port}")[0] == 200
    assert web.refused(403, "ping", Origin="https://evil.example.org")
    assert web.refused(403, "ping", Origin="null")
    assert web.refused(403, "ping", Sec_Fetch_Site="cross-site")
    assert web.ask("ping", Origin=f"http://{web.where}")[0] == 200
    for path in ("ping", "/", "nosuch"):
        connection = http.client.HTTPConnection(web.where, timeout=60)
        connection.request("GET", path if path == "/" else f"/api/v1/{path}")
        headers = dict(connection.getresponse().getheaders())
        assert "default-src 'none'" in headers["Content-Security-Policy"] and headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in headers


def test_without_a_token_nothing_is_changed(site):
    job = site.submit("sleep 600", "--hold")
    web = Web(site)
    for path in (f"jobs/{job}/cancel", f"jobs/{job}/release", f"jobs/{job}/requeue", "jobs"):
        body = {"script": "#!/bin/sh\n", "chdir": "/tmp"} if path == "jobs" else {}
        assert web.refused(401, path, method="POST", body=body) == "changes need a token"
    assert web.headers["WWW-Authenticate"] == "Bearer"
    assert site.state(job) == "PENDING"
    site.run("gcancel", job)


@needs_root
def test_a_token_acts_for_its_maker(site):
    others_can_run(site, USER)
    web = Web(site, make_token(site, USER, "--name", "test"))
    me = web.get("me")
    assert me["user"] == USER and me["read_only"] is False
    assert abs(me["expires"] - time.time() - 12 * 3600) < 300
    script = "#!/bin/bash\n#GBATCH -J from-the-web\nid -un > $PWD/web.$SLURM_JOB_ID; echo $1 $COLOUR >> $PWD/web.$SLURM_JOB_ID\n"
    status, done = web.ask("jobs", method="POST", body={"script": script, "chdir": "/tmp", "arguments": ["an argument"],
                                                       "options": ["-N1", "--gpus-per-node=1", "-t", "5"],
                                                       "environment": {"COLOUR": "blue"}})
    assert status == 200, done
    job = str(done["job_id"])
    site.wait_state(job, "COMPLETED")
    assert open(f"/tmp/web.{job}").read() == f"{USER}\nan argument blue\n"
    os.unlink(f"/tmp/web.{job}")
    shown = web.get(f"jobs/{job}")["jobs"][0]
    assert (shown["user_name"], shown["name"], shown["gpus"]) == (USER, "from-the-web", 1)

    held = site.submit("sleep 600", "--hold", "-t", "5", user=USER)
    foreign = site.submit("sleep 600", "-t", "5", user=OTHER)
    assert web.ask(f"jobs/{held}/hold", method="POST")[0] == 200
    assert web.ask(f"jobs/{held}/release", method="POST")[1]["jobs"] == [int(held)]
    site.wait_state(held, "RUNNING")
    assert web.ask(f"jobs/{held}/requeue", method="POST")[0] == 200
    assert web.ask(f"jobs/{held}/cancel", method="POST", body={})[0] == 200
    site.wait_state(held, "CANCELLED")
    for verb in ("cancel", "hold", "requeue"):
        assert web.refused(403, f"jobs/{foreign}/{verb}", method="POST")
    assert site.state(foreign) in ("PENDING", "RUNNING")
    assert web.refused(409, f"jobs/{held}/cancel", method="POST")
    site.run("gcancel", foreign)


@needs_root
def test_nobody_is_told_what_another_asked(site):
    others_can_run(site, USER)
    visitors = [Web(site, make_token(site, USER)), Web(site, make_token(site, OTHER)), Web(site)]
    for _ in range(3):
        assert [web.get("me")["user"] for web in visitors] == [USER, OTHER, None]


@needs_root
def test_a_change_of_one_name_is_made_once(site):
    others_can_run(site, USER)
    web = Web(site, make_token(site, USER))
    body = {"script": "#!/bin/sh\nexit\n", "chdir": "/tmp", "options": ["--hold", "-t", "5"]}
    ids = {web.ask("jobs", method="POST", body=body, Idempotency_Key="one")[1]["job_id"] for _ in range(3)}
    assert len(ids) == 1
    other_request = web.ask(f"jobs/{min(ids)}/release", method="POST", Idempotency_Key="one")
    assert other_request[1]["jobs"] == list(ids), "the same name for something else is no repetition"
    another = Web(site, make_token(site, USER)).ask("jobs", method="POST", body=body, Idempotency_Key="one")[1]["job_id"]
    assert another not in ids, "names are of a token"
    for job in ids | {another}:
        site.run("gcancel", str(job))


@needs_root
def test_what_a_submission_may_not_say(site, tmp_path):
    others_can_run(site, USER)
    web = Web(site, make_token(site, USER))

    def refused(**body):
        return web.refused(400, "jobs", method="POST", body={"script": "#!/bin/sh\n", "chdir": "/tmp", **body})

    assert "files are not read here" in refused(options=["--nodefile=/etc/passwd"])
    assert "files are not read here" in refused(options=["-w", "/etc/passwd"])
    assert "files are not read here" in refused(options=["--export-file=/etc/passwd"])
    assert "files are not read here" in refused(script="#!/bin/sh\n#SBATCH --nodefile=/etc/passwd\n")
    assert "--nosuch" in refused(options=["--nosuch"])
    assert "there is a script already" in refused(options=["--wrap=x"])
    assert refused(chdir="") == "chdir: no folder is named"
    assert refused(chdir="here") == "chdir: here is not absolute"
    assert "Batch script is empty" in refused(script="")
    assert refused(script=7) == "script is no text"
    assert refused(options="-N2") == "options is no list of texts"
    assert refused(options=[1]) == "options is no list of texts"
    assert refused(environment=["A=b"]) == "environment is no object of texts"
    assert "is no name" in refused(environment={"A=B": "c"})
    assert "is no name" in refused(environment={"A": "\0"})
    assert refused(argument=["x"]) == "the body has no key argument"
    assert "has no sense here" in refused(options=["--wait"]) and "is none" in refused(options=["script.sh"])
    many = {f"k{i}": "" for i in range(100_000)}
    status, done = web.ask("jobs", method="POST", body={"script": "#!/bin/sh\n", "chdir": "/tmp", "environment": many})
    assert status in (200, 400, 413), done
    if status == 200:
        site.run("gcancel", str(done["job_id"]))
    for body in (b"{", b"[1]", b"\xff", b"[" * 1_000_000, b"null"):
        assert web.refused(400, "jobs", method="POST", body=body) == "the body is no JSON object"
    assert web.refused(400, "jobs/7/cancel", method="POST", body={"signal": 65})
    assert web.refused(400, "jobs/7/hold", method="POST", body={"x": 1})


@needs_root
def test_a_token_ends_and_is_of_no_more_use(site):
    others_can_run(site, USER)
    read_only = Web(site, make_token(site, USER, "--read-only", "--name", "dashboard"))
    job = site.submit("sleep 600", "--hold", user=USER)
    assert read_only.get("me")["read_only"] is True
    assert read_only.refused(403, f"jobs/{job}/cancel", method="POST") == "this token only reads"
    listed = json.loads(
        site.run("gangway", "token", "list", "--json", user=USER).stdout)["tokens"]
    mine = next(token for token in listed if token["name"] == "dashboard")
    assert mine["user"] == USER and mine["read_only"] is True
    assert "no token" in site.run("gangway", "token", "revoke", mine["id"], user=OTHER, check=False).stderr
    assert read_only.get("me")["user"] == USER
    site.run("gangway", "token", "revoke", mine["id"], user=USER)
    wait_for(lambda: read_only.ask("me")[0] in (401, 403), "the end of the token")
    assert read_only.refused(401, "jobs") == "the token is unknown, has ended or was revoked"

    short = Web(site, make_token(site, USER, "--lifetime", "1s"))
    wait_for(lambda: short.ask("ping")[0] in (401, 403), "the end of the token")
    assert short.refused(401, "ping") == "the token is unknown, has ended or was revoked"
    for secret in ("", "x", "gwt_" + "0" * 64, "gwt_" + "0" * 10_000):
        assert Web(site, secret).refused(401, "ping")
    assert Web(site).refused(401, "ping", Authorization="Basic eDp5")
    site.run("gcancel", job)


@needs_root
def test_tokens_are_durable_and_roots_are_none(site):
    others_can_run(site, USER)
    refused = site.run("gangway", "token", "make", check=False)
    assert refused.returncode == 1 and "root makes no tokens" in refused.stderr
    web = Web(site, make_token(site, USER))
    assert web.get("me")["user"] == USER
    site.restart("gctld")
    assert wait_for(lambda: web.ask("me")[0] == 200 and web.get("me"), "the controller")["user"] == USER
    state = b"".join(path.read_bytes() for path in (site.dir / "state").glob("gangway.db*"))
    assert web.token.encode() not in state and web.token[4:].encode() not in state
    assert "make_token" in site.run("gcontrol", "show", "audit").stdout
    everybodys = site.run("gangway", "token", "list", "--all").stdout
    assert USER in everybodys and web.token not in everybodys
    assert site.run("gangway", "token", "list", "--all", user=USER, check=False).returncode == 1
    site.run("gangway", "token", "revoke", "--all", user=USER)
    wait_for(lambda: web.ask("me")[0] in (401, 403), "the end of the token")


@needs_root
def test_nobody_else_acts_for_others(make_cluster):
    """Where gwebd is another user than the one that runs here, what it can do nobody else can."""
    cluster = make_cluster(nodes=1, config=QUICK + 'web: {listen: "127.0.0.1:0", user: bin}\n')
    others_can_run(cluster, USER)
    web = Web(cluster, make_token(cluster, USER))
    assert web.get("me")["user"] == USER
    assert Web(cluster).refused(401, "ping") == "this takes a token"
    status = (f"/proc/{cluster.pid('gwebd')}/status")
    uids = re.search(r"Uid:\s+(\d+)\s+(\d+)\s+(\d+)", open(status).read()).groups()
    assert set(uids) == {"2"}, "it gave up root's rights"
    path = (cluster.dir / "run").resolve() / "gangway.yaml"
    path.write_text(path.read_text().replace("user: bin", "user: nobody"))
    cluster.run("gcontrol", "reconfigure")
    other = Web(cluster, make_token(cluster, USER))
    assert other.refused(401, "me") == "only gwebd acts for others"
    assert web.get("me")["user"] == USER, "who came before goes on"


def test_a_closed_server_tells_nothing(make_cluster):
    cluster = make_cluster(nodes=1, config=QUICK + CLOSED)
    web = Web(cluster)
    guessed = Web(cluster, "gwt_" + "0" * 64)
    for path in ("ping", "jobs", "openapi.json", "stream", "nosuch", "jobs?nonsense=1"):
        assert web.refused(401, path) == "this takes a token"
        assert guessed.refused(401, path) == "the token is unknown, has ended or was revoked"
    connection = http.client.HTTPConnection(web.where, timeout=60)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200, "the page itself tells nothing"


@needs_root
def test_private_data_stays_private(make_cluster):
    cluster = make_cluster(nodes=1, config=QUICK + WEB + "private: [jobs, users, usage]\n")
    job = cluster.submit("sleep 600")
    cluster.wait_state(job, "RUNNING")
    web = Web(cluster)
    assert web.get("jobs")["total"] == 0
    assert web.refused(404, f"jobs/{job}")
    assert web.refused(404, f"jobs/{job}/why")
    assert web.ask("events")[0] == 403


@needs_root
def test_who_guesses_tokens_keeps_nobody_out(site):
    """Nothing that comes with a token that nobody knows is looked at, and nothing is kept of it."""
    others_can_run(site, USER)
    for i in range(60):
        path, method = (("jobs?nonsense=1", "GET"), ("stream", "GET"), ("jobs", "POST"))[i % 3]
        body = {"script": "#!/bin/sh\n", "chdir": "/tmp", "options": ["-w", "n[0-9999]"] * 50} if method == "POST" else None
        assert Web(site, f"gwt_{i:064x}").refused(401, path, method=method, body=body)
    assert Web(site, make_token(site, USER)).get("me")["user"] == USER
    audit = site.run("gcontrol", "show", "audit", "last=1000").stdout
    assert "act_for" not in audit, "anybody may show gwebd anything"


def test_no_question_is_taken_for_another(site):
    web = Web(site)
    assert web.get("jobs?fields=job_id&limit=1&name=zz%0Aoffset=7")["offset"] == 0
    assert web.get("jobs?fields=job_id&limit=1&name=zz&offset=7")["offset"] == 7
    assert web.get("jobs?fields=%FF")["jobs"] is not None
    assert web.refused(405, "stream", method="G") and web.refused(405, "ping", method="ET")


def test_open_pages_hear_of_changes(site):
    connection = http.client.HTTPConnection(address(site), timeout=60)
    connection.request("GET", "/api/v1/stream")
    reply = connection.getresponse()
    assert reply.getheader("Content-Type") == "text/event-stream"
    versions = []

    def next_version():
        while True:
            line = reply.readline().decode()
            if line.startswith("data: "):
                versions.append(int(line[6:]))
                return versions[-1]

    first = next_version()
    job = site.submit("sleep 600", "--hold")
    while next_version() == first:
        pass
    site.run("gcancel", job)
    connection.close()


def test_the_controller_may_be_away(make_cluster):
    cluster = make_cluster(nodes=1, config=QUICK + WEB)
    web = Web(cluster)
    web.get("ping")
    cluster.kill("gctld")
    wait_for(lambda: web.ask("ping")[0] != 200, "the last answer's end")
    message = web.refused(503, "ping")
    assert "the controller is not reached" in message and web.headers["Retry-After"] == "5"
    connection = http.client.HTTPConnection(web.where, timeout=60)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200
    cluster.start("gctld")
    wait_for(lambda: web.ask("ping")[0] == 200, "the controller")


def test_hostile_clients_harm_nobody(site):
    """Many silent connections, half requests, and readers that do not read."""
    host, port = address(site).rsplit(":", 1)
    sockets = [socket.create_connection((host, int(port))) for _ in range(300)]
    for i, one in enumerate(sockets):
        one.sendall((b"", b"GET / HT", b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx",
                     b"GET /api/v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20, b"\0" * 1000)[i % 5])
    assert Web(site).get("ping")["pings"][0]["pinged"] == "UP"
    for one in sockets:
        one.close()
    assert Web(site).get("ping")["pings"][0]["pinged"] == "UP"


@needs_root
def test_tls(make_cluster, tmp_path):
    """A token goes over TLS; a certificate that is none keeps gwebd from starting."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"], check=True,
                   capture_output=True)
    (tmp_path / "key.pem").chmod(0o600)
    cluster = make_cluster(nodes=1, config=QUICK + f'web: {{listen: "127.0.0.1:0", open_to_read: true, certificate: {tmp_path}/cert.pem, '
                           f'key: {tmp_path}/key.pem}}\n')
    import ssl
    trust = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    connection = http.client.HTTPSConnection(address(cluster), timeout=60, context=trust)
    connection.request("GET", "/api/v1/ping")
    assert json.loads(connection.getresponse().read())["pings"][0]["pinged"] == "UP"
    with pytest.raises((http.client.HTTPException, OSError)):
        plain = http.client.HTTPConnection(address(cluster), timeout=60)
        plain.request("GET", "/api/v1/ping")
        plain.getresponse()
    (tmp_path / "cert.pem").write_text("nonsense")
    done = subprocess.run([BIN / "gwebd", "--config", (cluster.dir / "run").resolve() / "gangway.yaml"], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 1 and "certificate and key" in done.stderr, done


def test_gwebd_says_why_it_does_not_start(cluster):
    def started(*words):
        done = subprocess.run([BIN / "gwebd", *words], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    config = str((cluster.dir / "run").resolve() / "gangway.yaml")
    assert started("--config", config) == (
        1, "gwebd: error: web.listen is empty: there is nothing to serve (web: {listen: 127.0.0.1:6923})\n")
    code, said = started("--config", "/nonexistent")
    assert code == 1 and "/nonexistent" in said
    code, said = started("nonsense")
    assert code == 2 and "nonsense" in said
