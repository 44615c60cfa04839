"""A client on the standard streams of the proxy, in either era."""

import itertools
import json
import subprocess
import sys
from contextlib import contextmanager

from . import answers

STATELESS = "2026-07-28"
INFO = {"name": "conformance-driver", "version": "1.0.0"}
PREFIX = "io.modelcontextprotocol/"


class Refused(Exception):
    """An error instead of a result."""


class Client:
    def __init__(self, process, era):
        self.process = process
        self.era = era
        self.numbers = itertools.count(1)
        if era != STATELESS:
            opening = {"protocolVersion": era, "capabilities": answers.CAPABILITIES, "clientInfo": INFO}
            self.exchange("initialize", opening)
            self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, **params):
        """The result; questions on the way to it are answered."""
        result = self.exchange(method, params)
        while result.get("resultType") == "input_required":
            given = {key: answers.to(question) for key, question in (result.get("inputRequests") or {}).items()}
            retry = {**params, "inputResponses": given}
            if "requestState" in result:
                retry["requestState"] = result["requestState"]
            result = self.exchange(method, retry)
        return result

    def exchange(self, method, params):
        number = next(self.numbers)
        if self.era == STATELESS:
            params = {**params, "_meta": self.meta()}
        self.send({"id": number, "method": method, "params": params})
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" in message:
                if "id" in message:
                    self.send({"id": message["id"], "result": answers.to(message)})
            elif message["id"] == number:
                if "error" in message:
                    raise Refused(f"{method}: {message['error']}")
                return message["result"]
        raise Refused(f"{method}: the proxy ended")

    def meta(self):
        return {
            f"{PREFIX}protocolVersion": self.era,
            f"{PREFIX}clientInfo": INFO,
            f"{PREFIX}clientCapabilities": answers.CAPABILITIES,
        }


@contextmanager
def client(world, era):
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": sys.stderr}
    process = subprocess.Popen(world.command("serve"), env=world.environment, text=True, **streams)
    try:
        yield Client(process, era)
    finally:
        process.stdin.close()
        process.wait(timeout=30)
