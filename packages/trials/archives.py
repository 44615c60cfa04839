"""The archives and `install.sh`."""

import os
import platform
import shutil
import tarfile

from . import place

# A third of it is the search model, which cannot be compressed.
MAX_SIZE = 40 * 1000 * 1000
UNITS = ["--extension", "extensions/units.star"]


def try_install_script(dist, version):
    with place.served(dist) as url, place.empty_home() as (home, environment):
        place.run(["sh", dist / "install.sh", "--from", url], env=environment)
        place.answers([home / ".local/bin/proxy"], environment, version)
        said = place.run(["man", "-l", home / ".local/share/man/man1/proxy-serve.1"], env=environment).stdout
        place.check("proxy-serve" in said, "the manual page is empty")


def try_archives(dist, version):
    """Each is small, static and complete; the other machine's binary runs under qemu."""
    for machine in ["x86_64", "aarch64"]:
        archive = dist / f"starlark-mcp-proxy-{version}-{machine}-linux-static.tar.gz"
        place.check(archive.stat().st_size <= MAX_SIZE, f"{archive.name} is larger than {MAX_SIZE:,} bytes")
        with place.empty_home() as (home, environment), tarfile.open(archive) as tar:
            tar.extractall(home, filter="data")
            binary = home / archive.name.removesuffix(".tar.gz") / "proxy"
            # A program that needs a loader or a C library names them.
            data = binary.read_bytes()
            place.check(b"/lib/ld-" not in data and b"/lib64/ld-" not in data, f"{machine} is not static")
            if machine == platform.machine():
                place.answers([binary], environment, version)
            else:
                place.answers([emulator(machine), binary], environment, version, UNITS)


def emulator(machine):
    name = f"qemu-{machine}-static"
    found = os.environ.get("QEMU") or shutil.which(name)
    place.check(found, f"there is no {name}: install qemu-user-static, or name it in QEMU")
    return found
