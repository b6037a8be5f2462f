"""Fixtures of the end-to-end tests."""

import os
import signal

import pytest

from cluster import BIN, Cluster
from quotas import emptied


def pytest_configure(config):
    if not (BIN / "gangway").exists():
        pytest.exit(f"GANGWAY_BIN={BIN}: no program gangway there; set it to the build's bin folder", returncode=2)


def pytest_sessionstart(session):
    # A test run that is told to end takes its clusters down.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        Cluster.test_failed = True
    if report.when == "call" and report.failed:
        for value in getattr(item, "funcargs", {}).values():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, Cluster):
                    report.sections.append(("daemon logs", one.logs()))


@pytest.fixture(autouse=True)
def nothing_is_left():
    """After a test nothing of its jobs is left in clusters that the next test has as well. Those of one test alone are
    taken down by then, and were looked at for that."""
    yield
    for one in Cluster.are_up:
        one.check_leaks()


@pytest.fixture
def make_cluster():
    """A function that starts clusters; all are taken down after the test."""
    made = []

    def make(**options):
        made.append(Cluster(**options))
        return made[-1].up()

    yield make
    for one in made:
        one.down()


@pytest.fixture
def cluster(make_cluster):
    """Two emulated DGX H100 nodes with short timeouts."""
    return make_cluster(nodes=2, config=QUICK)


@pytest.fixture(scope="module")
def shared_cluster():
    """One cluster for a whole file, for tests that leave it as they find it."""
    one = Cluster(nodes=2, config=QUICK)
    try:
        yield one.up()
    finally:
        one.down()


@pytest.fixture(scope="module")
def sixteen_nodes():
    """16 nodes of 8 GPUs, for a whole file."""
    one = Cluster(nodes=16, config=QUICK)
    try:
        yield one.up()
    finally:
        one.down()


@pytest.fixture
def quota_cluster(sixteen_nodes):
    """The same, without jobs and QOS before and after each test."""
    yield from emptied(sixteen_nodes)


QUICK = """
links: {heartbeat: 1s, node_timeout: 3s}
jobs: {kill_wait: 2s}
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def others_can_run(cluster, user):
    """Skips the test where another user cannot run the programs of this build."""
    if cluster.run("gqueue", user=user, check=False).returncode != 0:
        pytest.skip("other users cannot run the programs in this build folder")
