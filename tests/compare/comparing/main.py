"""Runs every server directly and behind the proxy, and tells every difference with its reason."""

import argparse
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import behind, differences, installed, reasons, steps
from .client import SESSION, STATELESS, Client, NoAnswer

# How many servers are looked at concurrently. Each waits most of the time.
CONCURRENT = 4
# How often a client connects again if the server started too late to be in the handshake.
RETRIES = 3


def run():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs="*", help=f"of {' '.join(server.name for server in installed.ALL)}; all if not given")
    parser.add_argument("--era", choices=[SESSION, STATELESS], help="the era of the client; both if not given")
    parser.add_argument("--way", choices=behind.WAYS, action="append", help="a preset, or handlers around everything; all if not given")
    parser.add_argument("--target", type=Path, default=installed.ROOT / "target/compare", help="where servers are installed")
    parser.add_argument("--programs", type=Path, default=installed.ROOT / "target/debug", help="where `proxy` was built")
    parser.add_argument("--brief", action="store_true", help="only the differences that have no reason")
    arguments = parser.parse_args()
    known = {server.name: server for server in installed.ALL}
    for name in arguments.servers:
        if name not in known:
            parser.error(f"there is no server `{name}`; there are {', '.join(known)}")
    for program in ("proxy", "examples/conformance-server"):
        if not (arguments.programs / program).is_file():
            parser.error(f"there is no {arguments.programs / program}; run `cargo build --bins --examples`")
    servers = [known[name] for name in arguments.servers] or installed.ALL
    eras = [arguments.era] if arguments.era else [SESSION, STATELESS]
    ways = arguments.way or behind.WAYS
    unexplained, used = 0, set()
    with ThreadPoolExecutor(CONCURRENT) as pool:
        for cases in pool.map(lambda server: compared(server, eras, ways, arguments), servers):
            for case, found in cases:
                unexplained += tell(case, found, used, arguments.brief)
    if len(servers) == len(known) and len(eras) * len(ways) == 2 * len(behind.WAYS):
        for reason in reasons.ALL:
            if reason not in used:
                print(f"not needed any more: {reason.text}")
    print(f"{unexplained} differences without a reason")
    return 1 if unexplained else 0


def compared(server, eras, ways, arguments):
    """The cases of one server, each with its differences."""
    command, cwd = installed.install(server, arguments.target, arguments.programs)
    spoken = [SESSION, STATELESS] if server.stateless else [SESSION]
    baselines = {era: recorded(server, command, era, cwd=cwd) for era in spoken}
    cases = []
    for way in ways:
        with tempfile.TemporaryDirectory() as folder:
            served, env = behind.command(way, arguments.programs, command, cwd, Path(folder))
            for era in eras:
                # A server without the client's era has no direct connection to it: its own era stands for it.
                own_era = era if era in baselines else SESSION
                if era == STATELESS and server.stateless:
                    # The cache knows the server from clients with sessions only, and what it tells others is not the same.
                    recorded(server, served, era, env=env)
                records = recorded(server, served, era, env=env)
                for _ in range(RETRIES):
                    if described(records) or not described(baselines[own_era]):
                        break
                    records = recorded(server, served, era, env=env)
                baseline = {step: record for step, record in baselines[own_era].items() if step in records}
                cases.append((reasons.Case(server.name, era, own_era, way), differences.of(baseline, records)))
    return cases


def described(records):
    """Whether the handshake describes the server. Behind the proxy it waits two seconds for it, which on a busy machine may
    be too short."""
    return "instructions" in records["handshake"].get("result", {})


def recorded(server, command, era, cwd=None, env=None):
    """What a client gets. A server that does not answer ends the comparison."""
    client = Client(command, era, cwd=cwd, env=env)
    try:
        return steps.of(server.steps, era, client)
    except NoAnswer as problem:
        raise SystemExit(f"{server.name}, {era} client, {' '.join(command)}: {problem}") from problem
    finally:
        client.close()


def tell(case, found, used, brief):
    """Prints the differences of one case, those without a reason first. Returns how many of these there are."""
    by_reason = {}
    for difference in found:
        by_reason.setdefault(reasons.of(case, difference), []).append(difference)
    used.update(by_reason)
    left = by_reason.pop(None, [])
    print(f"== {case}: {len(found)} differences, {len(left)} without a reason", flush=True)
    for difference in left:
        show(difference)
    if not brief:
        for reason, explained in by_reason.items():
            print(f"  -- {reason.text}")
            for difference in explained:
                show(difference)
    return len(left)


def show(difference):
    short = [value if len(value) <= 160 else value[:157] + "..." for value in (difference.direct, difference.behind)]
    print(f"  {difference.step}: {difference.path}\n      direct: {short[0]}\n      behind: {short[1]}")
