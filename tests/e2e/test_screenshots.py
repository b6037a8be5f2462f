"""scripts/screenshots draws each picture that the documentation shows."""

import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

SOURCES = pathlib.Path(__file__).resolve().parents[2]
DOCS = [SOURCES / "README.md", *(SOURCES / "docs").glob("*.md")]
LETTERS = "{http://www.w3.org/2000/svg}text"


def words_of(path):
    return " ".join(text.text for text in xml.etree.ElementTree.parse(path).getroot().iter(LETTERS))


def test_each_picture_of_the_documentation(tmp_path):
    subprocess.run([sys.executable, SOURCES / "scripts/screenshots", os.environ["GANGWAY_BUILD"], tmp_path], check=True, timeout=300)
    shown = {name for page in DOCS for name in re.findall(r"pictures/([\w-]+\.svg)", page.read_text())}
    assert shown == {path.name for path in tmp_path.iterdir()}
    assert shown == {path.name for path in (SOURCES / "docs/pictures").iterdir()}
    for name, words in (("cluster-desk.svg", ("27 of 32", "n3")), ("waiting-dark.svg", ("Why it waits", "finetune")),
                        ("running-phone.svg", ("pretrain", "n[0-2]")), ("top-jobs.svg", ("It waits", "finetune")),
                        ("top-nodes.svg", ("[", "aaa", "notebook")), ("top-quotas.svg", ("language", "lends"))):
        for folder in (tmp_path, SOURCES / "docs/pictures"):
            said = words_of(folder / name)
            assert all(word in said for word in words), (folder / name, said)
