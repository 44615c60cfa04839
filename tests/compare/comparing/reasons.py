"""Why an answer behind the proxy may differ from that of a direct connection. A difference without a reason here is a
defect."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """`server_era` is the era of the direct connection: the client's own if the server has it."""

    server: str
    era: str
    server_era: str
    way: str

    def __str__(self):
        other = "" if self.era == self.server_era else f", compared with a {self.server_era} client"
        return f"{self.server}, {self.era} client, {self.way}{other}"


@dataclass(frozen=True)
class Reason:
    """Explains differences by regular expressions, each of which has to match all of its part."""

    text: str
    path: str
    step: str = ".*"
    server: str = ".*"
    era: str = ".*"
    server_era: str = ".*"
    way: str = ".*"
    direct: str = ".*"
    behind: str = ".*"


AGGREGATED = "default|handler"
META = re.escape("result._meta.io.modelcontextprotocol/serverInfo")
QUESTIONS = "form|form with defaults|sampling|roots"

ALL = [
    # The two eras.
    Reason(
        "era: a stateless result has these members, a session-based one has not, and the server speaks sessions only",
        r"result\.(resultType|ttlMs|cacheScope)",
        era="stateless",
        server_era="session",
    ),
    Reason(
        "era: the handshakes of the eras differ",
        r"result\.(protocolVersion|serverInfo\..*)",
        step="handshake",
        era="stateless",
        server_era="session",
    ),
    Reason("era: the proxy speaks all of its revisions to every client", r"result\.supportedVersions.*", step="handshake"),
    Reason(
        "era: the extension for tasks is declared to the era that defines it",
        r"result\.capabilities\.extensions(\..*/tasks)?",
        step="handshake",
        era="session",
        behind=r"\(absent\)|\{\}",
    ),
    Reason(
        "era: only 2025-11-25 defines `execution`",
        r"result\.tools\[.*\]\.execution\.taskSupport",
        step="list tools",
        era="stateless",
        server_era="session",
        behind=r"\(absent\)",
    ),
    Reason(
        "era: a session-based server is told of the folders of a client without a session only with `scope: session`",
        r"(said|result).*",
        step="roots",
        era="stateless",
        server_era="session",
        behind=r".*method not found: roots/list.*|\(absent\)|\[\]|True",
    ),
    # What the proxy is.
    Reason("own: the client is connected to the proxy, and the proxy says so", r"result\.serverInfo\..*", step="handshake"),
    Reason("own: the client is connected to the proxy, and the proxy says so", META + r"\..*"),
    Reason(
        "own: lists of the proxy may change, and it passes updates, log levels and completion on for all servers",
        r"result\.capabilities\.(.*\.listChanged|resources\.subscribe|logging|completions|experimental)",
        step="handshake",
        way=AGGREGATED,
    ),
    Reason(
        "own: the instructions of several servers need headings",
        r"result\.instructions",
        step="handshake",
        way=AGGREGATED,
        behind=r"'# compared\\n\\n.*'",
    ),
    Reason("own: the log level is kept for each client by the proxy itself", r"result|error\..*", step="log level", way=AGGREGATED),
    Reason(
        "own: a server without completion has empty ones, because others may have it",
        r"(result|error)\..*",
        step="completion .*",
        server="fastmcp-3",
        way=AGGREGATED,
    ),
    Reason(
        "own: what is not published is refused by the proxy, as the protocol says, without asking the server",
        r"(result|error)\..*",
        step="unknown (tool|resource|prompt)",
    ),
    Reason("own: a method that no server has is refused by the proxy", r"error\..*", step="unknown method"),
    Reason(
        "own: a method that the only server does not declare is refused by the proxy, as the server does, in other words",
        r"error\.(message|data)",
        step="log level|completion .*",
        way="passthrough",
    ),
    Reason("own: a progress token of the server's own question is not the client's", r"said\[0\]\.params\._meta\..*", step=QUESTIONS),
    Reason("own: absent and empty params are the same", r"said\[0\]\.params", step="roots", behind=r"\{\}|None|\(absent\)"),
    # What a handler is.
    Reason(
        "handler: the proxy checks the arguments before a handler sees them",
        r"result\.content\[0\]\.text",
        step="wrong arguments",
        way="handler",
        behind="'invalid arguments for `.*",
    ),
    Reason(
        "handler: a server's error is a value for the handler, and an error result if it is returned",
        r"(error|result)\..*",
        step=QUESTIONS,
        server="python-2",
        way="handler",
    ),
    Reason(
        "handler: how long a result is valid is the handler's matter; by default it is private and expires at once",
        r"result\.(ttlMs|cacheScope)",
        step="read.*",
        era="stateless",
        way="handler",
        behind="0|'private'",
    ),
]


def of(case, difference):
    """The first reason that explains a difference, or None."""
    for reason in ALL:
        parts = [
            (reason.path, difference.path),
            (reason.step, difference.step),
            (reason.server, case.server),
            (reason.era, case.era),
            (reason.server_era, case.server_era),
            (reason.way, case.way),
            (reason.direct, difference.direct),
            (reason.behind, difference.behind),
        ]
        if all(re.fullmatch(pattern, text, re.DOTALL) for pattern, text in parts):
            return reason
    return None
