"""The documents of the master's pages (/api/v1)."""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from typing import Any, Optional

from .command import Mrctl
from .errors import NotAllowed, NotFound, PacelineError, Unavailable


class Page:
    """The master's HTTP port, which has documents that mrctl does not print, such as the report of a job.

    Args:
        master: The master, as in submit. `mrctl page` lets this object in for 12 hours.
        mrctl: As in submit.
        url: The address of the port, such as http://localhost:7080, instead of the one that the master reports.
        token: A token to send, instead of a login by mrctl. Requires: url.
        cafile: The authority of the cluster's certificates (ca.pem), for https.

    Raises:
        PacelineError: There is no master, or it lets nobody in.
    """

    def __init__(self, master: Optional[str] = None, *, mrctl: Optional[str] = None, url: Optional[str] = None,
                 token: Optional[str] = None, cafile: Optional[str] = None) -> None:
        # No proxy of the environment: it would get the token, and seldom reaches a master.
        handlers: list[urllib.request.BaseHandler] = [
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar())
        ]
        if cafile is not None:
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=cafile)))
        self._opener = urllib.request.build_opener(*handlers)
        self._token = token
        if token is None or url is None:
            link = Mrctl(mrctl, master).call("page")["page"]["id"]
            base, _, login = link.partition("/login?")
            url = (url or base).rstrip("/")
            self._open(f"{url}/login?{login}" if login else url)
        self.url = url.rstrip("/")

    def get(self, path: str = "") -> dict[str, Any]:
        """Returns a document below /api/v1, such as "jobs", "jobs/job_1_0017/report" or "workers".

        Characters that a URL cannot have are quoted.

        Raises:
            Unavailable: The port does not answer.
            NotFound: There is no such document.
            NotAllowed: It is not for this user.
        """
        quoted = urllib.parse.quote(path, safe="/?&=%+,:@")
        return json.loads(self._open(f"{self.url}/api/v1/{quoted}".rstrip("/")))

    def _open(self, url: str) -> bytes:
        request = urllib.request.Request(url)
        if self._token is not None:  # not for the host of a redirection
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            try:
                with self._opener.open(request, timeout=60) as reply:
                    return reply.read()
            except urllib.error.HTTPError as failed:
                with failed:
                    raise _error_of(failed.code, failed.read()) from None
        except (OSError, http.client.HTTPException) as failed:
            why = getattr(failed, "reason", None) or str(failed) or type(failed).__name__
            raise Unavailable(f"the master's pages at {url.split('?')[0]} cannot be read: {why}",
                              code="unavailable") from None


def _error_of(status: int, body: bytes) -> PacelineError:
    cls = {401: NotAllowed, 403: NotAllowed, 404: NotFound}.get(status, Unavailable)
    try:
        error = json.loads(body)["error"]
        return cls(error["message"], code=error["code"], hint=error["hint"])
    except (ValueError, KeyError, TypeError):
        return cls(f"the master's pages answered with HTTP status {status}")
