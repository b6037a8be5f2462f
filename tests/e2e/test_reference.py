"""The page of exit codes and variables is what the programs' own tables say."""

import difflib
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_the_tables_say():
    made = subprocess.run([ROOT / "scripts/reference", os.environ["GANGWAY_BUILD"]], capture_output=True, text=True, check=True).stdout
    kept = (ROOT / "docs/reference.md").read_text()
    said = "\n".join(difflib.unified_diff(kept.splitlines(), made.splitlines(), "docs/reference.md", "scripts/reference", lineterm=""))
    assert kept == made, f"make it anew: scripts/reference build/release > docs/reference.md\n{said}"
