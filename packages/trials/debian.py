"""The Debian packages."""

import os
import re
import shutil

from . import place

DATABASE = ["var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"]
PROFILE = place.ROOT / "packages/deb/apparmor"


def try_deb(dist, version):
    package = place.debian_package(dist, version)
    with place.empty_home() as (home, environment):
        root = home / "root"
        for folder in DATABASE:
            (root / folder).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        (root / "var/lib/dpkg/available").touch()
        dpkg = ["dpkg", f"--root={root}", "--force-script-chrootless", "--force-not-root", "--force-bad-path"]
        environment["PATH"] = f"{environment['PATH']}:/usr/sbin:/sbin"
        place.run([*dpkg, "--install", package], env=environment)
        place.answers([root / "usr/bin/starlark-mcp-proxy"], environment, version)
        env = root / "etc/mcp-proxy/env"
        place.check(env.stat().st_mode & 0o777 == 0o600, "/etc/mcp-proxy/env can be read by others")
        # The admin's config stays, also when the same package is installed again.
        config = root / "etc/mcp-proxy/proxy.yaml"
        config.write_text("mcpServers: { mine: { command: proxy } }\n", encoding="utf-8")
        place.run([*dpkg, "--install", package], env=environment)
        place.check("mine" in config.read_text(encoding="utf-8"), "the config was replaced")
        place.run([*dpkg, "--purge", "starlark-mcp-proxy"], env=environment)
        left = [os.path.join(folder, file) for folder, _, files in os.walk(root) for file in files]
        left = [file for file in left if "/var/lib/dpkg/" not in file and "/var/log/" not in file]
        place.check(not left, f"these files are left: {left}")


def try_lintian(dist, version):
    packages = sorted(dist.glob("*.deb"))
    place.check(len(packages) == 2, "there are two packages")
    place.run(["lintian", "--fail-on", "error,warning", *packages])


def try_apparmor(dist, version):
    """AppArmor's own parser compiles the profile. It is not loaded: another kernel may run here."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    parser = shutil.which("apparmor_parser", path=path)
    place.check(parser, "there is no apparmor_parser: install apparmor")
    compiled = [parser, "--skip-kernel-load", "--skip-cache"]
    profile = PROFILE.read_text(encoding="utf-8")
    said = place.run([parser, "--version"]).stdout
    if int(re.search(r"version (\d+)", said)[1]) < 4:
        # The package leaves the profile out where the parser refuses it, and such a system does not need it.
        place.run([*compiled, PROFILE], 1)
        profile = profile.replace("abi/4.0", "abi/3.0").replace("  userns,\n", "")
        print("  compiled without `userns`, which AppArmor knows from version 4 on")
    with place.empty_home() as (home, _):
        (home / "profile").write_text(profile, encoding="utf-8")
        place.run([*compiled, "--warn=all", home / "profile"])
