"""Debian and Ubuntu: the program, the services, manual pages and completions."""

import hashlib
import lzma
from email.utils import formatdate

from .facts import NAME
from .packing import File, gzipped, tar, text

SHELL_FOLDERS = {
    "bash": "usr/share/bash-completion/completions/proxy",
    "zsh": "usr/share/zsh/vendor-completions/_proxy",
    "fish": "usr/share/fish/vendor_completions.d/proxy.fish",
}
CONFFILES = ["etc/mcp-proxy/env", "etc/mcp-proxy/proxy.yaml"]
SCRIPTS = ["postinst", "postrm", "prerm"]


def write(facts, shared, target, binary, out):
    files = sorted(contents(facts, shared, binary), key=lambda file: file.name)
    size = sum(len(file.data) for file in files) // 1024
    inside = [File(f"./{file.name}", file.data, file.mode, file.link) for file in files]
    path = out / f"{NAME}_{facts['version']}_{target.debian}.deb"
    members = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", packed(control(facts, target, files, size), facts.time)),
        ("data.tar.xz", packed(inside, facts.time)),
    ]
    path.write_bytes(b"!<arch>\n" + b"".join(member(name, data, facts.time) for name, data in members))
    return path


def contents(facts, shared, binary):
    yield File("usr/bin/proxy", binary, 0o755)
    # Beside other packages' `proxy`, this name is sure.
    yield File("usr/bin/starlark-mcp-proxy", link="proxy")
    yield text("usr/bin/mcp-proxy", for_package(facts.read("systemd/mcp-proxy")), 0o755)
    yield text("usr/lib/systemd/system/mcp-proxy.service", for_package(facts.read("systemd/mcp-proxy.service")))
    yield text("usr/lib/systemd/user/mcp-proxy.service", for_package(facts.read("systemd/user/mcp-proxy.service")))
    yield text("etc/mcp-proxy/proxy.yaml", facts.read("deb/proxy.yaml"))
    yield text("etc/mcp-proxy/env", facts.read("deb/env"), 0o600)
    yield text(f"usr/share/{NAME}/apparmor", facts.read("deb/apparmor"))
    yield text(f"usr/share/lintian/overrides/{NAME}", facts.read("deb/lintian-overrides"))
    for page, data in shared.man_pages.items():
        yield File(f"usr/share/man/man1/{page}.gz", gzipped(data))
    yield File("usr/share/man/man1/starlark-mcp-proxy.1.gz", gzipped(b".so man1/proxy.1\n"))
    yield File("usr/share/man/man1/mcp-proxy.1.gz", gzipped(facts.read("deb/mcp-proxy.1").encode()))
    for shell, place in SHELL_FOLDERS.items():
        yield File(place, shared.completions[shell])
    about = f"usr/share/doc/{NAME}"
    yield text(f"{about}/copyright", facts.read("deb/copyright"))
    yield File(f"{about}/THIRD-PARTY-NOTICES.txt.gz", gzipped(shared.notices))
    yield File(f"{about}/sbom.cdx.json.gz", gzipped(shared.sbom))
    yield File(f"{about}/NEWS.gz", gzipped(shared.changelog))
    yield File(f"{about}/changelog.gz", gzipped(changelog(facts).encode()))


def for_package(unit):
    """The same file, with the program where a package has it."""
    return unit.replace("/usr/local/bin/", "/usr/bin/").replace("%h/.local/bin/", "/usr/bin/")


def control(facts, target, files, size):
    yield text("./control", control_file(facts, target, size))
    yield text("./conffiles", "".join(f"/{file}\n" for file in CONFFILES))
    sums = [f"{hashlib.md5(file.data).hexdigest()}  {file.name}\n" for file in files if not file.link]
    yield text("./md5sums", "".join(sums))
    for script in SCRIPTS:
        yield text(f"./{script}", facts.read(f"deb/{script}"), 0o755)


def control_file(facts, target, size):
    return f"""Package: {NAME}
Version: {facts["version"]}
Architecture: {target.debian}
Maintainer: {facts["maintainer"]}
Installed-Size: {size}
Conflicts: libproxy-tools
Recommends: ca-certificates
Suggests: nodejs, npm
Section: net
Priority: optional
Homepage: {facts["repository"]}
Description: programmable proxy for MCP servers
 Clients of the Model Context Protocol connect to one endpoint, and a script
 in Starlark decides what each of them sees of the servers behind it.
 .
 The package has a service for systemd, which is not started before its config
 is written. Servers that npx or uvx start need Node.js or uv.
"""


def changelog(facts):
    return (
        f"{NAME} ({facts['version']}) stable; urgency=medium\n\n"
        f"  * Release {facts['version']}: see NEWS.gz.\n\n"
        f" -- {facts['maintainer']}  {formatdate(facts.time)}\n"
    )


def packed(files, time):
    return lzma.compress(tar(files, time, with_folders=True), preset=6)


def member(name, data, time):
    """A member of an `ar` archive, at an even place."""
    header = f"{name:<16}{time:<12}{0:<6}{0:<6}{100644:<8}{len(data):<10}`\n".encode()
    return header + data + (b"\n" if len(data) % 2 else b"")
