"""The command line, and the order of things."""

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import client_runs, gaps, install, report, server_runs
from .again import run_failed_again
from .suite import REVISIONS, Suite


def arguments():
    parser = argparse.ArgumentParser(description="Runs the MCP conformance suite directly and behind the proxy.")
    parser.add_argument("--scenario", help="only this scenario")
    parser.add_argument("--rev", choices=REVISIONS, help="only this revision of the suite")
    parser.add_argument("--side", choices=["server", "client"], help="only the server or only the client scenarios")
    parser.add_argument("--server", choices=server_runs.SERVERS, help="only this reference server")
    parser.add_argument("--leg", choices=server_runs.LEGS, help="only this revision between the proxy and its server")
    parser.add_argument("--replicas", type=int, help="so many proxies behind nginx; server scenarios only")
    parser.add_argument("--verbose", action="store_true", help="show every check that is not a success, and the logs")
    parser.add_argument("--no-build", action="store_true", help="take the programs as they are")
    parser.add_argument("--jobs", type=int, default=3, help="how many runs at once (default 3)")
    parser.add_argument("--output", type=Path, help="keep what the suite wrote in this folder")
    return parser.parse_args()


def run():
    options = arguments()
    started = time.monotonic()
    known = gaps.read()
    programs = install.programs(build=not options.no_build, python=options.server != "rmcp")
    with tempfile.TemporaryDirectory(prefix="conformance-") as scratch:
        suite = Suite(programs, options.output or Path(scratch))
        runs = []
        if options.side != "client":
            runs += server_runs.plan(options, suite)
        if options.side != "server" and not options.replicas:
            runs += client_runs.plan(options, suite)
        if not runs:
            raise SystemExit("error: there is no such scenario here; the suite's requirements/*.yaml have the names")
        with ThreadPoolExecutor(max_workers=options.jobs) as pool:
            outcomes = list(pool.map(lambda one: one.perform(programs, suite), runs))
        run_failed_again(outcomes, known, programs, suite)
        findings = report.tables(outcomes, known, options, suite)
    print(f"\n{len(outcomes)} runs in {time.monotonic() - started:.0f} s")
    for finding in findings:
        print(f"error: {finding}")
    if not findings:
        print("The proxy adds no failure to those in tests/conformance/gaps.txt.")
    return 1 if findings else 0
