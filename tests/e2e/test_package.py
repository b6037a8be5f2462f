"""What `cmake --install` puts in place: guides that lead nowhere else, man pages, and programs whose libraries are those of
the packages that the administrator's guide names."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("GANGWAY_BUILD", ""))
GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "admin-guide.md"
BASE = {"libc6", "libgcc-s1", "libstdc++6"}  # On every Debian.
LOADED = {"libhwloc-plugins"}  # By libhwloc, when it runs.


def output(*words):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    env = {**os.environ, "DESTDIR": str(folder)}
    subprocess.run(["cmake", "--install", BUILD, "--prefix", "/usr"], env=env, check=True, stdout=subprocess.DEVNULL)
    return folder / "usr"


def test_guides_lead_to_what_is_installed(installed):
    guides = list((installed / "share/doc/gangway").rglob("*.md"))
    assert any(guide.name == "quotas.md" for guide in guides)
    links = [(guide, link) for guide in guides for link in re.findall(r"\]\(([^)#\s]+)", guide.read_text())]
    dead = [(guide.name, link) for guide, link in links
            if not link.startswith("http") and not (guide.parent / link).exists()]
    assert links and not dead


def test_guides_in_the_source_lead_to_what_is_there():
    source = GUIDE.parents[1]
    pages = [*source.glob("*.md"), *source.glob("docs/**/*.md"), *source.glob("bench/*.md")]
    dead = [(page.name, link) for page in pages for link in re.findall(r"\]\(([^)#\s]+)", page.read_text())
            if not link.startswith("http") and not (page.parent / link).exists()]
    assert not dead


def test_every_command_has_a_manual_page_and_starts(installed):
    commands = sorted(path.name for path in (installed / "bin").glob("g*"))
    assert {"gangway", "gbatch", "grun"} <= set(commands)
    pages = {path.name for path in (installed / "share/man/man1").iterdir()}
    assert not [name for name in commands if f"{name}.1" not in pages]
    sections = {n: {path.name for path in (installed / f"share/man/man{n}").iterdir()} for n in (5, 8)}
    assert sections == {5: {"gangway.yaml.5"}, 8: {"gctld.8", "gnoded.8", "gscriptd.8", "gwebd.8"}}
    for folder, form in (("bash-completion/completions", "{}"), ("zsh/site-functions", "_{}"),
                         ("fish/vendor_completions.d", "{}.fish")):
        scripts = {path.name for path in (installed / "share" / folder).iterdir()}
        assert scripts == {form.format(name) for name in commands if name != "gangway"}, folder
    for name in commands:
        assert "gangway" in output(installed / "bin" / name, "--version").lower(), name
    for name in ("gctld", "gnoded"):
        assert re.search(r"\d+\.\d+", output(installed / "sbin" / name, "--version")), name


def test_the_dashboard_and_the_alert_rules_are_installed(installed):
    for path in ("grafana/gangway.json", "prometheus/gangway-alerts.yml"):
        assert (installed / "share/gangway" / path).read_bytes() == (GUIDE.parents[1] / "etc" / path).read_bytes()


def programs(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]


def package_of(library):
    """The package that a library's file is of; both of its names are tried where /lib is a link."""
    for path in (library, os.path.realpath(library), str(library).removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    return f"no package has {library}"


def listed_packages():
    """Those that the guide names for this release of Debian."""
    release = dict(line.strip().split("=", 1) for line in open("/etc/os-release", encoding="utf-8") if "=" in line)
    version = release.get("VERSION_ID", "").strip('"')
    if release.get("ID") != "debian":
        return None
    row = re.search(rf"(?m)^\| {version} \| (`munge`.*) \|$", GUIDE.read_text())
    return set(re.findall(r"`([^`]+)`", row[1])) if row else None


def test_the_guides_packages_are_those_that_the_programs_need(installed):
    listed = listed_packages()
    if listed is None or shutil.which("readelf") is None:
        pytest.skip("the guide has no list for this system")
    found = programs(installed)
    assert {"gctld", "gnoded", "gstepd", "gpmixd", "gangway", "contain_cgroup_v2.so"} <= {path.name for path in found}
    needed, reached = set(), set()
    for path in found:
        names = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", path))
        where = dict(re.findall(r"(?m)^\s*(\S+) => (\S+)", output("ldd", path))) if names else {}
        assert "not" not in where.values(), (path, where)
        needed |= {package_of(where[name]) for name in names if name in where}
        reached |= set(where.values())
    libraries = {name for name in listed if name.startswith(("lib", "zlib"))} - LOADED
    assert needed - BASE <= libraries
    # One of them may be reached only through another: whether a program needs it itself depends on the optimiser.
    assert libraries <= needed | {package_of(path) for path in reached}


def test_half_a_build_is_not_installed(tmp_path):
    check = (BUILD / "installable.cmake").read_text()
    assert "gpmixd" in check and "order_fifo" in check
    (tmp_path / "check.cmake").write_text(check.replace("/gpmixd", "/not-built-yet"))
    done = subprocess.run(["cmake", "-P", tmp_path / "check.cmake"], capture_output=True, text=True, check=False)
    said = " ".join(done.stderr.split())  # CMake breaks the lines of a message where the folder's name is long
    assert done.returncode != 0 and "not-built-yet" in said and "--target programs" in said, said
    assert "gctld" not in said
