"""Gets what the runs need: the suite and a Node.js that can run it from npm, the Python SDK, and our own programs."""

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SUITE = "@modelcontextprotocol/conformance"
SUITE_VERSION = "0.2.0-alpha.12"
NODE_VERSION = "22.23.3"
PYTHON_PACKAGES = ["mcp==2.3.0"]


@dataclass
class Programs:
    node: Path
    suite: Path
    python: Path
    proxy: Path
    server: Path


def programs(build, python):
    target = target_directory()
    if build:
        examples = ["--bin", "proxy", "--example", "conformance-server"]
        # The profile of the tests, which have built them.
        run(["cargo", "build", "--profile", "test", "--locked", "--quiet", *examples], cwd=ROOT)
    node = node_package()
    packages = [f"{SUITE}@{SUITE_VERSION}", f"{node}@{NODE_VERSION}"]
    npm = installed(target / "conformance" / "npm", packages, with_npm) / "node_modules"
    return Programs(
        node=npm / node / "bin/node",
        suite=npm / SUITE,
        python=python_with_sdk(target) if python else None,
        proxy=target / "debug/proxy",
        server=target / "debug/examples/conformance-server",
    )


def node_package():
    """The suite needs Node.js 22; that of the machine may be older."""
    system = "darwin" if sys.platform == "darwin" else "linux"
    machine = "arm64" if platform.machine() in ("arm64", "aarch64") else "x64"
    return f"node-{system}-{machine}"


def target_directory():
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
    described = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return Path(json.loads(described.stdout)["target_directory"])


def python_with_sdk(target):
    """The tests install the same SDK for real servers; a second copy would be waste."""
    shared = target / "real-servers/python"
    stamp = shared / "installed.txt"
    if stamp.is_file() and set(PYTHON_PACKAGES) <= set(stamp.read_text().split()):
        return shared / "bin/python"
    return installed(target / "conformance" / "python", PYTHON_PACKAGES, with_pip) / "bin/python"


def installed(folder, packages, installer):
    """The stamp, written last, says that the folder is complete and for which versions."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = folder / "installed.txt"
        wanted = "\n".join(packages)
        if not (stamp.is_file() and stamp.read_text() == wanted):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            installer(folder, packages)
            stamp.write_text(wanted)
    return folder


def with_npm(folder, packages):
    # The suite wants a newer Node.js than many machines have, and npm warns of that; it will not be run with the old one.
    quiet = ["--no-audit", "--no-fund", "--save-exact", "--loglevel", "error"]
    run(["npm", "install", "--prefix", str(folder), *quiet, *packages])


def with_pip(folder, packages):
    venv.create(folder, with_pip=True)
    run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *packages])


def run(command, **options):
    print("+ " + " ".join(os.path.basename(command[0]) if at == 0 else part for at, part in enumerate(command)))
    sys.stdout.flush()
    outcome = subprocess.run(command, **options)
    if outcome.returncode != 0:
        sys.exit(f"error: `{command[0]}` failed with code {outcome.returncode}")
