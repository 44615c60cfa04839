"""A place where nothing is installed, and how a trial fails."""

import contextlib
import functools
import http.server
import os
import pathlib
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from make.facts import TARGETS

from . import elf

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "tools"
# What the client and the commands call, and what they get.
CALL = ["convert_units", "value=26.2", "from=mi", "to=km"]
ANSWER = "42.1648128"
# The same tool without a config.
SERVE = ["serve", "--extension", ROOT / "extensions/units.star"]


class Failed(Exception):
    pass


def check(condition, problem):
    if not condition:
        raise Failed(problem)


def debian_package(dist, version):
    """The one for this machine."""
    return dist / f"starlark-mcp-proxy_{version}_{TARGETS[platform.machine()].debian}.deb"


def busybox():
    """A static one, which runs in any root."""
    program = shutil.which("busybox")
    check(program, "there is no busybox: install busybox-static")
    data = pathlib.Path(program).read_bytes()
    check(elf.interpreter(data) is None, f"{program} is not static: install busybox-static")
    return program


def as_root_of_a_namespace():
    """Options of `unshare`: others than root get their permissions in a namespace of their own."""
    return [] if os.geteuid() == 0 else ["--user", "--map-root-user"]


@contextlib.contextmanager
def empty_home():
    """A home folder with nothing in it, and an environment that knows no other."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = pathlib.Path(folder)
        kept = ["PATH", "LANG", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"]
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        environment.update(HOME=folder, XDG_RUNTIME_DIR=folder, XDG_CACHE_HOME=f"{folder}/.cache", TMPDIR=folder)
        yield home, environment


def run(command, expected=0, **options):
    """Runs a command that has to end with this exit code, and returns what it printed."""
    command = [str(word) for word in command]
    options = {"capture_output": True, "text": True, "cwd": ROOT, "timeout": 600, "stdin": subprocess.DEVNULL, **options}
    done = subprocess.run(command, **options)
    said = f"{done.stdout}{done.stderr}".strip()
    check(done.returncode == expected, f"`{' '.join(command)}` ended with {done.returncode}:\n{said}")
    return done


def answers(command, environment, version, config=()):
    """The program says its version, checks a config, and makes a call, from the command line and for a real client."""
    said = run([*command, "--version"], env=environment).stdout
    check(said == f"proxy {version}\n", f"the version is `{said.strip()}`")
    source = config or ["--config", "proxy.yaml"]
    run([*command, "check", *source], env=environment)
    tool, *arguments = CALL
    tool = tool if not config else "convert"
    said = run([*command, "call", *source, tool, *arguments], env=environment).stdout
    check(ANSWER in said, f"the call says `{said.strip()}`")
    client_gets_the_answer([*command, "serve", *source], environment, tool)


def client_gets_the_answer(server, environment, tool="convert", **options):
    """The official SDK's client calls a tool of a server, which is a command or an address."""
    said = run([python(), ROOT / "packages/trials/client.py", tool, *server], env=environment, **options).stdout
    check(ANSWER in said, f"the client gets `{said.strip()}`")


def answers_in_time(what, command, home, environment, limit):
    """A client's first answer, from an empty home folder."""
    # The client itself is installed before.
    python()
    begin = time.monotonic()
    client_gets_the_answer([*command, *SERVE], environment, cwd=home)
    seconds = time.monotonic() - begin
    print(f"  {what} to the first answer of a tool: {seconds:.1f} s")
    check(seconds < limit, f"{what} takes {seconds:.1f} s")


@functools.cache
def python():
    """A Python with the official SDK of MCP."""
    return installed("client", ["mcp==2.3.0"]) / "python"


def installed(name, packages):
    """A folder with programs of PyPI, in these versions."""
    folder = TOOLS / f"try-{name}"
    pinned = folder / "pinned"
    if not pinned.is_file() or pinned.read_text(encoding="utf-8") != " ".join(packages):
        run([sys.executable, "-m", "venv", folder])
        run([folder / "bin/pip", "install", "--quiet", *packages])
        pinned.write_text(" ".join(packages), encoding="utf-8")
    return folder / "bin"


def installed_from_npm(name, manifest):
    """The folder with the programs of npm that a manifest names."""
    folder = TOOLS / f"try-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "package.json"
    if not file.is_file() or file.read_text(encoding="utf-8") != manifest:
        (folder / "package.json.new").write_text(manifest, encoding="utf-8")
        os.replace(folder / "package.json.new", file)
        try:
            run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder)
        except Failed:
            file.unlink()
            raise
    return folder / "node_modules/.bin"


def first_process(parent):
    """The first process of the namespace that `unshare` has made, once it is there."""
    text = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="utf-8")
    return text.split()[0] if text else None


def wait_until(found, seconds=30):
    end = time.monotonic() + seconds
    while not (result := found()):
        check(time.monotonic() < end, "it takes too long")
        time.sleep(0.1)
    return result


@contextlib.contextmanager
def served(folder):
    """The URL of the files of a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        check(process.poll() is None, "the server has ended")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise Failed(f"nothing listens on port {port}")
