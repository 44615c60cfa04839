"""A client of one address that hands results on as they came."""

import itertools
import json
import urllib.error
import urllib.request

STATELESS = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
INFO = {"name": "conformance-runner", "version": "1.0.0"}
# The member of the params that a header repeats.
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class HttpClient:
    def __init__(self, url, revision):
        self.url = url
        self.revision = revision
        self.session = None
        self.numbers = itertools.count(1)
        if revision != STATELESS:
            self.request("initialize", protocolVersion=revision, capabilities={}, clientInfo=INFO)
            self.post({"method": "notifications/initialized"}, {})

    def request(self, method, headers=None, **params):
        """The result, or the error."""
        number = next(self.numbers)
        headers = dict(headers or {})
        if self.revision == STATELESS:
            params["_meta"] = {
                f"{PREFIX}protocolVersion": self.revision,
                f"{PREFIX}clientInfo": INFO,
                f"{PREFIX}clientCapabilities": {},
            }
            headers["Mcp-Method"] = method
            if method in NAMED:
                headers["Mcp-Name"] = params[NAMED[method]]
        answer = self.post({"id": number, "method": method, "params": params}, headers)
        return next(message for message in messages(*answer) if message.get("id") == number)

    def post(self, message, headers):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
        if message["method"] != "initialize":
            headers["MCP-Protocol-Version"] = self.revision
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with opened(urllib.request.Request(self.url, body, headers)) as answer:
            self.session = answer.headers.get("Mcp-Session-Id", self.session)
            return answer.headers.get("Content-Type", ""), answer.read().decode()


def opened(request):
    """A status that says no comes with a body like any other."""
    try:
        return urllib.request.urlopen(request, timeout=30)
    except urllib.error.HTTPError as refused:
        return refused


def messages(kind, body):
    if not kind.startswith("text/event-stream"):
        return [json.loads(body)]
    events = [line.removeprefix("data:") for line in body.splitlines() if line.startswith("data:")]
    return [json.loads(event) for event in events if event.strip()]
