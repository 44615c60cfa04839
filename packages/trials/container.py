"""The container without Docker: its root has the static binary and nothing else, cannot be written, and belongs to others."""

import os
import platform
import shutil
import tarfile

from . import archives, place

# Somebody who is not in the image.
USER = "4321:4321"
# The shell sets up the root and becomes the proxy, which is then the first process.
ENTER = """
root=$1; shift
mount --bind "$root" "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=1777 tmpfs "$root/home/proxy"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
exec "$@"
"""


def try_container(dist, version):
    archive = dist / f"starlark-mcp-proxy-{version}-{platform.machine()}-linux-static.tar.gz"
    with place.empty_home() as (home, environment), tarfile.open(archive) as tar:
        tar.extractall(home, filter="data")
        root = home / "root"
        for folder in ["usr/local/bin", "tmp", "home/proxy", "proc", "etc/proxy"]:
            (root / folder).mkdir(parents=True)
        shutil.copy(home / archive.name.removesuffix(".tar.gz") / "proxy", root / "usr/local/bin/proxy")
        shutil.copy(place.ROOT / archives.UNITS[1], root / "etc/proxy/units.star")
        # The root is mounted for others to read.
        home.chmod(0o755)
        inside = {**environment, "HOME": "/home/proxy", "PATH": environment["PATH"]}
        inside.update(XDG_RUNTIME_DIR="/tmp", XDG_CACHE_HOME="/home/proxy/.cache", TMPDIR="/tmp")
        command = [*enter(root), "/usr/local/bin/proxy"]
        place.answers(command, inside, version, ["--extension", "/etc/proxy/units.star"])
        said = place.run([*command, "call", "--extension", "/etc/proxy", "no_such"], 1, env=inside).stderr
        place.check("no_such" in said, said)


def enter(root):
    namespaces = ["--mount", "--pid", "--fork", "--kill-child=TERM"]
    if os.geteuid() == 0:
        chroot = ["chroot", f"--userspec={USER}", str(root)]
    else:
        namespaces += ["--user", "--map-root-user"]
        chroot = ["chroot", str(root)]
    return ["unshare", *namespaces, "--", "sh", "-ec", ENTER, "sh", str(root), *chroot]
