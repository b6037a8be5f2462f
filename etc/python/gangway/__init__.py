"""A client of a Gangway cluster's API (gwebd), of the standard library alone.

    import gangway
    cluster = gangway.Client("http://127.0.0.1:6923", token_file="~/.gangway-token")
    job = cluster.submit("#!/bin/bash\\nsrun hostname\\n", "-N2", "--gpus-per-node=8", chdir="/home/alice")
    for told in job.wait():
        print(told.state, told.reason)

What the server refuses is an ApiError, with its words. Reading is tried again while the server or the controller is away, for
`patience` seconds; so are changes, each of which has a name of its own by which it is made once.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import ssl
import time
import urllib.parse
import uuid
from typing import Any, Iterator, Optional

__all__ = ["ApiError", "Client", "Job", "Status"]

ENDS = frozenset({"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "DEADLINE",
                  "BOOT_FAIL"})
AWAY = (503, 504)


class ApiError(Exception):
    """`status` of HTTP (0: the server was not reached), `code` as docs/web.md lists them, and what would help."""

    def __init__(self, status: int, code: str, message: str, hint: str = ""):
        super().__init__(message + (f" ({hint})" if hint else ""))
        self.status, self.code, self.message, self.hint = status, code, message, hint


@dataclasses.dataclass(frozen=True)
class Status:
    """What a job does: its state, why it waits or how it ended, and all keys that the API has of it."""

    state: str
    reason: str
    details: dict

    @property
    def has_ended(self) -> bool:
        return self.state in ENDS


class Client:
    """Speaks to one gwebd. `token`, or a file that holds it; without one only what is open to all can be read."""

    def __init__(self, address: str, token: Optional[str] = None, token_file: Optional[str] = None, patience: float = 60.0,
                 trust: Optional[ssl.SSLContext] = None):
        parts = urllib.parse.urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
            raise ValueError(f"{address!r} is no address of a server: http://HOST:PORT or https://HOST:PORT")
        if token is not None and token_file is not None:
            raise ValueError("token, or token_file, and not both")
        if token_file is not None:
            with open(os.path.expanduser(token_file), encoding="ascii") as file:
                token = file.read().strip()
        self._host, self._port = parts.hostname, parts.port
        self._trust = (trust or ssl.create_default_context()) if parts.scheme == "https" else None
        self._token = token
        self._patience = patience

    def get(self, path: str, **parameters: Any) -> dict:
        """What a path below /api/v1 answers: get("jobs", state="PENDING")."""
        query = urllib.parse.urlencode({name: value for name, value in parameters.items() if value is not None})
        return self._ask("GET", f"{path}?{query}" if query else path, None)

    def post(self, path: str, **body: Any) -> dict:
        """Changes something; made once, however often the connection breaks."""
        return self._ask("POST", path, body)

    def submit(self, script: str, *options: str, chdir: str, arguments: tuple[str, ...] = (),
               environment: Optional[dict[str, str]] = None) -> Job:
        """Submits a batch job; options are those of gbatch."""
        reply = self.post("jobs", script=script, options=list(options), chdir=chdir, arguments=list(arguments),
                          environment=environment or {})
        return Job(self, reply["job_id"])

    def job(self, number: int) -> Job:
        return Job(self, number)

    def jobs(self, **filters: Any) -> list[dict]:
        """All that pass the filters (state, user, partition, qos, account, name, node), asked for in pieces."""
        found: list[dict] = []
        while True:
            piece = self.get("jobs", offset=len(found), limit=1000, **filters)
            found += piece["jobs"]
            if not piece["jobs"] or len(found) >= piece["total"]:
                return found

    def _ask(self, method: str, path: str, body: Optional[dict]) -> dict:
        headers = {"Accept": "application/json"}
        data = None
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
            headers["Idempotency-Key"] = uuid.uuid4().hex
        until = time.monotonic() + self._patience
        pause = 0.2
        while True:
            try:
                return self._once(method, f"/api/v1/{urllib.parse.quote(path, safe='/?&=%+,:')}", data, headers)
            except ApiError as error:
                if (error.status != 0 and error.status not in AWAY) or time.monotonic() + pause >= until:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 5.0)

    def _once(self, method: str, target: str, data: Optional[bytes], headers: dict[str, str]) -> dict:
        if self._trust is not None:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(self._host, self._port, timeout=60,
                                                                                 context=self._trust)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=60)
        try:
            connection.request(method, target, data, headers)
            reply = connection.getresponse()
            text = reply.read()
        except ssl.SSLCertVerificationError as error:
            raise ApiError(495, "certificate", f"the certificate of {self._host} is not trusted: {error.verify_message}") from error
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(0, "unreachable", f"the server at {self._host} is not reached: {error}") from error
        finally:
            connection.close()
        try:
            told = json.loads(text)
        except ValueError as error:
            raise ApiError(reply.status, "protocol", f"the server answers {reply.status}, and no JSON",
                           "is it gwebd that serves there?") from error
        if reply.status == 200:
            return told
        fault = told.get("error", {})
        raise ApiError(reply.status, fault.get("code", "unknown"), fault.get("message", f"status {reply.status}"),
                       fault.get("hint", ""))


class Job:
    """A job of the cluster, by its number."""

    def __init__(self, client: Client, number: int):
        self.client, self.number = client, number

    def __repr__(self) -> str:
        return f"Job({self.number})"

    def status(self) -> Status:
        details = self.client.get(f"jobs/{self.number}")["jobs"][0]
        return Status(details["job_state"][0], details["state_description"] or details["state_reason"], details)

    def why(self) -> str:
        """In words: why it waits, or runs where it does."""
        return self.client.get(f"jobs/{self.number}/why")["text"]

    def wait(self, every: float = 2.0) -> Iterator[Status]:
        """Each new state and reason, now and as they come, the end last."""
        last = None
        while True:
            told = self.status()
            if last is None or (told.state, told.reason) != (last.state, last.reason):
                yield told
                last = told
            if told.has_ended:
                return
            time.sleep(every)

    def cancel(self, signal: Optional[int] = None) -> None:
        self.client.post(f"jobs/{self.number}/cancel", **({} if signal is None else {"signal": signal}))

    def hold(self) -> None:
        self.client.post(f"jobs/{self.number}/hold")

    def release(self) -> None:
        self.client.post(f"jobs/{self.number}/release")

    def requeue(self) -> None:
        self.client.post(f"jobs/{self.number}/requeue")

    def read_output(self) -> str:
        """What it has written to its standard output so far, from a file system that this host shares with the node."""
        path = self.status().details["standard_output"]
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
