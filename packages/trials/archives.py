"""The archives and `install.sh`."""

import os
import platform
import shutil
import tarfile

from . import elf, place

# More than today, and less than a mistake would add. The aim is 25 MB.
MAX_SIZE = 40 * 1000 * 1000
UNITS = ["--extension", "extensions/units.star"]


def try_install_script(dist, version):
    with place.served(dist) as url:
        with place.empty_home() as (home, environment):
            place.run(["sh", dist / "install.sh", "--from", url], env=environment)
            place.answers([home / ".local/bin/proxy"], environment, version)
            said = place.run(["man", "-l", home / ".local/share/man/man1/proxy-serve.1"], env=environment).stdout
            place.check("proxy-serve" in said, "the manual page is empty")
        install_with_busybox(dist / "install.sh", url, version)
        install_where_no_program_may_run(dist / "install.sh", url)


def install_with_busybox(script, url, version):
    """All programs are busybox, as on Alpine."""
    with place.empty_home() as (home, environment):
        programs = home / "programs"
        programs.mkdir()
        place.run([place.busybox(), "--install", "-s", programs])
        inside = {**environment, "PATH": str(programs)}
        place.run([programs / "sh", script, "--from", url], env=inside)
        said = place.run([home / ".local/bin/proxy", "--version"], env=inside).stdout
        place.check(said == f"proxy {version}\n", said)


def install_where_no_program_may_run(script, url):
    """The temporary folder is mounted with noexec, as some administrators do it."""
    with place.empty_home() as (home, environment):
        (home / "tmp").mkdir()
        mounted = 'mount -t tmpfs -o noexec tmpfs "$TMPDIR"; exec sh "$@"'
        command = ["unshare", "--mount", *place.as_root_of_a_namespace(), "sh", "-ec", mounted, "sh", script, "--from", url]
        said = place.run(command, 1, env={**environment, "TMPDIR": str(home / "tmp")}).stderr
        place.check("noexec, set TMPDIR to another folder" in said, said)
        place.check(not (home / ".local").exists(), "something was installed")


def try_archives(dist, version):
    """Each is small, static and complete; the other machine's binary runs under qemu."""
    for machine in ["x86_64", "aarch64"]:
        archive = dist / f"starlark-mcp-proxy-{version}-{machine}-linux-static.tar.gz"
        place.check(archive.stat().st_size <= MAX_SIZE, f"{archive.name} is larger than {MAX_SIZE:,} bytes")
        with place.empty_home() as (home, environment), tarfile.open(archive) as tar:
            tar.extractall(home, filter="data")
            binary = home / archive.name.removesuffix(".tar.gz") / "proxy"
            loader = elf.interpreter(binary.read_bytes())
            place.check(loader is None, f"{machine} is not static: it needs {loader}")
            if machine == platform.machine():
                place.answers([binary], environment, version)
            else:
                place.answers([emulator(machine), binary], environment, version, UNITS)


def emulator(machine):
    name = f"qemu-{machine}-static"
    found = os.environ.get("QEMU") or shutil.which(name)
    place.check(found, f"there is no {name}: install qemu-user-static, or name it in QEMU")
    return found
