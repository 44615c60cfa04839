"""npm with a registry of its own, and PyPI's wheels."""

import contextlib
import json
import platform
import subprocess
import time

from . import place

# The registry of npm itself knows no dist-tags of one of its dependencies everywhere.
VERDACCIO = json.dumps({"dependencies": {"verdaccio": "6.8.0"}, "overrides": {"node-fetch": "2.7.0"}})
UV = ["uv==0.13.8"]
# From the command to the first answer, with a registry on this machine.
NPX_SECONDS = 20


@contextlib.contextmanager
def registry(home, environment):
    """An empty registry that everybody may publish to."""
    port = place.free_port()
    packages = {"**": {"access": "$all", "publish": "$all"}}
    config = {"storage": f"{home}/storage", "uplinks": {}, "packages": packages, "log": {"type": "file", "path": f"{home}/log"}}
    config["max_body_size"] = "200mb"
    (home / "verdaccio.yaml").write_text(json.dumps(config), encoding="utf-8")
    programs = place.installed_from_npm("verdaccio", VERDACCIO)
    command = [programs / "verdaccio", "--config", home / "verdaccio.yaml", "--listen", f"127.0.0.1:{port}"]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        place.wait_for_port(port, server)
        (home / ".npmrc").write_text(
            f"registry=http://127.0.0.1:{port}/\n//127.0.0.1:{port}/:_authToken=nobody\n", encoding="utf-8"
        )
        yield
    finally:
        server.terminate()
        server.wait()


def try_npm(dist, version):
    with place.empty_home() as (home, environment), registry(home, environment):
        for package in sorted(dist.glob("*.tgz"), reverse=True):
            place.run(["npm", "publish", package], env=environment)
        begin = time.monotonic()
        said = place.run(["npx", "-y", "starlark-mcp-proxy", "--version"], env=environment).stdout
        seconds = time.monotonic() - begin
        place.check(said == f"proxy {version}\n", f"npx says `{said}`")
        place.check(seconds < NPX_SECONDS, f"npx takes {seconds:.1f} s")
        print(f"  npx to the first answer: {seconds:.1f} s")
        place.answers(["npx", "-y", f"starlark-mcp-proxy@{version}"], environment, version)
        without_optional_packages(home, environment)
        with_a_read_only_cache(home, environment, version)


def without_optional_packages(home, environment):
    folder = home / "project"
    folder.mkdir()
    place.run(["npm", "install", "--omit=optional", "starlark-mcp-proxy"], env=environment, cwd=folder)
    said = place.run([folder / "node_modules/.bin/starlark-mcp-proxy"], 1, env=environment).stderr
    place.check("npm was told to leave out optional packages" in said, said)
    place.run(["npm", "install", "--include=optional", "starlark-mcp-proxy"], env=environment, cwd=folder)
    place.run([folder / "node_modules/.bin/proxy", "--version"], env=environment)


def with_a_read_only_cache(home, environment, version):
    """npm refuses a cache that it cannot write; what is installed works."""
    program = home / "project/node_modules/.bin/proxy"
    said = place.run([program, "--version"], env={**environment, "XDG_CACHE_HOME": "/proc/nowhere"}).stdout
    place.check(said == f"proxy {version}\n", said)


def try_wheels(dist, version):
    wheel = next(dist.glob(f"*{platform.machine()}*.whl"))
    uvx = place.installed("uv", UV) / "uvx"
    with place.empty_home() as (home, environment):
        place.run(["python3", "-m", "venv", home / "venv"], env=environment)
        place.run([home / "venv/bin/pip", "install", "--no-index", wheel], env=environment)
        place.answers([home / "venv/bin/starlark-mcp-proxy"], environment, version)
        # The short name works through a link as well.
        (home / "bin").mkdir()
        for name in ["proxy", "starlark-mcp-proxy"]:
            (home / "bin" / name).symlink_to(home / "venv/bin" / name)
        place.run([home / "bin/proxy", "--version"], env=environment)
    with place.empty_home() as (home, environment):
        begin = time.monotonic()
        place.run([uvx, "--offline", "--from", wheel, "starlark-mcp-proxy", "--version"], env=environment)
        print(f"  uvx to the first answer: {time.monotonic() - begin:.1f} s")
        place.answers([uvx, "--offline", "--from", wheel, "starlark-mcp-proxy"], environment, version)
