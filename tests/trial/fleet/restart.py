"""Replicas that are restarted or killed one after the other, while clients of both eras call tools and answer questions."""

import asyncio
import collections
import random
import re
import time

from .client import SESSION, STATELESS, Client, Lost
from .programs import BALANCERS, Program, Redis, Replica, config, free_port

REPLICAS = 3
DRAIN_DELAY, DRAIN_TIMEOUT = 5, 5
# How long users take to answer: at most as long as a replica that stops has for it, once HAProxy has noticed.
ANSWERS = (0.1, 7)
# Some calls take longer than that.
LONG = (6, 16)
WAITING = {0: ["ask"], 1: ["ask"], 2: ["new_ask"], 3: ["new_ask"], 4: ["long"]}
STOPPING = "the proxy is stopping; it may have run"
# A call that was running in a killed process ends at once, or when its retry finds that the process is gone: the sign of
# life of a process holds for 15 s.
MOMENT = 20


class Record:
    """One call: when it began and ended, in monotonic time, and what it was and brought."""

    def __init__(self, kind, began, ended, problem):
        self.kind, self.began, self.ended, self.problem = kind, began, ended, problem


class Load:
    def __init__(self, port, clients):
        self.records, self.stopping, self.problems = [], False, []
        self.clients = [Client(port, (SESSION, STATELESS)[at % 2]) for at in range(clients)]

    async def start(self):
        await asyncio.gather(*(client.open() for client in self.clients))
        self.tasks = [asyncio.create_task(self.use(at, client)) for at, client in enumerate(self.clients)]

    async def use(self, at, client):
        # Of twenty clients, eight wait for a user, and two for calls that may take longer than a replica has. Neighbours
        # speak different eras.
        kinds = WAITING.get(at % 20 // 2, ["echo", "slow", "new_echo"])
        while not self.stopping:
            await self.one(client, random.choice(kinds))
            await asyncio.sleep(random.random() * 0.1)

    async def one(self, client, kind):
        number = random.randrange(1 << 40)
        tool, arguments, answer_after = kind, {"number": number}, 0
        if kind == "slow":
            arguments["ms"] = random.randrange(10, 1500)
        elif kind == "long":
            tool, arguments["ms"] = "slow", int(random.uniform(*LONG) * 1000)
        elif kind.endswith("ask"):
            arguments, answer_after = {"message": str(number)}, random.uniform(*ANSWERS)
        began, problem = time.monotonic(), None
        try:
            result = await client.call(tool, arguments, answer_after)
            if kind.endswith("ask"):
                assert "accept" in str(result), result
            else:
                assert result["structuredContent"] == arguments, result
        except Lost as lost:
            problem = str(lost)
        except Exception as wrong:  # What else goes wrong is an error of the proxy, or of this program.
            problem = f"{type(wrong).__name__}: {wrong}"[:200]
        self.records.append(Record(f"{kind}, {client.era}", began, time.monotonic(), problem))

    async def stop(self):
        self.stopping = True
        await asyncio.gather(*self.tasks)

    async def lost_sessions(self):
        """How many of the sessions are not known at some replica, which get the requests in turn."""
        lost = 0
        for client in self.clients:
            if client.era == SESSION:
                try:
                    for _ in range(2 * REPLICAS):
                        await client.request("ping", {})
                except Lost as problem:
                    lost += 1
                    self.problems.append(f"a session after the end: {problem}")
        return lost


class Backend(Program):
    """A server over HTTP, which all replicas share."""

    def __init__(self, folder, options, era):
        super().__init__(folder, era, free_port())
        only = ["--only", "echo,slow,ask"]
        self.start([str(options.server), "--http", f"127.0.0.1:{self.port}", "--era", era, *only])


def servers(options, folder):
    """A server with sessions, whose questions wait in the process that asks them, and one without."""
    backends = {"old": Backend(folder, options, "legacy"), "new": Backend(folder, options, "modern")}
    urls = {name: {"url": f"http://127.0.0.1:{backend.port}/mcp"} for name, backend in backends.items()}
    return list(backends.values()), urls


async def run(options, folder, is_killed):
    redis = Redis(folder)
    backends, urls = servers(options, folder)
    programs = [redis, *backends]
    try:
        settings = config(redis, urls, drainDelay=f"{DRAIN_DELAY}s", drainTimeout=f"{DRAIN_TIMEOUT}s")
        replicas = [Replica(folder, number, options.proxy, settings) for number in range(REPLICAS)]
        programs += replicas
        balancer = BALANCERS[options.balancer](folder, replicas, options.by_session)
        programs.append(balancer)
        await asyncio.sleep(2)
        load = Load(balancer.port, options.clients)
        await load.start()
        await asyncio.sleep(4)
        ends = []
        for replica in replicas:
            if is_killed:
                signalled = time.monotonic()
                await asyncio.to_thread(replica.kill)
                ends.append((signalled, time.monotonic()))
                await asyncio.sleep(MOMENT)
                await asyncio.to_thread(replica.up)
            else:
                await asyncio.to_thread(balancer.before_stop, replica)
                signalled = time.monotonic()
                took = await asyncio.to_thread(replica.drain)
                ends.append((signalled, time.monotonic()))
                print(f"  {replica.name} stopped within {took:.1f} s", flush=True)
                await asyncio.to_thread(replica.up)
            await asyncio.to_thread(balancer.after_start, replica)
        await load.stop()
        lost_sessions = await load.lost_sessions()
        return judged(load, lost_sessions, ends, is_killed)
    finally:
        for program in reversed(programs):
            program.stop()


def is_running(record, end):
    """Whether a call ran at some time between the signal and the end of a process."""
    signalled, gone = end
    return record.began <= gone and record.ended >= signalled


def judged(load, lost_sessions, ends, is_killed):
    """Prints what happened, and returns what should not have."""
    findings = []
    lost = [record for record in load.records if record.problem]
    kinds = collections.Counter(record.kind for record in load.records)
    by_problem = collections.Counter((record.kind, re.sub(r"\d+", "N", record.problem)) for record in lost)
    retried = sum(client.retried for client in load.clients)
    print(f"  {len(load.records)} calls, {len(lost)} lost, {retried} tried again after a 503 with Retry-After")
    for kind, count in sorted(kinds.items()):
        print(f"    {count:6} {kind}")
    for (kind, problem), count in by_problem.most_common(20):
        print(f"  lost {count}: {kind}: {problem}")
    for record in lost:
        if is_killed:
            expected = any(is_running(record, end) and record.ended <= end[1] + MOMENT for end in ends)
        else:
            expected = record.kind.startswith("long") and STOPPING in record.problem
        if not expected:
            nearest = min((record.began - end for _, end in ends), key=abs)
            seconds = f"began {nearest:+.2f} s from the nearest end of a replica, took {record.ended - record.began:.2f} s"
            findings.append(f"a call was lost ({record.kind}, {seconds}): {record.problem}")
    sessions = sum(client.era == SESSION for client in load.clients)
    print(f"  {sessions} sessions, {lost_sessions} lost")
    findings += load.problems
    if is_killed:
        for end in ends:
            running = [record for record in load.records if is_running(record, end)]
            gone = sum(record.problem is not None for record in running)
            print(f"  of {len(running)} calls that ran when a replica was killed, {gone} were lost")
    return findings
