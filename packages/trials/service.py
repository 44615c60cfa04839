"""The service of the Debian package under a systemd of its own, in namespaces: nothing of this machine's systemd takes part."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess

from . import place

SYSTEMD = "/lib/systemd/systemd"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
# Targets that the unit names, without what this machine has in them.
TARGETS = ["trial", "sysinit", "basic", "shutdown", "umount", "multi-user", "network-online"]
# What a program would change on this machine, it changes in memory.
ENTER = """
package=$1; units=$2; shift 2
# A process of systemd mounts the credentials for the others.
mount --make-rshared /
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
for folder in etc usr var/lib var/cache; do
    mkdir -p "/run/changes/$folder/new" "/run/changes/$folder/work"
    mount -t overlay overlay -o "lowerdir=/$folder,upperdir=/run/changes/$folder/new,workdir=/run/changes/$folder/work" "/$folder"
done
dpkg-deb -x "$package" /
cp "$units"/proxy.yaml "$units"/units.star "$units"/token /etc/mcp-proxy/
cp /usr/lib/systemd/system/mcp-proxy.service "$units"
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=other SYSTEMD_UNIT_PATH="$units" SYSTEMD_LOG_TARGET=console "$@"
"""
CONFIG = """
serve: { http: "127.0.0.1:PORT" }
mcpServers:
  units:
    command: proxy
    args: [serve, --extension, /etc/mcp-proxy/units.star]
    env: { TOKEN: "${credential:token}" }
"""
SECRET = "only in the credential"


# `systemd-run` needs a message bus, so this makes a unit of what it would make one of.
SYSTEMD_RUN = """#!/bin/sh
{
    printf '[Unit]\\nDefaultDependencies=no\\n[Service]\\nType=oneshot\\n'
    printf 'StandardOutput=truncate:/run/said\\nStandardError=truncate:/run/said\\n'
    while :; do
        case "$1" in
        --property=*) printf '%s\\n' "${1#--property=}" ;;
        --setenv=*) printf 'Environment=%s\\n' "${1#--setenv=}" ;;
        --*) ;;
        *) break ;;
        esac
        shift
    done
    printf 'ExecStart=%s\\n' "$*"
} >UNITS/command.service
systemctl daemon-reload
systemctl start command
code=$?
cat /run/said
exit $code
"""


def try_service(dist, version):
    needs_systemd()
    package = place.debian_package(dist, version)
    with place.empty_home() as (home, _), manager(package, home) as inside:
        logged([*inside, "systemctl", "start", "mcp-proxy"], inside, "/run/log")
        place.check(shown(inside, "StatusText") == "ready", "the service is not ready")
        place.check(shown(inside, "DynamicUser") == "yes", "the service has no user of its own")
        place.check(f"TOKEN={SECRET}" in environment_of_server(inside), "the credential does not reach the server")
        # `mcp-proxy` reaches the service, which knows who asks, and has its credentials.
        mcp_proxy = [*inside, f"PATH={home}/bin:/usr/bin:/bin", "mcp-proxy"]
        said = logged([*mcp_proxy, "status"], inside, "/run/said")
        place.check("units" in said, said)
        said = logged([*mcp_proxy, "call", "convert", *place.CALL[1:]], inside, "/run/said")
        place.check(place.ANSWER in said, said)
        # This starts a server of its own, which gets the credential.
        said = place.run([*mcp_proxy, "lock", "--check"], 1).stdout
        place.check("units: not approved yet" in said, said)
        # A proxy that is stuck is replaced.
        stuck = shown(inside, "MainPID")
        place.run([*inside, "kill", "-STOP", stuck])
        place.wait_until(lambda: shown(inside, "NRestarts") == "1" and shown(inside, "StatusText") == "ready")
        place.check(shown(inside, "MainPID") != stuck, "the stuck process is still there")
        place.run([*inside, "systemctl", "stop", "mcp-proxy"])
        place.check(shown(inside, "Result") == "success", "the service did not end by itself")


def needs_systemd():
    place.check(os.geteuid() == 0, "only root can start a systemd in namespaces")
    place.check(shutil.which("systemd-analyze") and os.path.exists(SYSTEMD), "there is no systemd")


def shown(inside, name):
    return place.run([*inside, "systemctl", "show", "mcp-proxy", "--property", name, "--value"]).stdout.strip()


def environment_of_server(inside):
    server = place.run([*inside, "pgrep", "--full", "--", "--extension"]).stdout.strip()
    return place.run([*inside, "cat", f"/proc/{server}/environ"]).stdout


def logged(command, inside, log):
    """What a command says; if it fails, with the log."""
    try:
        return place.run(command).stdout
    except place.Failed as failure:
        status = subprocess.run([*inside, "systemctl", "status", "--no-pager", "mcp-proxy"], capture_output=True, text=True)
        said = subprocess.run([*inside, "cat", log], capture_output=True, text=True)
        raise place.Failed(f"{failure}\n{status.stdout}{said.stdout}") from None


@contextlib.contextmanager
def manager(package, home):
    """A systemd, and the words before a command that runs in its namespaces."""
    units = write_units(home)
    groups = [folder for folder in cgroup_roots()]
    for group in groups:
        group.mkdir(exist_ok=True)

    def enter_groups():
        for group in groups:
            (group / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")

    namespaces = ["--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc", "--cgroup", "--uts", "--ipc"]
    enter = ["sh", "-ec", ENTER, "sh", str(package), str(units), SYSTEMD, "--system", "--unit=trial.target"]
    log = open(home / "log", "w", encoding="utf-8")
    with log, subprocess.Popen(
        ["unshare", "--kill-child", *namespaces, "--", *enter],
        preexec_fn=enter_groups,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
    ) as process:
        try:
            first = place.wait_until(lambda: place.first_process(process.pid))
            inside = ["nsenter", "--target", first, "--mount", "--pid", "--uts", "--ipc"]
            inside += ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
            place.wait_until(lambda: is_running(inside))
            yield inside
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            place.wait_until(lambda: all(removed(group) for group in groups))


def write_units(home):
    units = home / "units"
    (units / "mcp-proxy.service.d").mkdir(parents=True)
    for target in TARGETS:
        (units / f"{target}.target").write_text("[Unit]\nDefaultDependencies=no\n", encoding="utf-8")
    # The trial need not take half a minute.
    more = "[Service]\nWatchdogSec=2\nStandardError=append:/run/log\nLoadCredential=token:/etc/mcp-proxy/token\n"
    (units / "mcp-proxy.service.d/trial.conf").write_text(more, encoding="utf-8")
    (units / "proxy.yaml").write_text(CONFIG.replace("PORT", str(place.free_port())), encoding="utf-8")
    (units / "token").write_text(f"{SECRET}\n", encoding="utf-8")
    shutil.copy(place.ROOT / "extensions/units.star", units)
    (home / "bin").mkdir()
    (home / "bin/systemd-run").write_text(SYSTEMD_RUN.replace("UNITS", str(units)), encoding="utf-8")
    (home / "bin/systemd-run").chmod(0o755)
    home.chmod(0o755)
    return units


def cgroup_roots():
    """One group, in each hierarchy that systemd uses."""
    roots = [CGROUPS / "systemd", CGROUPS / "unified"] if (CGROUPS / "systemd").is_dir() else [CGROUPS]
    return [root / f"packages-try-{os.getpid()}" for root in roots if root.is_dir()]


def removed(group):
    """Groups below come first."""
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return not group.exists()


def is_running(inside):
    done = subprocess.run([*inside, "systemctl", "is-system-running"], capture_output=True, text=True)
    return done.stdout.strip() in ["running", "degraded"]
