"""Where clients look: a bundle for desktop clients, an entry for the registry of MCP servers, a plugin for Claude Code."""

import hashlib
import json

from .facts import NAME, PACKAGES
from .packing import File, tar_gz, text, zipped


def write_bundle(facts, shared, target, binary, out):
    path = out / bundle_name(facts, target)
    files = [
        text("manifest.json", facts.read("mcpb/manifest.json")),
        File("bin/proxy", binary, 0o755),
        File("LICENSE", shared.licence),
        File("THIRD-PARTY-NOTICES.txt", shared.notices),
    ]
    zipped(path, files, facts.time)
    return path


def bundle_name(facts, target):
    return f"{NAME}-{facts['version']}-{target.machine}.mcpb"


def write_server_json(facts, bundles, out):
    """The entry with a package for each bundle, which a client checks by its digest."""
    entry = json.loads(facts.read("server.json"))
    for bundle in bundles:
        entry["packages"].append(
            {
                "registryType": "mcpb",
                "identifier": f"{facts['downloads']}/v{facts['version']}/{bundle.name}",
                "version": facts["version"],
                "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
                "transport": {"type": "stdio"},
            }
        )
    path = out / "server.json"
    path.write_text(json.dumps(entry, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def write_plugin(facts, shared, out):
    folder = PACKAGES / "claude-plugin"
    files = [File("LICENSE", shared.licence)]
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
            files.append(text(str(file.relative_to(folder)), facts.read(file.relative_to(PACKAGES)), mode))
    path = out / f"{NAME}-{facts['version']}-claude-plugin.tar.gz"
    files = [File(f"{NAME}/{file.name}", file.data, file.mode) for file in files]
    tar_gz(path, files, facts.time)
    return path
