"""Clients that listen, when one replica is drained: how fast they come back at the others."""

import asyncio
import bisect
import resource
import time

from .client import SESSION, STATELESS, Client
from .programs import Nginx, Redis, Replica, config
from .restart import REPLICAS, servers

DRAIN_TIMEOUT = 10
# A replica with few streams does not take all the time: it ends so many a second.
PACE = 200
# Connections that are opened at a time.
OPENING = 50
WINDOW = 1.0
LIMIT = 2.0


class Listener:
    """A client that keeps a stream open, and notes when it has come back."""

    def __init__(self, port, era):
        self.client = Client(port, era)
        self.ends, self.returns, self.failures, self.stream = [], [], [], None

    async def open(self, opening):
        async with opening:
            await self.client.open()
            await self.connect()
            self.client.close()

    async def connect(self):
        self.stream = await self.client.listen()
        if self.stream.status != 200:
            self.stream.connection.close()
            raise ConnectionError(f"HTTP {self.stream.status}")

    async def keep(self):
        while True:
            wait = await self.until_the_end()
            self.ends.append(time.monotonic())
            while True:
                await asyncio.sleep(wait)
                try:
                    await self.connect()
                    self.returns.append(time.monotonic())
                    break
                except (OSError, asyncio.IncompleteReadError) as problem:
                    self.failures.append(str(problem))
                    wait = 1

    async def until_the_end(self):
        """Reads the stream, and returns how many seconds the client is asked to wait. A stateless client is not asked."""
        wait = 0
        try:
            async for piece in self.stream.pieces():
                for line in piece.splitlines():
                    if line.startswith(b"retry:"):
                        wait = int(line.removeprefix(b"retry:")) / 1000
        except (OSError, asyncio.IncompleteReadError):
            pass
        self.stream.connection.close()
        return wait


async def run(options, folder):
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    number = min(options.streams, files - 500)
    redis = Redis(folder)
    backends, urls = servers(options, folder)
    programs = [redis, *backends]
    try:
        settings = config(redis, urls, drainTimeout=f"{DRAIN_TIMEOUT}s", maxSessions=4 * number)
        replicas = [Replica(folder, at, options.proxy, settings) for at in range(REPLICAS)]
        programs += replicas
        nginx = Nginx(folder, replicas)
        programs.append(nginx)
        before = [replica.memory() for replica in replicas]
        listeners = [Listener(nginx.port, (SESSION, STATELESS)[at % 2]) for at in range(number)]
        opening, begun = asyncio.Semaphore(OPENING), time.monotonic()
        await asyncio.gather(*(listener.open(opening) for listener in listeners))
        print(f"  {number} streams, half of them of sessions, opened within {time.monotonic() - begun:.0f} s")
        grown = sum(replica.memory() for replica in replicas) - sum(before)
        print(f"  memory per stream, of all replicas: {grown / number / 1000:.1f} kB")
        tasks = [asyncio.create_task(listener.keep()) for listener in listeners]
        await asyncio.sleep(5)
        early = sum(len(listener.returns) for listener in listeners)
        began = time.monotonic()
        took = await asyncio.to_thread(replicas[0].drain)
        await asyncio.sleep(5)
        for task in tasks:
            task.cancel()
        return judged(listeners, early, began, took)
    finally:
        for program in reversed(programs):
            program.stop()


def judged(listeners, early, began, took):
    returns = sorted(at - began for listener in listeners for at in listener.returns)
    for era in (SESSION, STATELESS):
        of_era = [listener for listener in listeners if listener.client.era == era]
        for what in ("ends", "returns"):
            times = [at - began for listener in of_era for at in getattr(listener, what)]
            seconds = [sum(second <= at < second + 1 for at in times) for second in range(DRAIN_TIMEOUT + 5)]
            print(f"  {what:7} in each second, {era}: {seconds}")
    failures = [failure for listener in listeners for failure in listener.failures]
    mean = len(returns) / DRAIN_TIMEOUT
    peak = max((bisect.bisect_left(returns, at + WINDOW) - index) / WINDOW for index, at in enumerate(returns))
    first, last = returns[0], returns[-1]
    print(f"  the drain took {took:.1f} s; {len(returns)} streams came back, {first:.1f} to {last:.1f} s after it began")
    print(f"  mean over drainTimeout: {mean:.0f} per second, peak: {peak:.0f} per second ({peak / mean:.2f} times)")
    print(f"  attempts that failed: {len(failures)} {sorted(set(failures))[:5]}")
    limit = LIMIT * max(mean, PACE)
    findings = [] if peak <= limit else [f"the peak is {peak:.0f} per second, more than {limit:.0f}"]
    if early:
        findings.append(f"{early} streams ended before the drain")
    if failures:
        findings.append(f"{len(failures)} attempts to come back failed: {sorted(set(failures))[:5]}")
    if len(returns) < len(listeners) / REPLICAS / 2:
        findings.append(f"only {len(returns)} streams came back")
    return findings
