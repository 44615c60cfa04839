"""One run of a client scenario: the suite is the server, the proxy its client, and a plain client sits before the proxy."""

from dataclasses import dataclass

from .suite import AUTHORIZATION, REVISIONS, Found

COMMAND = "tests/conformance/drive"


@dataclass
class ClientRun:
    # The era of the client before the proxy, which does nothing by itself of what the scenario is about.
    era: str
    revision: str
    scenario: str
    found: Found = None

    @property
    def where(self):
        return f"client/{self.era}"

    @property
    def passed(self):
        return self.found.exit_code == 0 and bool(self.found.checks.get(self.scenario))

    def perform(self, programs, suite):
        name = f"client-{self.era}-{self.revision}-{self.scenario}"
        environment = {"DRIVE_PROXY": str(programs.proxy), "DRIVE_ERA": self.era}
        self.found = suite.client(name, COMMAND, self.revision, self.scenario, environment)
        return self


def plan(options, suite):
    return [
        ClientRun(era, revision, scenario)
        for revision in ([options.rev] if options.rev else REVISIONS)
        for scenario in suite.scenarios("client", revision)
        for era in eras(scenario, revision)
        if options.scenario in (None, scenario)
    ]


def eras(scenario, revision):
    """Logging in is between the proxy and its server: what the client before it speaks makes no difference."""
    return [revision] if scenario.startswith(AUTHORIZATION) else REVISIONS
