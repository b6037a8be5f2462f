"""--get-user-env and --export=NONE: a script has the variables of its user's login on the node."""

import pytest

PROFILE = """echo welcome
export FROM_LOGIN="yes, it
is" CHOSEN=login
PATH=/opt/site/bin:$PATH
[ ! -e "$HOME/slow" ] || sleep 1000
[ ! -e "$HOME/bad" ] || exit 3
"""
SCRIPT = """#!/bin/sh
echo "[$FROM_LOGIN] [$CHOSEN] [${NOT_SENT-unset}]"
case ":$PATH:" in *:/opt/site/bin:*) echo site path;; esac
command -v srun > /dev/null && srun -n1 true && echo finds srun
env | grep -c -e SLURM_GET_USER_ENV -e '^SHLVL='
env | grep -c '^SLURM_TASK_PID='
"""


class Home:
    def __init__(self, cluster):
        self.cluster = cluster
        self.folder = cluster.work / "home"
        self.folder.mkdir(exist_ok=True)
        (self.folder / ".profile").write_text(PROFILE)

    def output(self, *options):
        env = {"NOT_SENT": "sent", "HOME": str(self.folder), "SHELL": "/bin/bash", "CHOSEN": "mine"}
        done = self.cluster.run("sbatch", "--parsable", "-o", "out-%j", *options, input=SCRIPT, env=env)
        assert done.stderr == ""
        job = done.stdout.strip()
        self.cluster.wait_state(job, "COMPLETED")
        return (self.cluster.work / f"out-{job}").read_text().splitlines()


@pytest.fixture
def home(shared_cluster):
    return Home(shared_cluster)


def test_names_alone(home):
    assert home.output("--export", "HOME,SHELL,CHOSEN") == [
        "[yes, it", "is] [mine] [unset]", "site path", "finds srun", "0", "1"]


def test_what_goes_along_stands_above(home):
    lines = home.output("--get-user-env")
    assert lines[:2] == ["[yes, it", "is] [mine] [sent]"]
    assert "site path" not in lines and "finds srun" in lines


def test_all_goes_along_without_a_login(home):
    assert home.output()[0] == "[] [mine] [sent]"
    assert home.output("--export=NIL")[0] == "[] [] [unset]"


@pytest.mark.parametrize("trouble, why", [("slow", "it ran longer than 00:00:01"), ("bad", "exit code 3")])
def test_a_login_that_fails(home, trouble, why):
    (home.folder / trouble).touch()
    try:
        lines = home.output("--export=HOME,SHELL", "--get-user-env=1L")
    finally:
        (home.folder / trouble).unlink()
    assert lines[0] == f"gstepd: error: the login environment cannot be had: /bin/bash: {why}"
    assert lines[1] == "[] [] [unset]" and "finds srun" in lines


def test_a_user_who_cannot_log_in(home):
    done = home.cluster.run("sbatch", "--parsable", "-o", "nologin-%j", "--export=SHELL=/usr/sbin/nologin", "--wrap",
                            "echo $PATH")
    job = done.stdout.strip()
    home.cluster.wait_state(job, "COMPLETED")
    assert (home.cluster.work / f"nologin-{job}").read_text().endswith(":/usr/local/bin:/usr/bin:/bin\n")


def test_wrong_values(shared_cluster):
    for value in ("0", "x", "601", "-1", "10Q"):
        done = shared_cluster.run("sbatch", f"--get-user-env={value}", "--wrap", "true", check=False)
        assert done.returncode != 0 and f'--get-user-env: "{value}" is not [SECONDS][S|L]' in done.stderr
