#!/usr/bin/python3
"""Writes the database of a controller as text: what the test stored_rows restores.

Usage (root): GANGWAY_BIN=BUILD/bin tests/unit/stored_rows/make.py > tests/unit/stored_rows/schema_8.sql
A private cluster of that build gets something of each kind (tests/e2e/test_takeover.py); then its controller is ended, and
each table is written as SQL. Invariant: environments are left out, and nothing in the rows names this machine's folders but
the cluster's own, which is gone.
"""

import os
import pathlib
import sqlite3
import sys

sys.dont_write_bytecode = True
E2E = pathlib.Path(__file__).resolve().parents[2] / "e2e"
sys.path.insert(0, str(E2E))
import machines  # noqa: E402
from cluster import Cluster  # noqa: E402
from test_takeover import CONFIG, Everything, stop  # noqa: E402

os.environ.pop("GANGWAY_BIN")  # jobs get it, else


class BareCluster(Cluster):
    """Its jobs bring no environment."""

    def submit(self, script, *options, **more):
        return super().submit(script, "--export=NONE", *options, **more)

    def popen(self, program, *words, **more):
        return super().popen(program, "--export=NONE", *words, **more)


def value(it):
    """A literal of SQL."""
    if isinstance(it, bytes):
        return f"X'{it.hex()}'"
    return str(it) if isinstance(it, int) else "'" + it.replace("'", "''") + "'"


def dump(path):
    """Lines of SQL that make the same database, but for most of the history, which nobody restores."""
    with sqlite3.connect(path) as db:
        for pragma in ("application_id", "user_version"):
            yield f"PRAGMA {pragma}={db.execute(f'PRAGMA {pragma}').fetchone()[0]};"
        made = db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
        for (sql,) in made.fetchall():
            yield sql + ";"
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name").fetchall():
            part = " WHERE job IN (0,2) OR seq=(SELECT max(seq) FROM events)" if name == "events" else ""
            for row in db.execute(f"SELECT * FROM {name}{part}").fetchall():
                yield f"INSERT INTO {name} VALUES({','.join(map(value, row))});"


def main():
    cluster = BareCluster(nodes=8, topology="", config=CONFIG)
    cluster.topology = cluster.work / "machine.xml"
    cluster.topology.write_text(machines.flat_machine(8, cores=12))
    cluster.up()
    try:
        Everything(cluster)
        stop(cluster, "gctld")
        print("-- What a controller had stored; made by make.py. One line a row.")
        for line in dump(cluster.dir / "state" / "gangway.db"):
            print(line)
        cluster.start("gctld")
    finally:
        cluster.down()


if __name__ == "__main__":
    main()
