"""The suite: what it requires, how it is called, what it found."""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field

from .install import ROOT

REVISIONS = ["2025-11-25", "2026-07-28"]
SERVER_TIMEOUT_MS = "60000"
CLIENT_TIMEOUT_MS = "60000"
AUTHORIZATION = "auth/"


@dataclass
class Found:
    """What the suite found: the checks of each scenario, and whether it was content."""

    checks: dict = field(default_factory=dict)
    exit_code: int = 0
    output: str = ""


def passes(checks):
    return all(check["status"] != "FAILURE" for check in checks)


class Suite:
    def __init__(self, programs, output):
        self.node = programs.node
        self.folder = programs.suite
        self.output = output

    def call(self, name, arguments, environment=None):
        folder = self.output / name
        # A scenario that is run again comes later, and counts.
        folder.mkdir(parents=True, exist_ok=True)
        command = [str(self.node), str(self.folder / "dist/index.js"), *arguments, "-o", str(folder)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        outcome = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **(environment or {})}, text=True, errors="replace", **streams
        )
        logs = [outcome.stdout, *(path.read_text(errors="replace") for path in folder.rglob("stderr.txt"))]
        return Found(checks(folder), outcome.returncode, re.sub(r"\x1b\[\d*m", "", "\n".join(logs)))

    # A scenario of an extension belongs to no revision unless it is told to: hence `--force`.
    def server(self, name, url, revision, scenario=None):
        one = ["--scenario", scenario, "--spec-version", revision, "--force"]
        which = one if scenario else ["--requirements", revision]
        return self.call(name, ["server", "--url", url, "--timeout", SERVER_TIMEOUT_MS, *which])

    def client(self, name, command, revision, scenario, environment):
        which = ["--scenario", scenario, "--spec-version", revision, "--force", "--timeout", CLIENT_TIMEOUT_MS]
        return self.call(name, ["client", "--command", command, *which], environment)

    def scenarios(self, side, revision):
        return [*self.required(side, revision), *self.not_scored(side, revision)]

    def required(self, side, revision):
        """The scenarios of the frozen set, in its order."""
        return self.listed(revision, side)

    def not_scored(self, side, revision):
        return self.listed(revision, "not_scored", side)

    def listed(self, revision, section, leg=None):
        """Just enough of YAML for the suite's lists: `- NAME` in a section, or `- scenario: NAME` followed by `leg: LEG`."""
        names, current, last = [], None, None
        for line in (self.folder / "requirements" / f"{revision}.yaml").read_text().splitlines():
            if found := re.match(r"(\w+):", line):
                current = found[1]
            elif current != section:
                continue
            elif leg is None and (found := re.match(r"  - (\S+)$", line)):
                names.append(found[1])
            elif found := re.match(r"  - scenario: (\S+)$", line):
                last = found[1]
            elif last and line.strip() == f"leg: {leg}":
                names.append(last)
        return names


def checks(folder):
    """By scenario. The folders are called `server-NAME-TIME` or `NAME-TIME`."""
    found = {}
    for path in sorted(folder.rglob("checks.json")):
        name = str(path.parent.relative_to(folder))
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", name)
        found[scenario.removeprefix("server-") if name.startswith("server-") else scenario] = json.loads(path.read_text())
    return found
