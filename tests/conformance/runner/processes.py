"""Starts servers and the proxy, each in a world of its own, and stops them again."""

import os
import re
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from .http_client import STATELESS, HttpClient

PATIENCE = 60
PROXY_CONFIG = """\
mcpServers:
  only:
    url: {url}
    protocol: {protocol}
sessionInit:
  preset: passthrough@1
"""


class Program:
    """A process and what it wrote to standard error."""

    def __init__(self, command, environment):
        self.lines = []
        self.news = threading.Condition()
        self.ended = False
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=environment, text=True, errors="replace", **streams)
        threading.Thread(target=self.collect, daemon=True).start()

    def collect(self):
        for line in self.process.stderr:
            with self.news:
                self.lines.append(line.rstrip())
                self.news.notify_all()
        with self.news:
            self.ended = True
            self.news.notify_all()

    def line(self, pattern):
        """The first line that matches, waited for."""
        deadline = time.monotonic() + PATIENCE
        with self.news:
            while True:
                for line in self.lines:
                    if found := re.search(pattern, line):
                        return found
                left = deadline - time.monotonic()
                if self.ended or left <= 0:
                    log = "\n".join(self.lines)
                    raise RuntimeError(f"no line like `{pattern}` from {self.process.args}:\n{log}")
                self.news.wait(left)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def world(folder):
    """An environment in which the user's own settings are out of reach."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    for name, place in [("HOME", "home"), ("XDG_CACHE_HOME", "cache"), ("XDG_RUNTIME_DIR", "runtime")]:
        (folder / place).mkdir()
        environment[name] = str(folder / place)
    return environment


@contextmanager
def running(command):
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        program = Program(command, world(Path(folder)))
        try:
            yield program
        finally:
            program.stop()


@contextmanager
def started(command):
    """The program's address, once it has said `listening on ADDRESS`, and the program."""
    with running(command) as program:
        yield program.line(r"listening on (http://\S+)")[1], program


@contextmanager
def proxy(binary, url, protocol, more=""):
    """The proxy over HTTP in front of one server, with more sections in its config."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        config = Path(folder) / "proxy.yaml"
        config.write_text(PROXY_CONFIG.format(url=url, protocol=protocol) + more)
        with started([str(binary), "serve", "--config", str(config), "--http", "127.0.0.1:0"]) as (address, program):
            wait_for_tools(address)
            yield address, program


def wait_for_tools(address):
    """The proxy does not wait long for a slow server: what is not listed yet comes later."""
    client = HttpClient(address, STATELESS)
    deadline = time.monotonic() + PATIENCE
    while not client.request("tools/list").get("result", {}).get("tools"):
        if time.monotonic() > deadline:
            raise RuntimeError("the proxy lists no tools")
        time.sleep(0.1)
