"""The web server of a private cluster, as programs ask it."""

import http.client
import json
import re

from cluster import wait_for

WEB = 'web: {listen: "127.0.0.1:0", open_to_read: true}\n'
CLOSED = 'web: {listen: "127.0.0.1:0"}\n'


def address(cluster):
    """HOST:PORT where gwebd serves, as its log says."""
    log = cluster.dir / "log" / "gwebd.log"

    def found():
        lines = re.findall(r"serves at https?://(\S+?)/", log.read_text() if log.exists() else "")
        return lines[-1] if lines else None

    return wait_for(found, "gwebd")


class Web:
    """Asks, with a token if it is given one."""

    def __init__(self, cluster, token=None):
        self.where = address(cluster)
        self.token = token

    def ask(self, path, method="GET", body=None, **headers):
        """Status and JSON."""
        connection = http.client.HTTPConnection(self.where, timeout=60)
        if self.token is not None:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        connection.request(method, path if path.startswith("/") else f"/api/v1/{path}", body if isinstance(body, (bytes, type(None)))
                           else json.dumps(body).encode(), {name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        text = reply.read()
        self.headers = dict(reply.getheaders())
        connection.close()
        return reply.status, json.loads(text)

    def get(self, path):
        status, body = self.ask(path)
        assert status == 200, body
        return body

    def refused(self, status, path, **options):
        """The message of an error, of this status."""
        found, body = self.ask(path, **options)
        assert found == status, body
        assert body.keys() == {"error"} and body["error"].keys() == {"code", "message", "hint"}, body
        return body["error"]["message"]


def words_of(why):
    """The first line of what is said of a job, but for the time that goes on."""
    return re.sub(r" \([0-9:]+\)", "", why.splitlines()[0])


def make_token(cluster, user, *options):
    """Its secret."""
    secret = cluster.run("gangway", "token", "make", *options, user=user).stdout.strip()
    assert re.fullmatch(r"gwt_[0-9a-f]{64}", secret)
    return secret
