"""One run of the server scenarios: against a reference server, or against the proxy in front of it."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from . import words
from .processes import proxy, started
from .replicas import replicas
from .suite import REVISIONS, Found

HERE = Path(__file__).resolve().parents[1]
DIRECT = "direct"
# What the proxy speaks with the server: what it finds out by itself, or sessions although the server knows better.
SESSION = "2025-11-25"
LEGS = ["auto", SESSION]
REFUSED_BY_THE_PROXY = ["input-required-result-tampered-state", "input-required-result-validate-input"]
SERVERS = {
    "rmcp": lambda programs: [str(programs.server), "127.0.0.1:0"],
    "python": lambda programs: [str(programs.python), str(HERE / "python_server/main.py"), "127.0.0.1:0"],
}


@dataclass
class ServerRun:
    server: str
    leg: str
    revision: str
    scenario: str = None
    # More than one proxy, behind a load balancer.
    replicas: int = None
    found: Found = None
    differences: list = field(default_factory=list)
    log: str = ""

    @property
    def where(self):
        return f"{self.server}/{self.leg}"

    @property
    def folder(self):
        return "-".join(part for part in [self.server, self.leg, self.revision, self.scenario] if part)

    def perform(self, programs, suite):
        with ExitStack() as stack:
            server, program = stack.enter_context(started(SERVERS[self.server](programs)))
            url, logging = server, [program]
            if self.leg != DIRECT:
                url, logging = stack.enter_context(self.proxies(programs.proxy, server))
                self.differences = words.differences(server, url, self.revision)
            self.found = suite.server(self.folder, url, self.revision, self.scenario)
            self.log = "\n".join(line for program in logging for line in program.lines)
        print(f"  {self.where} at {self.revision}", flush=True)
        return self

    @contextmanager
    def proxies(self, binary, server):
        """The address for clients, and the programs behind it."""
        if self.replicas:
            with replicas(binary, server, self.leg, self.replicas) as behind:
                yield behind
        else:
            with proxy(binary, server, self.leg) as (url, program):
                yield url, [program]


def plan(options, suite):
    return [
        ServerRun(server, leg, revision, options.scenario, options.replicas)
        for server in ([options.server] if options.server else SERVERS)
        for revision in ([options.rev] if options.rev else REVISIONS)
        for leg in [DIRECT, *([options.leg] if options.leg else LEGS)]
        if options.scenario in [None, *suite.scenarios("server", revision)]
    ]


def inapplicable(leg, scenario):
    """Tasks belong to the stateless era: where the server is met in a session there is nothing to carry."""
    return leg == SESSION and scenario.startswith("tasks-")


def reworded(leg, scenario):
    """A session's questions have no keys: where the server is met in one, the proxy makes some up. And what a client carries
    for the server the proxy seals itself, so it is the one to refuse it.
    """
    return scenario in REFUSED_BY_THE_PROXY or leg == SESSION and scenario.startswith("input-required-")
