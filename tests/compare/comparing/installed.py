"""The servers, each on an SDK in a pinned version, installed once below `target/compare`."""

import fcntl
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from . import steps

ROOT = Path(__file__).resolve().parents[3]
SERVERS = ROOT / "tests/compare/servers"

# The exit code if a server cannot be installed, which is no difference.
NOT_INSTALLED = 3


@dataclass
class Server:
    name: str
    packages: list
    program: str
    steps: dict = field(default_factory=lambda: steps.COMMON)
    # Whether the server also speaks the stateless era.
    stateless: bool = False


ALL = [
    Server("python-1", ["mcp==1.30.0"], "python_sdk.py"),
    Server("python-2", ["mcp==2.3.0"], "python_sdk.py", stateless=True),
    Server("fastmcp-3", ["fastmcp==3.4.10"], "fastmcp_server.py"),
    Server("fastmcp-4", ["fastmcp==4.1.2"], "fastmcp_server.py", stateless=True),
    Server("typescript-1", ["@modelcontextprotocol/sdk@1.32.2"], "typescript1.mjs"),
    Server("typescript-2", ["@modelcontextprotocol/server@2.4.0"], "typescript2.mjs", stateless=True),
    # The version is that of Cargo.lock.
    Server("rmcp", [], "conformance-server", steps=steps.RMCP, stateless=True),
]


def install(server, target, programs):
    """Installs the SDK of a server if that has not been done, and returns its command and working directory."""
    folder = target / server.name
    if server.program.endswith(".py"):
        command = [folder / "bin/python", SERVERS / server.program]
    elif server.program.endswith(".mjs"):
        command = ["node", SERVERS / server.program]
    else:
        return [str(programs / "examples" / server.program), "--stdio"], ROOT
    target.mkdir(parents=True, exist_ok=True)
    with open(target / f"{server.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, wanted = folder / "installed.txt", "\n".join(server.packages)
        if not stamp.is_file() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            packages(server, folder)
            stamp.write_text(wanted)
    return [str(part) for part in command], folder


def packages(server, folder):
    if server.program.endswith(".py"):
        run([sys.executable, "-m", "venv", folder])
        run([folder / "bin/python", "-m", "pip", "install", "--quiet", *server.packages])
    else:
        run(["npm", "install", "--no-audit", "--no-fund", "--save-exact", "--prefix", folder, *server.packages])


def run(command):
    command = [str(part) for part in command]
    try:
        outcome = subprocess.run(command, capture_output=True, text=True)
        problem = outcome.stderr.strip() if outcome.returncode else None
    except OSError as error:
        problem = error
    if problem is not None:
        print(f"cannot install: {' '.join(command)}: {problem}", file=sys.stderr)
        sys.exit(NOT_INSTALLED)
