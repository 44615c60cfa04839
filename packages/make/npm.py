"""npm: a main package that starts the binary, and one package a platform with the binary. No package has an install script."""

import json

from .facts import TARGETS
from .packing import File, tar_gz, text


def platform_name(facts, target):
    return f"{facts['npm']}-{target.npm}"


def common(facts, name):
    return {
        "name": name,
        "version": facts["version"],
        "description": facts["description"],
        "license": facts["license"],
        "repository": {"type": "git", "url": f"git+{facts['repository']}.git"},
    }


def main_manifest(facts):
    return {
        **common(facts, facts["npm"]),
        # The registry of MCP servers finds its entry's owner by this.
        "mcpName": facts["mcp_name"],
        "keywords": ["mcp", "proxy", "starlark", "gateway"],
        # `npx` runs the one with the package's name.
        "bin": {facts["npm"]: "start.js", "proxy": "start.js"},
        "files": ["start.js"],
        "engines": {"node": ">=18"},
        "optionalDependencies": {platform_name(facts, target): facts["version"] for target in TARGETS.values()},
    }


def platform_manifest(facts, target):
    system, processor = target.npm.split("-")
    return {
        **common(facts, platform_name(facts, target)),
        "description": f"The binary of {facts['npm']} for {target.machine} Linux",
        "os": [system],
        "cpu": [processor],
        "preferUnplugged": True,
        "files": ["bin/proxy"],
    }


def manifest_file(manifest):
    return text("package/package.json", json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def write_main(facts, shared, out):
    files = [
        manifest_file(main_manifest(facts)),
        File("package/start.js", facts.read("npm/start.js").encode(), 0o755),
        text("package/README.md", facts.read("npm/README.md")),
        File("package/LICENSE", shared.licence),
    ]
    return write(facts, facts["npm"], files, out)


def write_platform(facts, shared, target, binary, out):
    name = platform_name(facts, target)
    files = [
        manifest_file(platform_manifest(facts, target)),
        File("package/bin/proxy", binary, 0o755),
        text("package/README.md", f"# {name}\n\nThe binary of `{facts['npm']}` for {target.machine} Linux.\n"),
        File("package/LICENSE", shared.licence),
        File("package/THIRD-PARTY-NOTICES.txt", shared.notices),
    ]
    return write(facts, name, files, out)


def write(facts, name, files, out):
    path = out / f"{name}-{facts['version']}.tgz"
    tar_gz(path, files, facts.time)
    return path
