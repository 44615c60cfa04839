"""An update of the Debian package under a systemd of its own, with a service that runs and a config that is refused."""

from . import older, place, service

PACKAGE = "starlark-mcp-proxy"
# What the administrator has written stays, and nothing is written down on this machine.
DPKG = ["dpkg", "--force-confold", "--no-triggers", "--log=/dev/null"]
CONFIG = "/etc/mcp-proxy/proxy.yaml"


def try_upgrade(dist, version):
    service.needs_systemd()
    package = place.debian_package(dist, version)
    with place.empty_home() as (home, _):
        before = older.debian(package, home)
        with service.manager(package, home) as inside:
            # A machine that was made for containers may forbid to start services.
            place.run([*inside, "rm", "-f", "/usr/sbin/policy-rc.d"])
            place.run([*inside, *DPKG, "--install", before])
            place.check(installed(inside) == f"ii {older.VERSION}", "the older version is not installed")
            service.logged([*inside, "systemctl", "start", "mcp-proxy"], inside, "/run/log")
            a_service_that_runs_takes_the_new_version(inside, package, version)
            a_config_that_is_refused_is_no_obstacle(inside, package, before, version)
            nothing_runs_after_the_removal(inside)


def a_service_that_runs_takes_the_new_version(inside, package, version):
    old = service.shown(inside, "MainPID")
    service.logged([*inside, *DPKG, "--install", package], inside, "/run/log")
    place.check(installed(inside) == f"ii {version}", "the package is not installed")
    place.check(service.shown(inside, "StatusText") == "ready", "the service is not ready")
    place.check(service.shown(inside, "MainPID") != old, "the old process still runs")


def a_config_that_is_refused_is_no_obstacle(inside, package, before, version):
    place.run([*inside, *DPKG, "--force-downgrade", "--install", before])
    place.run([*inside, "sh", "-c", f"cp {CONFIG} /run/config; echo 'mcpServers: 1' >{CONFIG}"])
    said = place.run([*inside, *DPKG, "--install", package]).stderr
    place.check("warning: mcp-proxy did not restart: see systemctl status mcp-proxy" in said, said)
    place.check(installed(inside) == f"ii {version}", "the package is half-configured")
    # Once the config is mended, the service starts.
    place.run([*inside, "cp", "/run/config", CONFIG])
    place.run([*inside, "systemctl", "reset-failed", "mcp-proxy"])
    service.logged([*inside, "systemctl", "start", "mcp-proxy"], inside, "/run/log")


def nothing_runs_after_the_removal(inside):
    place.run([*inside, *DPKG, "--purge", PACKAGE])
    place.run([*inside, "pgrep", "--exact", "proxy"], 1)
    place.run([*inside, "test", "!", "-e", CONFIG, "-a", "!", "-e", "/var/lib/private/mcp-proxy"])


def installed(inside):
    """Such as `ii 0.1.0`: it should be installed, and is."""
    words = ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev}${Version}", PACKAGE]
    return place.run([*inside, *words]).stdout.strip()
