"""Calls a second and the CPU that each program spends on a call: one thread, two threads, and three replicas."""

import http.client
import json
import re
import subprocess

from .client import CAPABILITIES, INFO, PREFIX, SESSION, STATELESS
from .programs import Nginx, Program, Redis, Replica, config, free_port, found

CONNECTIONS = 16


class RmcpServer(Program):
    def __init__(self, folder, options):
        super().__init__(folder, "server", free_port())
        self.start([str(options.http_server), "--http", f"127.0.0.1:{self.port}"])


def post(port, headers, message):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0"} | message), headers)
    response = connection.getresponse()
    response.text = response.read().decode()
    connection.close()
    return response


def request(port, era):
    """The headers and the params of a call."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": era,
        "Host": "localhost",
    }
    params = {"name": "echo", "arguments": {"text": "some argument"}}
    if era == STATELESS:
        meta = {"protocolVersion": STATELESS, "clientInfo": INFO, "clientCapabilities": CAPABILITIES}
        params["_meta"] = {PREFIX + name: value for name, value in meta.items()}
        return headers | {"Mcp-Method": "tools/call", "Mcp-Name": "echo"}, params
    begin = {"protocolVersion": SESSION, "capabilities": {}, "clientInfo": INFO}
    session = post(port, headers, {"id": 1, "method": "initialize", "params": begin}).getheader("Mcp-Session-Id")
    headers["Mcp-Session-Id"] = session
    post(port, headers, {"method": "notifications/initialized"})
    return headers, params


class Wrk:
    def __init__(self, folder, port, era):
        self.port, self.script = port, folder / f"{port}-{era}.lua"
        headers, params = request(port, era)
        message = {"jsonrpc": "2.0", "id": "ID", "method": "tools/call", "params": params}
        reply = post(port, headers, message | {"id": 1})
        assert "some argument" in reply.text, reply.text
        before, after = json.dumps(message).split('"ID"')
        lines = ["local number = 1000", "wrk.method = 'POST'"]
        lines += [f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}" for name, value in headers.items()]
        lines += ["function request()", "  number = number + 1"]
        lines += [f"  return wrk.format(nil, nil, nil, [==[{before}]==] .. number .. [==[{after}]==])", "end"]
        lines += ["function done(summary)", "  local errors = summary.errors"]
        shown = "summary.requests, errors.status + errors.read + errors.connect + errors.timeout"
        lines += [f"  print(string.format('RESULT %d %d', {shown}))", "end"]
        self.script.write_text("\n".join(lines))

    def drive(self, seconds):
        options = ["-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", self.script]
        output = subprocess.run(["wrk", *options, f"http://127.0.0.1:{self.port}/mcp"], stdout=subprocess.PIPE, text=True).stdout
        calls, failed = map(int, re.search(r"RESULT (\d+) (\d+)", output).groups())
        return calls, failed


def run(options, folder):
    found("wrk")
    findings = []
    for number, (name, threads, replicas) in enumerate([("1 thread", 1, 1), ("2 threads", 2, 1), ("3 replicas", 1, 3)]):
        place = folder / str(number)
        place.mkdir()
        findings += measured(options, place, name, threads, replicas)
    return findings


def measured(options, folder, name, threads, number):
    redis, server = Redis(folder), RmcpServer(folder, options)
    programs, findings = [redis, server], []
    try:
        settings = config(redis, {"b": {"url": f"http://127.0.0.1:{server.port}/mcp"}}, threads=threads)
        replicas = [Replica(folder, at, options.proxy, settings) for at in range(number)]
        programs += replicas
        balancers = [Nginx(folder, replicas)] if number > 1 else []
        programs += balancers
        port = balancers[0].port if balancers else replicas[0].port
        for era in (SESSION, STATELESS):
            client = Wrk(folder, port, era)
            client.drive(1)
            groups = {"proxy": replicas, "Redis": [redis]}
            before = {group: sum(one.cpu_seconds() for one in members) for group, members in groups.items()}
            operations = sum(redis.commands().values())
            calls, failed = client.drive(options.seconds)
            operations = sum(redis.commands().values()) - operations
            after = {group: sum(one.cpu_seconds() for one in members) for group, members in groups.items()}
            spent = {group: after[group] - before[group] for group in groups}
            costs = ", ".join(f"{group} {seconds / calls * 1e6:.1f} µs" for group, seconds in spent.items())
            print(f"  {name}, {era}: {calls / options.seconds:.0f} calls a second, CPU per call: {costs}; "
                  f"{operations} operations of the store in {calls} calls", flush=True)
            if failed:
                findings.append(f"{name}, {era}: {failed} calls failed")
        return findings
    finally:
        for program in reversed(programs):
            program.stop()
