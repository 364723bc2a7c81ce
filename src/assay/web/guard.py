"""Who may see the pages: only programs of this machine that know the token, and only to read.

A page in the user's own browser, from any site, can send requests to this server. So a request must name this server
in its Host header (no DNS rebinding), must not come from another site, and must carry a token: in the address that the
command prints, then in a cookie that is not sent along with requests of other sites.
"""

import hashlib
import secrets
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_STYLE = (
    ":root{color-scheme:light dark}body{max-width:40rem;margin:15vh auto;padding:0 1.5rem;"
    "font:1rem/1.6 system-ui,sans-serif}h1{font-size:1.35rem}code{font-size:.9em}"
)
_NO_TOKEN = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>No access · Assay</title><style>{_STYLE}</style></head>
<body><main><h1>This address lacks its token</h1>
<p>Open the address that <code>assay view</code> printed in the terminal: it contains a token, which the browser then
remembers. It works on this machine only, and only while that command runs.</p>
<p>To send results to somebody else, write them to a file: <code>assay report --html report.html</code>, or
<code>assay export</code> for the whole run.</p></main></body></html>
"""

_STYLE_HASH = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{_STYLE_HASH}'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Sent with every response."""
_METHODS = ("GET", "HEAD")
_MAX_QUERY = 4_000


class Guard:
    """Lets only requests with the token through, and adds the headers that browsers protect the pages by."""

    def __init__(self, app: App, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = tuple(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))
        # Cookies are shared by all ports of a host, so each viewer needs a name of its own.
        self._cookie = f"assay-view-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return  # closes the connection: there are no web sockets here

        async def send_with_headers(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        answer = self._check(scope)
        await (answer or self._app)(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> Response | None:
        """Return why a request is refused or where it is sent to; None if it may pass."""
        headers = scope["headers"]
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return PlainTextResponse("This address is not served here.", 421)
        if any(origin != f"http://{hosts[0]}" for origin in _values(headers, b"origin")):
            return PlainTextResponse("Requests from other sites are refused.", 403)
        if any(site not in ("same-origin", "none") for site in _values(headers, b"sec-fetch-site")):
            return PlainTextResponse("Requests from other sites are refused.", 403)
        if scope["method"] not in _METHODS:
            return PlainTextResponse("Pages can only be read.", 405, {"allow": ", ".join(_METHODS)})
        query = scope["query_string"]
        if len(query) > _MAX_QUERY:
            return PlainTextResponse("The address is too long.", 414)
        return self._check_token(scope, headers, parse_qsl(query.decode("latin-1"), keep_blank_values=True))

    def _check_token(
        self, scope: Scope, headers: Iterable[tuple[bytes, bytes]], query: list[tuple[str, str]]
    ) -> Response | None:
        if any(name == "token" and self._is_token(value) for name, value in query):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            # The path begins with one slash, so that it cannot name another host.
            path = "/" + scope["raw_path"].decode("latin-1").lstrip("/")
            answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict", path="/")
            return answer
        if any(self._is_token(value) for value in _cookies(headers, self._cookie)):
            return None
        return HTMLResponse(_NO_TOKEN, 403)

    def _is_token(self, value: str) -> bool:
        return secrets.compare_digest(value.encode(), self._token.encode())


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1").strip().lower() for key, value in headers if key.lower() == name]


def _cookies(headers: Iterable[tuple[bytes, bytes]], name: str) -> list[str]:
    values = []
    for key, value in headers:
        if key.lower() == b"cookie":
            try:
                cookies = SimpleCookie(value.decode("latin-1"))
            except CookieError:
                continue
            if name in cookies:
                values.append(cookies[name].value)
    return values
