"""npm with a registry of its own."""

import contextlib
import json
import os
import subprocess

from make import npm
from make.facts import TARGETS, load

from . import place

# The registry of npm itself knows no dist-tags of one of its dependencies everywhere.
VERDACCIO = json.dumps({"dependencies": {"verdaccio": "6.8.0"}, "overrides": {"node-fetch": "2.7.0"}})
# From the command to the first answer of a tool, with a registry on this machine, and from two files.
NPX_SECONDS = 20
TARBALL_SECONDS = 60
# Nobody may write the cache, also not root.
READ_ONLY = """
mount --bind "$npm_config_cache" "$npm_config_cache"
mount -o remount,bind,ro "$npm_config_cache"
exec "$@"
"""


@contextlib.contextmanager
def registry(home, environment):
    """The settings of npm for an empty registry that everybody may publish to."""
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
        yield f"registry=http://127.0.0.1:{port}/\n//127.0.0.1:{port}/:_authToken=nobody\n"
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def customer(settings):
    """An empty home folder of somebody who has never used npm, with these settings."""
    with place.empty_home() as (home, environment):
        (home / ".npmrc").write_text(settings, encoding="utf-8")
        yield home, environment


def try_npm(dist, version):
    with place.empty_home() as (home, environment), registry(home, environment) as settings:
        (home / ".npmrc").write_text(settings, encoding="utf-8")
        for package in sorted(dist.glob("*.tgz"), reverse=True):
            place.run(["npm", "publish", package], env=environment)
        with customer(settings) as (home, environment):
            place.answers_in_time("npx", ["npx", "-y", "starlark-mcp-proxy"], home, environment, NPX_SECONDS)
            place.answers(["npx", "-y", f"starlark-mcp-proxy@{version}"], environment, version)
        with customer(settings) as (home, environment):
            without_optional_packages(home, environment)
        with customer(settings) as (home, environment):
            with_a_read_only_cache(home, environment, version)
    from_tarballs(dist, version)


def without_optional_packages(home, environment):
    folder = home / "project"
    folder.mkdir()
    place.run(["npm", "install", "--omit=optional", "starlark-mcp-proxy"], env=environment, cwd=folder)
    said = place.run([folder / "node_modules/.bin/starlark-mcp-proxy"], 1, env=environment).stderr
    place.check("npm was told to leave out optional packages" in said, said)
    place.run(["npm", "install", "--include=optional", "starlark-mcp-proxy"], env=environment, cwd=folder)
    place.run([folder / "node_modules/.bin/proxy", "--version"], env=environment)


def with_a_read_only_cache(home, environment, version):
    """npm installs nothing with a cache that it cannot write: it takes another one. What is installed needs none."""
    cache = home / "cache"
    cache.mkdir()
    npx = ["npx", "-y", "starlark-mcp-proxy", "--version"]
    inside = ["unshare", "--mount", *place.as_root_of_a_namespace(), "sh", "-ec", READ_ONLY, "sh"]
    protected = {**environment, "npm_config_cache": str(cache)}
    said = place.run([*inside, *npx], 1, env=protected, cwd=home).stderr
    place.check("npm error" in said and not os.listdir(cache), said)
    words = ["env", f"npm_config_cache={home}/other", *npx]
    said = place.run([*inside, *words], env=protected, cwd=home).stdout
    place.check(said == f"proxy {version}\n", said)
    place.run(["npm", "install", "--prefix", home / "installed", "starlark-mcp-proxy"], env=environment, cwd=home)
    program = home / "installed/node_modules/.bin/proxy"
    place.client_gets_the_answer([*inside, program, *place.SERVE], {**protected, "XDG_CACHE_HOME": str(cache)}, cwd=home)


def from_tarballs(dist, version):
    """The files of a release without any registry: both packages are given."""
    known = load()
    names = [known["npm"], npm.platform_name(known, TARGETS[os.uname().machine])]
    files = [word for name in names for word in ("-p", dist / f"{name}-{version}.tgz")]
    with customer("registry=http://127.0.0.1:9/\nfetch-retries=0\n") as (home, environment):
        place.answers_in_time("npx with files", ["npx", "-y", *files, known["npm"]], home, environment, TARBALL_SECONDS)
