"""The Debian packages."""

import os

from . import place

DATABASE = ["var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"]


def try_deb(dist, version):
    package = dist / f"starlark-mcp-proxy_{version}_amd64.deb"
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
