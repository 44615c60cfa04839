"""The static binaries, by `cargo zigbuild`: zig is the C compiler and the linker for both platforms."""

import os
import pathlib
import subprocess
import sys

from .facts import ROOT, TARGETS

# Together they are tried: another version may not build the C code of the dependencies.
ZIGBUILD = "cargo-zigbuild==0.24.0"
ZIG = "ziglang==0.17.0"


def build(machine):
    """Builds one, with cargo's progress on standard error."""
    target = TARGETS[machine]
    return zigbuild("zigbuild", target.triple, "--release", "--bin", "proxy") / "release/proxy"


def zigbuild(command, triple, *arguments):
    """The folder of what a command of cargo-zigbuild has made for a platform."""
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    tools = install(folder / "tools/zig")
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ.get('PATH', '')}",
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags()),
        "CARGO_INCREMENTAL": "0",
    }
    words = [str(tools / "cargo-zigbuild"), command, "--locked", "--target", triple, *arguments]
    if subprocess.run(words, cwd=ROOT, env=environment, stdout=sys.stderr).returncode != 0:
        sys.exit(f"error: `cargo {command}` failed for {triple}\nhint: `rustup target add {triple}` installs it")
    return folder / triple


def flags():
    """Paths of this machine do not reach the binary: another machine makes the same."""
    cargo = os.environ.get("CARGO_HOME", str(pathlib.Path.home() / ".cargo"))
    given = os.environ.get("RUSTFLAGS", "").split()
    return [*given, f"--remap-path-prefix={ROOT}=/source", f"--remap-path-prefix={cargo}=/cargo"]


def install(folder):
    """The folder with cargo-zigbuild and zig, in the versions that are pinned here."""
    pinned = folder / "pinned"
    wanted = f"{ZIGBUILD} {ZIG}"
    if not pinned.is_file() or pinned.read_text(encoding="utf-8") != wanted:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin/pip", "install", "--quiet", ZIGBUILD, ZIG], check=True, stdout=sys.stderr)
        pinned.write_text(wanted, encoding="utf-8")
    return folder / "bin"
