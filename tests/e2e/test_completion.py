"""What shells offer: options, and jobs, partitions, nodes and the like of the live cluster."""

import shutil

import pytest

from cluster import BIN

SHARE = BIN.parent / "share"
BASH = """
for file in {folder}/*; do . "$file" || exit 3; done
compopt() {{ :; }}
try() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _$1; echo "${{COMPREPLY[@]}}"; }}
{tries}
"""


def offered(cluster, *tries):
    script = BASH.format(folder=SHARE / "bash-completion/completions", tries="\n".join("try " + t for t in tries))
    env = {"PATH": f"{BIN}:/usr/bin:/bin"}
    return cluster.run("bash", "-c", script, env=env).stdout.split("\n")[:-1]


def test_bash_offers_what_is_there(shared_cluster):
    job = shared_cluster.submit("true", "--hold")
    partition = shared_cluster.show(job, "%P")
    lines = offered(shared_cluster, "gbatch --parti", "gbatch -p ''", f"gbatch --partition = {partition[:1]}",
                    "grun -w n", "grun -w n0,n", "gcancel ''", "gcontrol rel", "gcontrol --his",
                    "gqueue -j ''", "gbatch --nosuch")
    assert lines == ["--partition=", partition, partition, "n0 n1", "n0,n0 n0,n1", str(job), "release",
                     "--history", str(job), ""]
    shared_cluster.run("gcancel", job)


def test_bash_offers_nothing_where_the_controller_is_away(shared_cluster):
    script = BASH.format(folder=SHARE / "bash-completion/completions", tries="try gcancel ''")
    env = {"PATH": f"{BIN}:/usr/bin:/bin", "GANGWAY_CONF": "/nosuch"}
    done = shared_cluster.run("bash", "-c", script, env=env)
    assert (done.stdout, done.stderr) == ("\n", "")


@pytest.mark.parametrize("shell, folder", [("zsh", "zsh/site-functions"), ("fish", "fish/vendor_completions.d")])
def test_other_shells_can_read_theirs(shared_cluster, shell, folder):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    for file in sorted((SHARE / folder).iterdir()):
        assert shared_cluster.run(shell, "-n", file).stderr == "", file


def test_the_options_of_a_job_are_in_groups(shared_cluster):
    for name in ("gbatch", "grun", "galloc"):
        titles = [line for line in shared_cluster.run(name, "--help").stdout.split("\n")
                  if line.endswith(":") and not line.startswith(" ")]
        assert titles[:3] == ["What it is:", "Size:", "GPUs and other resources:"]
        assert "Other:" not in titles and "Options:" not in titles
