"""What a kind of request takes from the store, and what a session takes in memory."""

import asyncio
import time

from .client import SESSION, STATELESS, Client
from .programs import Redis, Replica, config
from .restart import servers

ROUNDS = 400
# Requests of one kind that are in progress at the same time.
CROWD = 20
SCRIPT = """
def limited(call):
    def handler(args):
        allowed, _ = check_rate_limit("calls", 1000000, 60)
        return call(args) if allowed else error("too many")
    return handler

def stored(call):
    def handler(args):
        shared_state.set("last", "x", ttl = 60)
        shared_state.get("last")
        return call(args)
    return handler

for meta, call in backends()["old"].tools():
    publish(meta, call)
    if meta.name == "echo":
        publish(meta.replace(name = "limited"), limited(call))
        publish(meta.replace(name = "stored"), stored(call))
"""


class Kind:
    """Requests of one kind: what is done before the counting, and what is counted."""

    def __init__(self, name, act, prepare=None):
        self.name, self.act, self.prepare = name, act, prepare


async def opened(port, era=SESSION):
    return await Client(port, era).open()


async def moved(client, port):
    client.close()
    client.port = port


def kinds(one, two):
    """At two replicas, of which the second learns of a session with its first request."""

    async def session():
        return await opened(one)

    async def known_at_both():
        client = await opened(one)
        await moved(client, two)
        await client.request("ping", {})
        return client

    async def stateless():
        return await opened(one, STATELESS)

    async def call(client):
        await client.call("echo", {"a": 1})

    async def begin(_):
        await opened(one)

    async def revive(client):
        await moved(client, two)
        await client.request("ping", {})

    async def ask(client):
        await client.call("ask", {"message": "?"})

    async def answer_elsewhere(client):
        """The call goes to the first replica, its answer to the second."""
        await moved(client, one)
        calling = asyncio.create_task(client.call("ask", {"message": "?"}, answer_after=0.01))
        await asyncio.sleep(0.005)
        client.port = two
        await calling

    async def level(client):
        await client.request("logging/setLevel", {"level": "error"})

    async def limited(client):
        await client.call("limited", {"a": 1})

    async def stored(client):
        await client.call("stored", {"a": 1})

    async def end(client):
        await client.end()

    return [
        Kind("call in a session", call, session),
        Kind("call of a stateless client", call, stateless),
        Kind("`initialize` and `notifications/initialized`", begin),
        Kind("first request of a session at another replica", revive, session),
        Kind("call with a rate limit", limited, session),
        Kind("call whose script writes and reads a value", stored, session),
        Kind("call with a question, answered at the same replica", ask, session),
        Kind("the same, answered at another replica", answer_elsewhere, known_at_both),
        Kind("call with a question of a stateless client", ask, stateless),
        Kind("`logging/setLevel`", level, session),
        Kind("`DELETE` of a session", end, session),
    ]


async def store(options, folder):
    redis = Redis(folder)
    backends, urls = servers(options, folder)
    programs = [redis, *backends]
    try:
        settings = config(redis, {"old": urls["old"]}) | {"sessionInit": {"script": SCRIPT}}
        replicas = [Replica(folder, number, options.proxy, settings) for number in range(2)]
        programs += replicas
        await asyncio.sleep(1)
        before = redis.cpu_seconds()
        idle = await counted(redis, asyncio.sleep(10))
        idle_rate = {name: count / 10 for name, count in idle.items()}
        idle_cpu = (redis.cpu_seconds() - before) / 10
        print(f"  two idle replicas: {sum(idle_rate.values()) / 2:.1f} commands a second each ({listed(idle_rate, 2)}), "
              f"{idle_cpu / 2 * 1e6:.0f} µs of Redis a second each")
        for kind in kinds(*(replica.port for replica in replicas)):
            await measured(redis, kind, idle_rate, idle_cpu)
    finally:
        for program in reversed(programs):
            program.stop()


async def measured(redis, kind, idle_rate, idle_cpu):
    clients = [await kind.prepare() if kind.prepare else None for _ in range(ROUNDS)]
    await asyncio.sleep(0.5)

    crowd = asyncio.Semaphore(CROWD)

    async def one(client):
        async with crowd:
            await kind.act(client)

    async def act():
        await asyncio.gather(*(one(client) for client in clients))
        await asyncio.sleep(0.2)

    begun, cpu = time.monotonic(), redis.cpu_seconds()
    found = await counted(redis, act())
    seconds = time.monotonic() - begun
    cpu = max(redis.cpu_seconds() - cpu - idle_cpu * seconds, 0)
    each = {name: count - idle_rate.get(name, 0) * seconds for name, count in found.items()}
    each = {name: count for name, count in each.items() if count >= ROUNDS / 20}
    print(f"  {kind.name}: {sum(each.values()) / ROUNDS:.1f} commands ({listed(each, ROUNDS)}), "
          f"{cpu / ROUNDS * 1e6:.0f} µs of Redis", flush=True)
    for client in clients:
        if client:
            client.close()


async def counted(redis, waiting):
    before = redis.commands()
    await waiting
    after = redis.commands()
    found = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: count for name, count in found.items() if count}


def listed(counts, number):
    return ", ".join(f"{name} {count / number:.1f}" for name, count in sorted(counts.items())) or "none"


async def memory(options, folder):
    """At one replica, and with a level in the store for every tenth session."""
    redis = Redis(folder)
    backends, urls = servers(options, folder)
    programs = [redis, *backends]
    try:
        replica = Replica(folder, 0, options.proxy, config(redis, urls, maxSessions=4 * options.sessions))
        programs.append(replica)
        await asyncio.sleep(1)
        print(f"  idle: {replica.memory() / 1e6:.0f} MB")
        limit = asyncio.Semaphore(20)

        async def one(number):
            async with limit:
                client = await opened(replica.port)
                client.close()
                return client

        await asyncio.gather(*(one(number) for number in range(200)))
        before = replica.memory()
        clients = await asyncio.gather(*(one(number) for number in range(options.sessions)))
        grown = (replica.memory() - before) / options.sessions
        total = replica.memory() / 1e6
        print(f"  with {options.sessions} sessions: {total:.0f} MB, {grown / 1000:.1f} kB per session")
        used = int(redis.info("memory")["used_memory"])
        some = clients[::10]
        for client in some:
            await client.request("logging/setLevel", {"level": "error"})
            client.close()
        await asyncio.sleep(1)
        each = (int(redis.info("memory")["used_memory"]) - used) / len(some)
        print(f"  in Redis: {used / 1e6:.1f} MB, and {each:.0f} bytes more per session with a log level")
    finally:
        for program in reversed(programs):
            program.stop()
