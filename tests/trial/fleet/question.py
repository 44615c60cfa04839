"""A question that is open when its replica stops, with nothing else to do there: the user answers within the drain, and the
answer reaches another replica."""

import asyncio

from .client import SESSION, STATELESS, Client, Lost
from .programs import Redis, Replica, config
from .restart import servers

DRAIN_TIMEOUT = 10
ANSWER_AFTER = 3


async def run(options, folder):
    redis = Redis(folder)
    backends, urls = servers(options, folder)
    programs, findings = [redis, *backends], []
    try:
        settings = config(redis, urls, drainTimeout=f"{DRAIN_TIMEOUT}s")
        one, two = (Replica(folder, number, options.proxy, settings) for number in range(2))
        programs += [one, two]
        for era in (SESSION, STATELESS):
            for tool, server in [("ask", "with sessions"), ("new_ask", "without")]:
                client = await Client(one.port, era).open()
                calling = asyncio.create_task(client.call(tool, {"message": "?"}, answer_after=ANSWER_AFTER))
                await asyncio.sleep(1)
                client.close()
                client.port = two.port
                took = await asyncio.to_thread(one.drain)
                try:
                    await calling
                    outcome = "answered"
                except Lost as lost:
                    outcome = str(lost)
                    findings.append(f"a call of a client of {era} to a server {server} was lost: {lost}")
                print(f"  client of {era}, server {server}: stopped within {took:.1f} s; {outcome}", flush=True)
                await asyncio.to_thread(one.up)
        return findings
    finally:
        for program in reversed(programs):
            program.stop()
