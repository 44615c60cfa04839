"""Tables for people, findings for the exit code."""

from .client_runs import ClientRun
from .compare import altered, worse
from .server_runs import DIRECT, inapplicable, reworded
from .suite import AUTHORIZATION, REVISIONS, passes


def tables(outcomes, gaps, options, suite):
    findings = []
    for revision in REVISIONS:
        servers = {one.where: one for one in outcomes if one.revision == revision and not isinstance(one, ClientRun)}
        if servers:
            server_table(revision, servers, gaps, options, findings, suite)
        clients = [one for one in outcomes if one.revision == revision and isinstance(one, ClientRun)]
        for title, kind in [("Client scenarios", False), ("Log-in scenarios", True)]:
            if runs := [one for one in clients if one.scenario.startswith(AUTHORIZATION) == kind]:
                client_table(f"{title} of {revision}", runs, gaps, options, findings, suite)
    # A partial run cannot tell what a line of the list is there for.
    if not (options.scenario or options.rev or options.side or options.server or options.leg or options.replicas):
        findings += [f"{gap}: names nothing that was run" for gap in gaps if not gap.used]
    return findings


def server_table(revision, runs, gaps, options, findings, suite):
    scenarios = dict.fromkeys(name for run in runs.values() for name in run.found.checks)
    rows = []
    for scenario in scenarios:
        cells = []
        for run in runs.values():
            direct = runs[f"{run.server}/{DIRECT}"]
            cells.append(server_cell(scenario, run, direct, gaps, options, findings))
        rows.append((scenario, cells))
    rows += totals("server", revision, rows, suite)
    if rows:
        print_table(f"Server scenarios of {revision}", list(runs), rows)
    for run in runs.values():
        if not run.found.checks:
            findings.append(f"{run.where} at {revision}: nothing was run\n{run.found.output}")
        findings += [f"{run.where} at {revision} says something else: {it}" for it in run.differences]
        if options.verbose and run.log:
            print(f"\nlog of {run.where} at {revision}:\n{run.log}")


def totals(side, revision, rows, suite):
    kinds = [("required", suite.required(side, revision)), ("not scored", suite.not_scored(side, revision))]
    return [line for kind, names in kinds for line in passed_of(kind, [cells for name, cells in rows if name in names])]


def passed_of(kind, rows):
    """A line with how many scenarios of a kind pass in each column, of those that apply."""
    if not rows:
        return []
    applying = [[cell for cell in column if cell != "-"] for column in zip(*rows)]
    return [(f"= {kind}", [f"{sum(cell.startswith('ok') for cell in column)}/{len(column)}" for column in applying])]


def server_cell(scenario, run, direct, gaps, options, findings):
    checks, before = run.found.checks.get(scenario), direct.found.checks.get(scenario)
    if checks is None or before is None:
        findings.append(f"{scenario} at {run.revision}, {run.where}: was not run")
        return "missing"
    if options.verbose:
        tell(scenario, run.where, checks)
    good = passes(checks)
    if run.leg == DIRECT:
        if not good:
            findings.append(f"{scenario} at {run.revision}, {run.where}: the reference server fails")
        return cell("ok" if good else "FAIL", checks)
    if not passes(before) or inapplicable(run.leg, scenario):
        return "-"
    gap = gaps.find(run.where, run.revision, scenario)
    if not good:
        if gap is None:
            findings.append(f"{scenario} at {run.revision}, {run.where}: fails behind the proxy")
        return cell("gap" if gap else "FAIL", checks)
    if gap:
        findings.append(f"{gap}: {scenario} at {run.revision}, {run.where} passes now; take the line out")
    return cell(closer_look(scenario, run, before, checks, gaps, findings), checks)


def closer_look(scenario, run, before, checks, gaps, findings):
    """Whether a scenario that passes is also as good as it was, check by check and word by word."""
    problems = {check: f"{check} was {old}, is {new}" for check, old, new in worse(before, checks)}
    for check, old, new in [] if reworded(run.leg, scenario) else altered(scenario, before, checks):
        problems.setdefault(check, f"{check} heard something else: {old} became {new}")
    word = "gap" if problems else "ok"
    for check, problem in problems.items():
        if gaps.find(run.where, run.revision, scenario, check) is None:
            findings.append(f"{scenario} at {run.revision}, {run.where}: {problem}")
            word = "WORSE"
    for gap in gaps:
        if gap.check and gap.check not in problems and gap.covers(run.where, run.revision, scenario, gap.check):
            gap.used = True
            if not gap.depends_on_time:
                text = f"{scenario}/{gap.check} at {run.revision}, {run.where} holds now; take the line out"
                findings.append(f"{gap}: {text}")
    return word


def client_table(title, runs, gaps, options, findings, suite):
    rows, eras = {}, sorted({run.where for run in runs})
    for run in runs:
        revision = run.revision
        checks = run.found.checks.get(run.scenario, [])
        if options.verbose:
            tell(run.scenario, run.where, checks)
            print(run.found.output)
        gap = gaps.find(run.where, revision, run.scenario)
        word = "ok" if run.passed else "gap" if gap else "FAIL"
        if run.passed and gap:
            findings.append(f"{gap}: {run.scenario} at {revision}, {run.where} passes now; take the line out")
        if word == "FAIL":
            findings.append(f"{run.scenario} at {revision}, {run.where}: fails\n{run.found.output}")
        rows.setdefault(run.scenario, {})[run.where] = cell(word, checks)
    lines = [(scenario, [cells.get(era, "-") for era in eras]) for scenario, cells in rows.items()]
    print_table(title, eras, lines + totals("client", revision, lines, suite))


def cell(word, checks):
    counted = [check for check in checks if check["status"] in ("SUCCESS", "WARNING", "FAILURE")]
    good = sum(check["status"] == "SUCCESS" for check in counted)
    return f"{word} {good}/{len(counted)}"


def tell(scenario, where, checks):
    for check in checks:
        if check["status"] not in ("SUCCESS", "INFO"):
            print(f"{where} {scenario}: {check['status']} {check['id']}: {check.get('errorMessage', '')}")


def print_table(title, columns, rows):
    first = max(len(title), *(len(name) for name, _ in rows))
    widths = [max(len(column), *(len(cells[at]) for _, cells in rows)) for at, column in enumerate(columns)]
    print()
    for name, cells in [(title, columns), *rows]:
        print("  ".join([name.ljust(first), *(cell.ljust(width) for cell, width in zip(cells, widths))]).rstrip())
