"""A place of its own for one proxy: its config, its folders, and nothing of the user's."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

BROWSER = Path(__file__).resolve().parents[1] / "follow"
# A command that connects and logs in ends by itself long before.
PATIENCE = 30


class World:
    def __init__(self, proxy, folder):
        self.proxy = proxy
        self.folder = Path(folder)
        self.config = self.folder / "proxy.yaml"
        # The path is for the browser, which is a script.
        self.environment = {"PATH": os.environ["PATH"], "BROWSER": str(BROWSER)}
        for name in ["HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"]:
            (self.folder / name).mkdir()
            self.environment[name] = str(self.folder / name)

    def configure(self, server):
        """The config with this server, called `mock`. JSON is YAML."""
        self.config.write_text(json.dumps({"mcpServers": {"mock": server}, "sessionInit": {"preset": "passthrough@1"}}))

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def command(self, *arguments):
        return [self.proxy, *arguments, "--config", str(self.config)]

    def run(self, *arguments):
        """A command of the proxy, to its end; what it says is shown with the suite's output."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": sys.stderr, "stderr": sys.stderr}
        print(f"+ proxy {' '.join(arguments)}", file=sys.stderr, flush=True)
        return subprocess.run(self.command(*arguments), env=self.environment, timeout=PATIENCE, **streams).returncode


@contextmanager
def world(proxy):
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        yield World(proxy, folder)
