"""What is known to be missing, so that the list can only get shorter.

A line of gaps.txt is WHERE REVISION SCENARIO[/CHECK] REASON, with `*` for any. WHERE is SERVER/LEG or client/ERA.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from .suite import AUTHORIZATION

FILE = Path(__file__).resolve().parents[1] / "gaps.txt"


@dataclass
class Gap:
    where: str
    revision: str
    scenario: str
    check: str
    reason: str
    line: int
    used: bool = False

    def covers(self, where, revision, scenario, check):
        return (
            fnmatchcase(where, self.where)
            and fnmatchcase(revision, self.revision)
            and fnmatchcase(scenario, self.scenario)
            and check == self.check
        )

    @property
    def depends_on_time(self):
        """Whether the scenario passes on a machine that is slow enough."""
        return self.reason.startswith("mostly ")

    def __str__(self):
        return f"gaps.txt:{self.line}"


class Gaps(list):
    def find(self, where, revision, scenario, check=None):
        for gap in self:
            if gap.covers(where, revision, scenario, check):
                gap.used = True
                return gap
        return None


def read():
    found = Gaps()
    for number, line in enumerate(FILE.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 3)
        if len(words) != 4:
            raise SystemExit(f"error: {FILE.name}:{number}: needs WHERE REVISION SCENARIO REASON")
        where, revision, subject, reason = words
        scenario, check = parts(subject)
        found.append(Gap(where, revision, scenario, check, reason, number))
    return found


def parts(subject):
    """The scenario, and the check if one is named. The names of scenarios of OAuth have a slash of their own."""
    prefix = AUTHORIZATION if subject.startswith(AUTHORIZATION) else ""
    scenario, _, check = subject.removeprefix(prefix).partition("/")
    return prefix + scenario, check or None
