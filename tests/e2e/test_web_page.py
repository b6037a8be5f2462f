"""The web page in a real browser: what people come to it for, with mouse or keyboard, on a desk or on a phone."""

import json
import re

import pytest

import browser as browsers
from cluster import Cluster, wait_for
from conftest import QUICK, needs_root, others_can_run
from web import WEB, address, make_token, words_of

USER = "daemon"
EVIL = "<img src=x onerror=document.title=1>"


@pytest.fixture(scope="module")
def site():
    one = Cluster(nodes=2, config=QUICK + WEB + "qos: [{name: team-a, guaranteed: {gpu: 8}}, {name: team-b, guaranteed: {gpu: 8}}]\n")
    try:
        yield one.up()
    finally:
        one.down()


@pytest.fixture(scope="module")
def program():
    one = browsers.Browser()
    yield one
    one.close()


@pytest.fixture
def browser(program):
    yield program
    program.close_pages()


@pytest.fixture
def jobs(site):
    """Both nodes are full by one gang of team-a, which borrows; another job waits."""
    gang = site.submit("sleep 600", "-N2", "--gpus-per-node=8", "-t", "60", "-q", "team-a", "-J", EVIL)
    site.wait_state(gang, "RUNNING")
    waits = site.submit("sleep 600", "-N2", "--gpus-per-node=8", "-t", "60", "-q", "team-a", "-J", "patient")
    yield gang, waits
    site.run("gcancel", gang, waits)
    site.wait_ended(gang)


def test_find_why_a_job_waits(site, browser, jobs):
    gang, waits = jobs
    page = browser.page()
    page.go(f"http://{address(site)}/")
    page.wait_text("16 of 16", "jobs that wait")
    page.click("nav a[href='#/jobs']")
    page.wait_text("patient", EVIL)
    assert page.js("document.title") == "Jobs - Gangway", "what a user named a job is text"
    page.click(f"a[href='#/jobs/{waits}']")
    page.wait_text("Why it waits", "PENDING")
    said = page.js("document.querySelector('#why').innerText")
    assert words_of(said) == words_of(site.run("gangway", "why", waits).stdout)
    assert page.faults() == []
    assert page.foreign_requests(f"http://{address(site)}/") == []


def test_see_the_gpus_of_a_gang(site, browser, jobs):
    gang, _ = jobs
    page = browser.page()
    page.go(f"http://{address(site)}/#/jobs/{gang}")
    page.wait_text("Where it runs", "n0", "n1")
    assert page.js("document.querySelector('td[data-label=GPUs]').innerText") != ""
    drawn = page.js("[...document.querySelectorAll('.inside')].map((one) => [one.innerText.split(' ')[0], one.querySelectorAll('.gpu-box.used').length])")
    assert sorted(drawn) == [["n0", 8], ["n1", 8]], "its GPUs are marked inside each of its nodes"
    page.click("a[href='#/nodes/n0']")
    page.wait_text("Node n0", "PCIe switch")
    assert page.js("document.querySelectorAll('.socket').length") == 2 and page.js("document.querySelectorAll('.switch').length") == 4
    assert "NVLink: each GPU with each other" in page.text()
    rows = page.js("[...document.querySelectorAll('tbody tr')].map((row) => row.innerText)")
    assert len(rows) == 8 and all(str(gang) in row and "in use" in row for row in rows)
    links = page.js("document.querySelector('tbody tr').lastChild.innerText")
    assert links == "1, 2, 3, 4, 5, 6, 7"
    assert page.faults() == []
    page.go(f"http://{address(site)}/#/")
    page.wait("document.querySelectorAll('.gpu.used').length > 16")
    assert page.faults() == []


def test_see_the_life_of_a_job_on_a_line(site, browser, jobs):
    gang, waits = jobs
    page = browser.page()
    for job, kinds, words in ((gang, ["ran", "ahead"], ("Submitted", "has run for", "may run until")),
                              (waits, ["waited", "ahead"], ("has waited for", "is planned to start at"))):
        page.go(f"http://{address(site)}/#/jobs/{job}")
        page.wait(f"document.querySelector('h1').innerText === 'Job {job}'")
        # A gang that waited less than a second has no such part.
        page.wait(f"JSON.stringify([...document.querySelectorAll('.timeline rect')].map((r) => r.classList[0]).slice(-2)) === '{json.dumps(kinds, separators=(',', ':'))}'")
        said = page.js("document.querySelector('.timeline svg').getAttribute('aria-label')")
        assert all(word in said for word in words), said
        assert page.js("document.querySelectorAll('.timeline .tick').length") >= 1
        assert page.faults() == []


def test_see_what_was_used(site, browser, jobs):
    page = browser.page()
    page.go(f"http://{address(site)}/#/use")
    page.wait_text("Use", "GPU hours a day", "team-a")
    assert page.js("document.querySelectorAll('.use rect').length") >= 1
    day = page.js("document.querySelector('tbody tr td').innerText")
    assert day == page.js("document.querySelector('.ends').lastChild.innerText"), "today is the last day of the drawing"
    page.click("a[href='#/use/7']")
    page.wait("document.querySelector('.links [aria-current]').innerText === 'a week'")
    assert page.faults() == []


def test_names_without_blanks_widen_nothing(site, browser):
    job = site.submit("sleep 600", "--hold", "-J", "n" * 200)
    page = browser.page()
    for view in ("jobs", f"jobs/{job}"):
        page.go(f"http://{address(site)}/#/{view}")
        page.wait_text("n" * 200)
        assert page.faults() == []
    site.run("gcancel", job)


def test_see_who_lends(site, browser, jobs):
    page = browser.page()
    page.go(f"http://{address(site)}/#/quotas")
    page.wait_text("team-a", "Who lends to whom")
    loans = page.js("[...document.querySelectorAll('table')].at(-1).querySelector('tbody tr').innerText")
    assert re.split(r"\s+", loans.strip())[:4] == ["team-b", "team-a", "gpu", "8"]
    assert page.faults() == []


def test_the_page_is_live(site, browser):
    page = browser.page()
    page.go(f"http://{address(site)}/#/jobs")
    page.wait("document.querySelector('#live').innerText === 'live'")
    job = site.submit("sleep 600", "--hold", "-J", "newcomer")
    page.wait_text("newcomer")
    site.run("gcancel", job)
    page.wait("!document.querySelector('main').innerText.includes('newcomer')")


def test_the_page_is_live_while_much_happens(site, browser):
    """A view that is being made is not begun anew by each change: it would never be shown."""
    page = browser.page()
    page.go(f"http://{address(site)}/#/jobs?name=busy")
    page.wait("document.querySelector('#live').innerText === 'live'")
    # Each answer takes longer than changes are apart.
    page.js("{ const real = window.fetch; window.fetch = async (...a) => { const r = await real(...a); await new Promise((go) => setTimeout(go, 1500)); return r; }; }")
    shown = set()
    for _ in range(3000):
        site.submit("true", "--hold", "-J", "busy")
        shown.add(page.js("document.querySelectorAll('main tbody tr').length"))
        if len(shown) > 2:
            break
    site.run("gcancel", "-n", "busy")
    assert len(shown) > 2, shown


@needs_root
def test_submit_one_and_cancel_it(site, browser):
    others_can_run(site, USER)
    secret = make_token(site, USER, "--name", "page")
    page = browser.page()
    page.go(f"http://{address(site)}/#/submit")
    page.wait_text("sign in")
    assert page.faults() == []
    page.click("main a[href='#/sign-in']")
    page.fill("#token", "gwt_wrong")
    page.click("#in")
    page.wait_text("has no token")
    page.fill("#token", secret)
    assert page.faults() == []
    page.click("#in")
    page.wait(f"document.querySelector('#who').innerText === 'Signed in as {USER}'")
    page.click("nav a[href='#/submit']")
    page.fill("#script", "#!/bin/bash\n#GBATCH -J by-hand -N1 --gpus-per-node=1 -t 5\nsleep 600\n")
    page.fill("#chdir", "tmp")
    page.click("#send")
    page.wait_text("chdir: tmp is not absolute")
    page.fill("#chdir", "/tmp")
    assert page.faults() == []
    page.click("#send")
    page.wait_text("by-hand")
    job = page.js("location.hash").rsplit("/", 1)[1]
    site.wait_state(job, "RUNNING")
    assert site.show(job, "%u") == USER
    page.wait_text("RUNNING")
    page.click("#cancel")
    site.wait_state(job, "CANCELLED")
    page.wait_text("CANCELLED")
    assert secret not in page.js("location.href + document.documentElement.outerHTML")
    assert page.faults() == []
    page.click("#who")
    page.click("#out")
    page.wait("document.querySelector('#who').innerText === 'Sign in'")
    other = browser.page()
    other.go(f"http://{address(site)}/#/sign-in")
    other.wait_text("Make one in a terminal")


@needs_root
def test_a_token_that_ends_signs_out(site, browser):
    others_can_run(site, USER)
    page = browser.page()
    page.go(f"http://{address(site)}/#/sign-in")
    page.fill("#token", make_token(site, USER))
    page.click("#in")
    page.wait(f"document.querySelector('#who').innerText === 'Signed in as {USER}'")
    site.run("gangway", "token", "revoke", "--all", user=USER)
    page.wait("document.querySelector('#who').innerText === 'Sign in' || (location.hash = location.hash === '#/' ? '#/jobs' : '#/', false)")
    page.wait("document.querySelector('main h1') !== null && !document.querySelector('.error')")


def test_by_keyboard_alone(site, browser, jobs):
    _, waits = jobs
    page = browser.page()
    page.go(f"http://{address(site)}/#/jobs")
    page.wait_text("patient")
    seen = []
    for _ in range(40):
        page.key("Tab", 9)
        seen.append(page.js("document.activeElement.getAttribute('href') || document.activeElement.id"))
        if seen[-1] == f"#/jobs/{waits}":
            break
    assert seen[0] == "#main", "the first leads past the navigation"
    assert seen[-1] == f"#/jobs/{waits}", seen
    assert page.js("getComputedStyle(document.activeElement).outlineStyle") == "solid", "it can be seen where one is"
    page.key("Enter", 13)
    page.wait_text("Why it waits")
    assert page.js("document.activeElement.id") == "main", "whoever hears the page is told of the new view"


@pytest.mark.parametrize("width, height, dark", [(360, 740, False), (360, 740, True), (1280, 900, True)])
def test_on_a_phone_and_in_the_dark(site, browser, jobs, width, height, dark):
    gang, waits = jobs
    page = browser.page(width, height, dark)
    for view, word in (("", "16 of 16"), ("jobs", "patient"), (f"jobs/{waits}", "Why it waits"), ("nodes/n0", "PCIe switch"),
                       ("quotas", "team-b"), ("use", "team-a"), ("sign-in", "Token"), ("submit", "sign in")):
        page.go(f"http://{address(site)}/#/{view}")
        page.wait_text(word)
        assert page.faults() == [], view


def test_the_page_comes_back_after_the_servers_end(make_cluster, browser):
    cluster = make_cluster(nodes=1, config=QUICK + WEB)
    page = browser.page()
    page.go(f"http://{address(cluster)}/")
    page.wait("document.querySelector('#live').innerText === 'live'")
    cluster.kill("gctld")
    page.wait("document.querySelector('main').innerText.includes('is not reached')")
    cluster.start("gctld")
    wait_for(lambda: json.loads(cluster.run("gqueue", "--json").stdout) is not None, "the controller")
    page.wait_text("of 8")
