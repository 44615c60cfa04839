"""The container without Docker: its root has the static binary and nothing else, and cannot be written. User, variables and
commands are those of the `Dockerfile`."""

import contextlib
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import tarfile

from . import archives, dockerfile, place

# Somebody who is not in the image.
SOMEBODY = "4321:4321"
TOKEN = "0123456789abcdef"
# The shell sets up the root, as `docker run --read-only --tmpfs /tmp --tmpfs /home/proxy:uid=1000` does, and becomes the proxy,
# which is then the first process.
ENTER = """
root=$1; folder=$2; shift 2
memory=noexec,nosuid,nodev,mode=1777
mount --bind "$root" "$root"
mount -t tmpfs -o "$memory" tmpfs "$root/tmp"
mount -t tmpfs -o "$memory,uid=1000" tmpfs "$root$folder"
mount -t proc proc "$root/proc"
for device in null zero urandom; do mount --bind "/dev/$device" "$root/dev/$device"; done
mount -o remount,bind,ro "$root"
exec "$@"
"""
CONFIG = """
auth: { tokens: [{ token: "${TOKEN}", sub: me }] }
mcpServers:
  units: { command: proxy, args: [serve, --extension, /etc/proxy/units.star] }
  orphans: { command: /busybox, args: [sh, /etc/proxy/orphans.sh] }
"""
# It leaves a process behind, which ends a little later, and never answers.
ORPHANS = """
(/busybox sh -c 'echo $$ >/tmp/orphan.new; /busybox mv /tmp/orphan.new /tmp/orphan; exec /busybox sleep 1' &)
wait_for_input=$(/busybox cat)
"""


def try_container(dist, version):
    settings = dockerfile.container("static")
    archive = dist / f"starlark-mcp-proxy-{version}-{platform.machine()}-linux-static.tar.gz"
    with place.empty_home() as (home, environment):
        with tarfile.open(archive) as tar:
            tar.extractall(home, filter="data")
        root = image(home, home / archive.name.removesuffix(".tar.gz") / "proxy", settings)
        command = enter(root, settings, SOMEBODY, ["proxy"])
        place.answers(command, environment, version, ["--extension", "/etc/proxy/units.star"])
        said = place.run([*command, "call", "--extension", "/etc/proxy", "no_such"], 1, env=environment).stderr
        place.check("no_such" in said, said)
        for user in [settings.user, SOMEBODY]:
            with serving(root, settings, user) as (first, url):
                place.client_gets_the_answer([url], {**environment, "TOKEN": TOKEN})
                no_orphan_stays(first)
                said = place.run([*inside(first, user), "/busybox", "touch", "/etc/new"], 1, env={}).stderr
                place.check("Read-only file system" in said, said)


def image(home, binary, settings):
    """The root as the image has it, with what an administrator mounts."""
    root = home / "root"
    for folder in ["usr/local/bin", "tmp", "proc", "etc/proxy", settings.folder.strip("/")]:
        (root / folder).mkdir(parents=True)
    (root / "dev").mkdir()
    for device in ["null", "zero", "urandom"]:
        (root / "dev" / device).touch()
    shutil.copy(binary, root / "usr/local/bin/proxy")
    shutil.copy(place.busybox(), root / "busybox")
    shutil.copy(place.ROOT / archives.UNITS[1], root / "etc/proxy/units.star")
    (root / "etc/proxy/proxy.yaml").write_text(CONFIG, encoding="utf-8")
    (root / "etc/proxy/orphans.sh").write_text(ORPHANS, encoding="utf-8")
    # The root is mounted for others to read.
    home.chmod(0o755)
    return root


def enter(root, settings, user, words):
    """The command that runs the words in a container."""
    as_user = [f"--userspec={user}"] if os.geteuid() == 0 else []
    namespaces = ["--mount", "--pid", "--fork", "--kill-child=TERM", *place.as_root_of_a_namespace()]
    variables = [f"{name}={value}" for name, value in {**settings.environment, "TOKEN": TOKEN}.items()]
    run = [shutil.which("env"), "-i", *variables, shutil.which("chroot"), *as_user, root, *words]
    return ["unshare", *namespaces, "--", "sh", "-ec", ENTER, "sh", root, settings.folder, *run]


@contextlib.contextmanager
def serving(root, settings, user):
    """A container that is healthy: its first process and its address."""
    port = place.free_port()
    words = [word.replace(":7331", f":{port}") for word in settings.command]
    command = [str(word) for word in enter(root, settings, user, words)]
    log = root.parent / "log"
    with log.open("w") as said, subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=said) as container:
        first = None
        try:
            first = place.wait_until(lambda: place.first_process(container.pid))
            place.wait_until(lambda: is_healthy(container, first, settings, user))
            yield first, f"http://127.0.0.1:{port}/mcp"
            os.kill(int(first), signal.SIGTERM)
            place.check(container.wait(30) == 0, "the container did not end by itself")
        except place.Failed as failure:
            raise place.Failed(f"{failure}\n{log.read_text(encoding='utf-8')}") from None
        finally:
            # It does not end with `unshare`: a process that changes its user no longer hears of that.
            if first and container.poll() is None:
                os.kill(int(first), signal.SIGKILL)
            container.kill()


def is_healthy(container, first, settings, user):
    place.check(container.poll() is None, "the container has ended")
    command = [*inside(first, user), *settings.health]
    return subprocess.run(command, env=settings.environment, capture_output=True).returncode == 0


def inside(first, user):
    """The words before a command that runs in the container, as `docker exec` runs it."""
    number, group = user.split(":")
    as_user = ["--setuid", number, "--setgid", group] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    return [shutil.which("nsenter"), "--target", first, *as_user, "--mount", "--pid", "--root", "--wd=/", "--"]


def no_orphan_stays(first):
    """Once it has ended, the first process has waited for it: else it would stay in the list of processes."""
    root = pathlib.Path(f"/proc/{first}/root")
    place.wait_until((root / "tmp/orphan").exists)
    orphan = (root / "tmp/orphan").read_text(encoding="utf-8").strip()
    place.wait_until(lambda: not (root / "proc" / orphan).exists())
