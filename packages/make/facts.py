"""What every package says: the version, which comes from Cargo.toml alone, and the names, which come from names.json."""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "packages"
NAME = "starlark-mcp-proxy"


@dataclasses.dataclass(frozen=True)
class Target:
    """A platform, by the names that each kind of package has for it."""

    machine: str
    triple: str
    npm: str
    debian: str


TARGETS = {
    target.machine: target
    for target in [
        Target("x86_64", "x86_64-unknown-linux-musl", "linux-x64", "amd64"),
        Target("aarch64", "aarch64-unknown-linux-musl", "linux-arm64", "arm64"),
    ]
}


@dataclasses.dataclass(frozen=True)
class Facts:
    values: dict
    time: int  # Of the commit: the same commit makes the same bytes.

    def __getitem__(self, name):
        return self.values[name]

    def fill(self, text):
        """The text with each @name@ replaced by its value. A name that nobody knows is a mistake."""
        return re.sub(r"@([a-z_]+)@", lambda found: self.values[found[1]], text)

    def read(self, file):
        """A file below packages/, filled in."""
        return self.fill((PACKAGES / file).read_text(encoding="utf-8"))


def load():
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    names = json.loads((PACKAGES / "names.json").read_text(encoding="utf-8"))
    workspace = cargo["workspace"]["package"]
    version = workspace["version"]
    values = {
        **names,
        "npm_versioned": f"{names['npm']}@{version}",
        "author": names["maintainer"].split(" <")[0],
        "version": version,
        "license": workspace["license"],
        "description": cargo["package"]["description"],
    }
    return Facts(values, commit_time())


def has_placeholders():
    return "example" in (PACKAGES / "names.json").read_text(encoding="utf-8")


def commit_time():
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or output("git", "log", "-1", "--format=%ct"))


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, **options).stdout
