"""Command lines of docs/*.md and README.md: each is one that the programs understand, and all but those in NOT_RUN are
run on a private cluster; links lead to pages and headings that are there, and docs/index.md to every page.

Lines of blocks marked ```sh or ```bash are commands, in blocks marked ```console those behind `$ `, in blocks without a mark,
also indented ones, those behind `$ ` or, where there are none, all, if the first is one. `#GBATCH` lines are read as options of gbatch. Of the
text and of tables what stands in backquotes and begins with a command and a space is looked at.

A line is understood if the program gets as far as its configuration, which is not there. Placeholders: a variable has the
value 7, `N`, `JOB` and the like are job 7 (WORDS), files that a line names are made, and the jobs of the cluster have the numbers that
the pages use: 5 is an array, 12 has two components, 1 and 7 run, with a step 7.0, all others wait.
"""

import concurrent.futures
import functools
import os
import pathlib
import re
import shlex
import subprocess

import pytest
from cluster import BIN, wait_for
from conftest import QUICK

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(str(page.relative_to(ROOT)) for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")])
SLURM = BIN.parent / "libexec/gangway/slurm"
# Commands with a g that are not looked at; every other one must be a program of ours.
OTHERS = ("gnoded", "gstepd", "gpmixd", "gscriptd", "gwebd", "git", "grep", "getent", "gzip")
WORDS = {"VERB": "why", "SIGNAL": "USR1", "NAME": "main"}
NUMBER = r"(?<![\w-])(?:N|M|ID|JOB|JOBID)$"  # a word, or what is behind its `=`
USERS = r"\b(?:ann|ben|bob|eva|alice)\b"  # of whom root takes the place
INSIDE = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[0-1]"}  # of a job, where the commands that know them may be typed
SUBMITTING = ("gbatch", "grun", "galloc", "sbatch", "srun", "salloc")
# They do their work without a configuration: of these the options alone are looked at, by their --help.
NO_CONFIGURATION = ("dev", "simulate", "import", "config", "doctor")
# What a program says against an option or word that it does not know; the lines of text and tables may leave operands out.
UNKNOWN = re.compile("unrecognized option|invalid option|ambiguous|not supported|unknown|[Ii]nvalid keyword|unexpected")
# Lines that are not run, by how they begin, with the reason. All others are; what submits is only asked about, by --test-only.
CHANGES = "changes what other lines show"
NOT_RUN = {
    "gangway dev": "starts and ends clusters",
    "gangway simulate": "its files are not here; tests/scenario/pages_test.py runs what docs/quotas.md shows",
    "gangway doctor": "says what it finds of this machine",
    "gangway import": "reads the configuration of a cluster of Slurm's",
    "gangway config": "reads a file of an administrator's",
    "gangway backup": "writes a file where the controller's user may",
    "gangway checkpointed": "is for the processes of a job",
    "gangway progress": "is for the processes of a job",
    "gangway offers --watch": "goes on until ctrl-C",
    "galloc -q team-a --from-offer": "the offer that a page names is of another cluster",
    "gangway token make": "root, who types all lines here, makes none; test_web.py does",
    "gangway token revoke": "ends tokens, of which there are none here",
    "gangway top": "takes a terminal",
    "gangway watch": "waits for the end of a job",
    "gangway logs": "prints an output that is not there yet, and follows it",
    "gctld": "is the controller itself",
    "gattach": "needs a step that was kept",
    "gbcast": "writes to local disks of nodes",
    "gcancel": "ends jobs",
    "gdiag --reset": "begins figures anew",
    "gcontrol snapshot": "waits for the next pass of the scheduler, and writes a file",
    "gcontrol wait_job": "waits for the start of a job",
    **dict.fromkeys(("gacctmgr --dry-run", "gacctmgr add", "gacctmgr delete", "gacctmgr dump", "gacctmgr load",
                     "gacctmgr modify", "gcontrol create", "gcontrol delete", "gcontrol hold", "gcontrol reconfigure", "gcontrol release", "gcontrol requeue",
                     "gcontrol resume", "gcontrol suspend", "gcontrol update", "sacctmgr modify", "scontrol update"), CHANGES),
}
# Lines that are not looked at at all, by how they begin: what is typed elsewhere, and what is wrong today.
LEFT_OUT = {
    "sacctmgr dump uni": "is typed under Slurm itself",
}


# ---- Lines of pages


FENCED = r"(?ms)^( *)```([^\n]*)\n(.*?)^\1```$"


def blocks(text):
    """(language, lines) of a page's blocks, fenced or indented."""
    for indent, mark, block in re.findall(FENCED, text):
        yield (mark.split() or [""])[0], [line.removeprefix(indent) for line in block.splitlines()]
    for block in re.findall(r"(?<=\n\n)(?: {4}.*\n)+", re.sub(FENCED, "", text)):
        yield "", [line.strip() for line in block.splitlines()]


def shell_lines(language, lines):
    """Those of a block that are commands."""
    typed = [line for line in lines if line.startswith("$ ")]
    if language in ("sh", "bash"):
        return lines
    if language not in ("", "console"):
        return []
    if typed or language:
        return [line.removeprefix("$ ") for line in typed]
    is_other = any("->" in line for line in lines) or re.match(r"[a-z ]+: ", lines[0])  # a drawing, or a message
    return lines if not is_other and re.match(r"(?:export |\w+=|scripts/)|(?:%s) " % "|".join(programs()), lines[0]) else []


@functools.lru_cache(maxsize=None)
def programs():
    return tuple(sorted(path.name for folder in (BIN, SLURM) for path in folder.iterdir()
                        if re.match(r"[gs][a-z]+$", path.name) and path.name not in OTHERS))


def directives_and_lines(lines):
    """Lines without the bodies of here-documents, whose directives, like those of scripts, are options of gbatch."""
    text = "\n".join(lines)
    directives = re.findall(r"(?m)^#[GS]BATCH (.*?)(?: #.*)?$", text)
    if directives:
        yield f"gbatch {' '.join(':' if one == 'hetjob' else one for one in directives)} --wrap true"
    text = re.sub(r"(?ms)<<'?(\w+)'?.*?^\1$", "", text)
    line = ""
    for more in text.replace("\\\n", " ").splitlines():
        line = f"{line}\n{more}" if line else more
        if is_closed(line):
            yield line
            line = ""


def is_closed(line):
    try:
        return shlex.split(line, comments=True) is not None
    except ValueError:  # a quoted text goes on in the next line
        return False


def simple_commands(line):
    """The words of each command of a line; what $(...) holds are commands of their own."""
    inner = re.findall(r"\$\(([^()]*)\)", line)
    for one in inner:
        yield from simple_commands(one)
    line = re.sub(r"\$\([^()]*\)", "7", line)
    line = re.sub(r"\$\{?\w+\}?", "7", line)
    reader = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    reader.whitespace_split = True
    words = []
    for word in [*reader, ";"]:
        if not set(word) <= set("();<>|&"):
            words.append(word)
            continue
        yield words
        words = []
        if set(word) & set("<>"):
            words = ["redirection"]


def of_gangway(words):
    """From the program on, or nothing if it is none of ours."""
    while words and (re.match(r"\w+=", words[0]) or words[0] in ("if", "then", "do", "while", "until", "!", "exec", "sudo")):
        words = words[1:]
    if not words or words[0] in OTHERS or not (words[0] in programs() or re.fullmatch("g[a-z]+", words[0])):
        return []
    return [re.sub(NUMBER, "7", re.sub(USERS, "root", WORDS.get(word, word))) for word in words]


@functools.lru_cache(maxsize=None)
def block_commands(page):
    scripts = [shell_lines(*block) for block in blocks((ROOT / page).read_text())]
    found = [of_gangway(words) for lines in scripts for line in directives_and_lines(lines) for words in simple_commands(line)]
    return list(dict.fromkeys(shlex.join(words) for words in found if words))


@functools.lru_cache(maxsize=None)
def inline_commands(page):
    """What stands in backquotes; a line may end within."""
    text = re.sub(FENCED, "", (ROOT / page).read_text())
    spans = [re.sub(r"\s+", " ", span) for span in re.findall(r"`([^`]+)`", text)]
    begins = re.compile(r"(?:g[a-z]+ --?[a-z]|(?:%s) [^:])" % "|".join(programs()))
    asked = [span for span in spans if begins.match(span) and "..." not in span and " [" not in span]
    found = [of_gangway(words) for span in asked for words in simple_commands(span)]
    return list(dict.fromkeys(shlex.join(words) for words in found if words))


# ---- What the programs say


def reason_for(table, line):
    return next((why for start, why in table.items() if line.startswith(start)), None)


def make_files(lines, folder):
    """Those that lines name without a folder, and scripts."""
    for word in {word for line in lines for word in shlex.split(line)}:
        if re.fullmatch(r"[\w-]+\.(?:sh|py|yaml|csv|txt|tar|cfg)|program", word):
            (folder / word).write_text("Cluster - 'x'\nParent - 'root'\n" if word.endswith("cfg") else "#!/bin/sh\ntrue\n")


@functools.lru_cache(maxsize=None)
def help_of(*words):
    return subprocess.run([str(BIN / words[0]), *words[1:], "--help"], capture_output=True, text=True, check=True).stdout


def unknown_options(words):
    verb = words[1:3] if words[1] in ("dev", "config") else words[1:2]
    known = set(re.findall(r"(?<!\w)--?[a-zA-Z][\w-]*", help_of("gangway", *verb)))
    asked = words[1 + len(verb):]
    asked = asked[:asked.index("--")] if "--" in asked else asked
    return [word for word in asked if word.startswith("-") and word.split("=")[0] not in known]


def without_configuration(words, folder):
    assert words[0] != "gangway" or words[1] not in NO_CONFIGURATION, "it would do its work"
    env = {"PATH": f"{BIN}:{SLURM}:{os.environ['PATH']}", "GANGWAY_CONF": "/none", "HOME": str(folder), **INSIDE}
    return subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)


def gets_through(done):
    return done.returncode == 0 or "/none" in done.stderr


def not_understood(line, folder, is_whole):
    """What a program says against a line; nothing if it gets as far as its configuration."""
    words = shlex.split(line)
    if words[0] == "gangway" and words[1] in NO_CONFIGURATION:
        return [f"{line}: unknown {option}" for option in unknown_options(words)]
    if words[0] not in (*programs(), "gctld"):
        return [f"{line}: there is no such command"]
    done = without_configuration(words, folder)
    is_fine = gets_through(done) or not (is_whole or UNKNOWN.search(done.stderr))
    return [] if is_fine else [f"{line}: {done.stderr or done.stdout[:200]}"]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_line_is_understood(page, tmp_path):
    lines = {**dict.fromkeys(inline_commands(page), False), **dict.fromkeys(block_commands(page), True)}
    lines = {line: is_whole for line, is_whole in lines.items() if not reason_for(LEFT_OUT, line)}
    make_files(lines, tmp_path)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda one: not_understood(one[0], tmp_path, one[1]), lines.items()))
    assert [one for each in said for one in each] == []


@pytest.mark.parametrize("line", ["gqueu --me", "gqueue --mine", "gbatch -N two train.sh", "gcontrol shwo job 7", "gcontrol update JobId=7 TimeLimt=5",
                                  "gangway dev up --nods 4", "gangway wy 7", "scontrol update NodeName=n0 Stat=drain"])
def test_a_wrong_line_is_found(line, tmp_path):
    (tmp_path / "page.md").write_text(f"```sh\n{line}     # says\n```\n`{line}`\n")
    assert block_commands(tmp_path / "page.md") == [line]
    assert not_understood(line, tmp_path, is_whole=True)


# ---- What they do


CONFIGURATION = """
qos:
- {name: dept}
- {name: team-a, parent: dept}
- {name: team-b, parent: dept}
- {name: a}
- {name: b}
- {name: ml}
"""


def fill(cluster):
    """Jobs 1 to 16."""
    for job in range(1, 17):
        if job in (1, 7):
            cluster.submit("grun sleep 1000", "-N2", "-n2", "-t", "60")
        elif job == 12:
            cluster.run("gbatch", "-H", ":", "-n1", "--wrap", "true")
        elif job != 13:
            cluster.submit("true", "-H", *(["--array=0-999%20"] if job == 5 else []))
    wait_for(lambda: "7.0" in cluster.run("gqueue", "-h", "-s", "-o", "%i").stdout.split(), "step 7.0 runs")


def as_run(line):
    """The words that are run for a line."""
    words = shlex.split(line)
    if words[0] in SUBMITTING:
        return [words[0], "--test-only", *(word for word in words[1:] if word != "--test-only")]
    inside = [f"{name}={value}" for name, value in INSIDE.items()] if words[0] in ("gangway", "gcontrol", "scontrol") else []
    return ["env", *inside, *words]


def leaves_nothing_out(line, folder):
    return gets_through(without_configuration(shlex.split(line), folder))


def lines_to_run(page, folder):
    """Of blocks, and of the text those that are whole."""
    asked = [line for line in block_commands(page) + inline_commands(page) if not reason_for({**NOT_RUN, **LEFT_OUT}, line)]
    make_files(asked, folder)
    return [line for line in dict.fromkeys(asked) if line in block_commands(page) or leaves_nothing_out(line, folder)]


def test_every_line_that_can_be_run_does_well(make_cluster, tmp_path):
    """On 16 nodes, with the QOS that pages name, and jobs under the numbers that they use."""
    cluster = make_cluster(nodes=16, config=QUICK + CONFIGURATION)
    fill(cluster)
    lines = [(page, line) for page in PAGES for line in lines_to_run(page, tmp_path)]
    make_files([line for _, line in lines], cluster.work)

    def ask(page, line):
        done = cluster.run(*as_run(line), check=False)
        goes_well = (0, 2) if line.startswith((*SUBMITTING, "gangway quota explain")) else (0,)  # it would wait, or may not take
        said = f"{page}: {line}: exit code {done.returncode}: {done.stderr or done.stdout[:200]}"
        return None if done.returncode in goes_well else said

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        said = list(pool.map(ask, *zip(*lines)))
    assert [one for one in said if one] == []
    assert len(lines) > 100


# ---- Where links lead


def anchors(path):
    """Of the headings of a page, as they are made for readers: small letters, signs left out, `-` for spaces."""
    headings = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", path.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md"])
def test_links_lead_to_pages_and_headings_that_are_there(page):
    dead = []
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", (ROOT / page).read_text()):
        path = (ROOT / page).parent / target if target else ROOT / page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            dead.append(f"{target}#{anchor}")
    assert dead == []


def test_the_index_leads_to_every_page():
    index = re.findall(r"\]\(([^)#\s]+)\)", (ROOT / "docs/index.md").read_text())
    assert [page for page in PAGES if page.startswith("docs/") and page not in ("docs/index.md", *(f"docs/{link}" for link in index))] == []
    assert "adr" in {link.rstrip("/") for link in index} and "docs/index.md" in (ROOT / "README.md").read_text()
