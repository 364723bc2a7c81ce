"""Who may see the pages: programs of this machine that know the token, and only to read."""

import re
import signal
import subprocess
import sys
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

PAGES = ("", "/compare", "/failures", "/task/pocket/digits")


@pytest.fixture(scope="module")
def home(client):
    """The address of the run's page."""
    return client.get("/").headers["location"]


def test_the_token_becomes_a_cookie_and_leaves_the_address(client, home):
    answer = client.get(f"{home}?token={client.viewer.token}&measure=wins", cookie=False)
    assert (answer.status, answer.headers["location"]) == (303, f"{home}?measure=wins")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and "path=/" in cookie
    for path in (home, "/", "/static/view.js", "/?token=wrong", "/?token=", "/nothing"):
        assert client.get(path, cookie=False).status == 403, path
    wrong = f"assay-view-{client.viewer.port}={'x' * 32}"
    assert client.get(home, cookie=False, Cookie=wrong).status == 403
    assert client.get(home).status == 200


@pytest.mark.parametrize("path", ("//evil.example/", "///evil.example", "/%2f/evil.example"))
def test_the_redirect_after_the_token_stays_on_this_server(client, path):
    location = client.get(f"{path}?token={client.viewer.token}", cookie=False).headers.get("location", "/")
    assert not location.startswith("//") and ":" not in location, location


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ],
)
def test_requests_of_other_sites_and_for_other_hosts_are_refused(client, home, headers, status):
    assert client.get(home, **headers).status == status


@pytest.mark.parametrize("method", ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"))
def test_pages_can_only_be_read(client, home, method):
    assert client.get(home, method=method).status == 405, method


def test_every_response_has_the_headers_that_protect_it(client, home):
    for path in (*(home + page for page in PAGES), "/static/view.css", "/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
        assert headers["cross-origin-resource-policy"] == "same-origin" and "server" not in headers


def test_no_address_leads_out_of_the_run(client, home, run):
    (run.path.parent / "secret.txt").write_text("secret")
    (run.path / "trials" / "secret.txt").write_text("secret")
    trial = next(iter(run.trials())).path.name
    attempts = [
        "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd",
        "/static/%2fetc%2fpasswd", "/run/../../secret.txt", "/run/..%2f..", f"{home}/trial/..", f"{home}/trial/%2e%2e",
        f"{home}/trial/..%2f..%2fsecret.txt", f"{home}/trial/secret.txt", f"{home}/trial/%00",
        f"{home}/trial/{trial}%2f..", f"{home}/task/..%2f../passwd", f"{home}/task/pocket/..",
        f"{home}/trial/{trial}/text/999/0", f"{home}/trial/{trial}/text/0/999", f"{home}/trial/{trial}/prompt/0",
        f"{home}/trial/{trial}/prompt/99999999999999999999", f"{home}/trial/{trial}/text/-1/0",
    ]  # fmt: skip
    answers = {path: client.get(path) for path in attempts}
    assert {path: answer.status for path, answer in answers.items()} == dict.fromkeys(attempts, 404)
    assert [path for path, answer in answers.items() if "secret\n" in answer.body or "root:" in answer.body] == []
    assert client.get(f"{home}/trial/{trial}").status == 200


def test_nothing_is_written_to_the_run(client, home, run):
    def listing():
        return sorted((path, path.stat().st_mtime_ns) for path in run.path.rglob("*"))

    before = listing()
    trials = [f"/trial/{trial.path.name}" for trial in run.trials()]
    pages = (*PAGES, *trials[-3:])
    assert {page: client.get(home + page).status for page in pages} == dict.fromkeys(pages, 200)
    assert listing() == before


def test_the_command_prints_an_address_on_loopback_and_stops_when_interrupted(run):
    command = [sys.executable, "-m", "assay", "view", str(run.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", address)
            browser = build_opener(HTTPCookieProcessor())
            with browser.open(address, timeout=120) as page:  # once it answers, it also handles signals
                assert page.status == 200
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=600)
        finally:
            process.kill()
    assert process.returncode == 0 and not out and "Traceback" not in err
