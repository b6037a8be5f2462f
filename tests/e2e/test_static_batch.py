"""gbatch is linked statically and leaves to gangway-commands what it cannot find in files: nobody notices which one ran."""

import os
import pathlib
import pwd
import shutil

import pytest
from cluster import BIN


@pytest.fixture(scope="module")
def cluster(shared_cluster):
    return shared_cluster


def own_name(text):
    return text.replace(f"user: {os.geteuid()}", f"user: {pwd.getpwuid(os.geteuid()).pw_name}")


FORMS = {
    "numbers": lambda text: text,
    "names": lambda text: own_name(text).replace("host: 127.0.0.1", "host: localhost"),
    "a key in quotes": lambda text: text.replace("cluster:", '"cluster":', 1),
    "brackets over two lines": lambda text: "plugin_dirs: [\n  ]\n" + text,
}


def configuration(cluster, form):
    text = pathlib.Path(cluster.env["GANGWAY_CONF"]).read_text()
    path = cluster.work / "form.yaml"
    path.write_text(FORMS[form](text))
    assert form == "numbers" or path.read_text() != text
    return {"GANGWAY_CONF": str(path)}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_configuration_submits_what_is_on_stdin(cluster, form):
    out = cluster.work / "out.txt"
    job = cluster.submit(f"echo {form}", "-o", out, env=configuration(cluster, form))
    cluster.wait_state(job, "COMPLETED")
    assert out.read_text() == form + "\n"


@pytest.mark.parametrize("form", FORMS)
def test_mistakes_are_told_once_and_by_the_right_name(cluster, form):
    done = cluster.run("sbatch", "--nodez=1", "--wrap", "true", check=False, env=configuration(cluster, form))
    assert done.returncode == 255 and done.stderr.count("sbatch: error: ") == 1, done.stderr


def test_alone_it_says_what_is_missing(cluster):
    program = pathlib.Path(BIN / "gbatch").resolve()
    if program.name != "gangway-batch":
        pytest.skip("built without static libraries")
    alone = pathlib.Path(shutil.copy(program, cluster.work / "gbatch"))
    done = cluster.run(alone, "--wrap", "true", check=False, env=configuration(cluster, "a key in quotes"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"gbatch: error: cannot start {cluster.work}/gangway-commands: "), done.stderr
