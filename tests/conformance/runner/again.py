"""Runs server scenarios that failed beside other runs once more, alone: the suite waits for some answers no longer than
600 ms, which busy processors may not keep.
"""

import copy
from types import SimpleNamespace

from .report import server_cell
from .server_runs import DIRECT, ServerRun

QUIET = SimpleNamespace(verbose=False)


def run_failed_again(outcomes, known, programs, suite):
    runs = [one for one in outcomes if isinstance(one, ServerRun)]
    for run in runs:
        direct = next(one for one in runs if one.leg == DIRECT and (one.server, one.revision) == (run.server, run.revision))
        for scenario in run.found.checks:
            if fails(scenario, run, direct, known):
                print(f"  {scenario} once more, alone:", flush=True)
                alone = ServerRun(run.server, run.leg, run.revision, scenario, run.replicas)
                run.found.checks[scenario] = alone.perform(programs, suite).found.checks.get(scenario)


def fails(scenario, run, direct, known):
    findings = []
    # Gaps remember that they were needed, which the last word alone decides.
    server_cell(scenario, run, direct, copy.deepcopy(known), QUIET, findings)
    return bool(findings)
