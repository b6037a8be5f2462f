"""A configuration as a university publishes it becomes one of Gangway, and the cluster that comes of it runs."""

import pathlib
import re
import subprocess

import pytest

from cluster import BIN, Cluster

SITE = pathlib.Path(__file__).with_name("slurm_site")
FILES = [SITE / name for name in ("slurm.conf", "gres.conf", "topology.conf", "cgroup.conf")]


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """The configuration that was made, and what was said."""
    out = tmp_path_factory.mktemp("import") / "gangway.yaml"
    done = subprocess.run([BIN / "gangway", "import", *FILES, "-o", out, "--user", "root"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0 and done.stdout == "", done
    return out.read_text(), done.stderr


def test_every_line_is_told_about(imported):
    _, said = imported
    for file in FILES + [SITE / "nodes.conf"]:
        continued = False
        for number, line in enumerate(file.read_text().split("\n"), 1):
            means_something = line and not line.startswith("#") and not line.startswith("Include") and not continued
            told = re.search(rf"/{file.name}:{number}: (taken|changed|ignored): ", said)
            assert bool(told) == bool(means_something), (file.name, number, line)
            continued = line.endswith("\\")
    assert said.endswith("good: 4 nodes, 4 partitions\n")


def test_the_cluster_runs(imported):
    """A private cluster has a controller and a name of its own; all else is as it was imported."""
    assert 'cluster: "hpc-uni"\n' in imported[0]
    text = re.sub(r'controller:\n  user: "root"\n  host: "head1"\n', "", imported[0])
    text = text.replace('cluster: "hpc-uni"\n', "").replace("node_timeout: 300s", "node_timeout: 300s\n  heartbeat: 1s")
    cluster = Cluster(nodes=4, config=text)
    try:
        cluster.up()
        rows = cluster.run("ginfo", "-h", "-N", "-o", "%N %P %f").stdout.split("\n")
        assert "n0 mpi h100,ib" in [row.strip() for row in rows], rows
        gang = cluster.submit("srun -N2 -n2 hostname", "-p", "mpi", "-N2", "--switches=1", "--gpus-per-node=8", "-A", "normal",
                              "--gres=lscratch:100G", "-L", "matlab:2")
        out = cluster.work / f"gangway-{gang}.out"
        assert cluster.wait_ended(gang) == "COMPLETED", out.read_text()
        assert cluster.show(gang, "%N %l") == "n[0-1] 2-00:00:00"
        refused = cluster.run("gbatch", "-p", "old", "--wrap", "true", check=False)
        assert refused.returncode == 1 and "DRAIN" in refused.stderr.upper(), refused
        assert cluster.show(cluster.submit("true", "-p", "teaching"), "%l") == "1:00:00"
        cluster.run("gcancel", "--me")
    finally:
        cluster.down()


def test_mistakes_have_file_and_line(shared_cluster):
    folder = shared_cluster.work / "site"
    folder.mkdir(exist_ok=True)

    def said(text, *more):
        (folder / "slurm.conf").write_text(text)
        done = shared_cluster.gangway("import", folder / "slurm.conf", *more, check=False)
        assert done.returncode == 1 and done.stdout == ""
        return done.stderr

    assert f"{folder}/slurm.conf:2: unknown key \"KilWait\"" in said("NodeName=n0\nKilWait=3\n")
    assert "slurm.conf:1: " in said("Include slurm.conf\n") and "includes itself" in said("Include slurm.conf\n")
    assert "nosuch.conf cannot be read" in said("NodeName=n0\n", folder / "nosuch.conf")
    assert "no file is given" in shared_cluster.gangway("import", check=False).stderr
    (folder / "slurm.conf").write_text("NodeName=n0\nPartitionName=p Nodes=n[0-1]\n")
    done = shared_cluster.gangway("import", folder / "slurm.conf", "-q", "--user", "root", check=False)
    assert done.returncode == 1 and 'nodes: "n[0-1]"' in done.stdout
    assert "to be mended by hand" in done.stderr and "n1" in done.stderr, done.stderr
