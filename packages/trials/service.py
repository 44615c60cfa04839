"""The service of the Debian package under a systemd of its own, in namespaces: nothing of this machine's systemd takes part."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

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


def try_service(dist, version):
    place.check(os.geteuid() == 0, "only root can start a systemd in namespaces")
    place.check(shutil.which("systemd-analyze") and os.path.exists(SYSTEMD), "there is no systemd")
    package = dist / f"starlark-mcp-proxy_{version}_amd64.deb"
    with place.empty_home() as (home, _), manager(package, home) as inside:
        logged([*inside, "systemctl", "start", "mcp-proxy"], inside, "/run/log")
        place.check(shown(inside, "StatusText") == "ready", "the service is not ready")
        place.check(shown(inside, "DynamicUser") == "yes", "the service has no user of its own")
        place.check(f"TOKEN={SECRET}" in environment_of_server(inside), "the credential does not reach the server")
        # A command that runs as the script `mcp-proxy` runs it reaches the service, which knows who asks.
        said = as_service(inside, home, "status")
        place.check("units" in said, said)
        place.check(place.ANSWER in as_service(inside, home, "call convert value=26.2 from=mi to=km"), "no answer")
        # A proxy that is stuck is replaced.
        stuck = shown(inside, "MainPID")
        place.run([*inside, "kill", "-STOP", stuck])
        wait_until(lambda: shown(inside, "NRestarts") == "1" and shown(inside, "StatusText") == "ready")
        place.check(shown(inside, "MainPID") != stuck, "the stuck process is still there")
        place.run([*inside, "systemctl", "stop", "mcp-proxy"])
        place.check(shown(inside, "Result") == "success", "the service did not end by itself")


def shown(inside, name):
    return place.run([*inside, "systemctl", "show", "mcp-proxy", "--property", name, "--value"]).stdout.strip()


def environment_of_server(inside):
    server = place.run([*inside, "pgrep", "--full", "--", "--extension"]).stdout.strip()
    return place.run([*inside, "cat", f"/proc/{server}/environ"]).stdout


def as_service(inside, home, arguments):
    """`systemd-run` needs a message bus, so what it would make is written as a unit."""
    script = (place.ROOT / "packages/systemd/mcp-proxy").read_text(encoding="utf-8")
    lines = re.findall(r"--property=(\S+)", script)
    lines += [f"Environment={variable}" for variable in re.findall(r"--setenv=(\S+)", script)]
    out = "/run/said"
    lines += ["Type=oneshot", f"StandardOutput=truncate:{out}", f"StandardError=truncate:{out}"]
    lines.append(f"ExecStart=/usr/bin/proxy {arguments}")
    unit = "[Unit]\nDefaultDependencies=no\n[Service]\n" + "\n".join(lines) + "\n"
    (home / "units/command.service").write_text(unit, encoding="utf-8")
    place.run([*inside, "systemctl", "daemon-reload"])
    logged([*inside, "systemctl", "start", "command"], inside, out)
    return place.run([*inside, "cat", out]).stdout


def logged(command, inside, log):
    """Runs a command, and shows the log if it fails."""
    try:
        place.run(command)
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
            first = wait_until(lambda: first_process(process.pid))
            inside = ["nsenter", "--target", first, "--mount", "--pid", "--uts", "--ipc"]
            inside += ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]
            wait_until(lambda: is_running(inside))
            yield inside
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            wait_until(lambda: all(removed(group) for group in groups))


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


def first_process(parent):
    text = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="utf-8")
    return text.split()[0] if text else None


def is_running(inside):
    done = subprocess.run([*inside, "systemctl", "is-system-running"], capture_output=True, text=True)
    return done.stdout.strip() in ["running", "degraded"]


def wait_until(found, seconds=30):
    end = time.monotonic() + seconds
    while not (result := found()):
        place.check(time.monotonic() < end, "it takes too long")
        time.sleep(0.1)
    return result
