"""PyPI: a wheel with the binary, for every C library."""

import base64
import hashlib

from .packing import File, text, zipped

# Calls the binary, wherever it is linked from: two copies of it would double the wheel.
SHORT_NAME = """#!/bin/sh
exec "$(dirname "$0")/starlark-mcp-proxy" "$@"
"""


def write(facts, shared, target, binary, out):
    project, version, machine = facts["pypi"].replace("-", "_"), facts["version"], target.machine
    tag = f"py3-none-manylinux_2_17_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"
    about, scripts = f"{project}-{version}.dist-info", f"{project}-{version}.data/scripts"
    files = [
        # `uvx` runs the one with the project's name.
        File(f"{scripts}/starlark-mcp-proxy", binary, 0o755),
        text(f"{scripts}/proxy", SHORT_NAME, 0o755),
        text(f"{about}/METADATA", metadata(facts)),
        text(f"{about}/WHEEL", wheel(tag)),
        File(f"{about}/licenses/LICENSE", shared.licence),
        File(f"{about}/licenses/THIRD-PARTY-NOTICES.txt", shared.notices),
        File(f"{about}/sboms/sbom.cdx.json", shared.sbom),
    ]
    files.append(text(f"{about}/RECORD", record(files, about)))
    path = out / f"{project}-{version}-{tag}.whl"
    zipped(path, files, facts.time)
    return path


def metadata(facts):
    return f"""Metadata-Version: 2.4
Name: {facts["pypi"]}
Version: {facts["version"]}
Summary: {facts["description"]}
License-Expression: {facts["license"]}
License-File: LICENSE
License-File: THIRD-PARTY-NOTICES.txt
Keywords: mcp,proxy,starlark,gateway
Project-URL: Repository, {facts["repository"]}
Requires-Python: >=3.8
Description-Content-Type: text/markdown

# starlark-mcp-proxy

{facts["description"]}.

```console
$ uvx starlark-mcp-proxy --help
```

The documentation is in {facts["repository"]}. The wheel has a static binary for Linux on x86-64 or ARM64.

mcp-name: {facts["mcp_name"]}
"""


def wheel(tag):
    interpreter, abi, platforms = tag.split("-")
    tags = "".join(f"Tag: {interpreter}-{abi}-{platform}\n" for platform in platforms.split("."))
    return f"Wheel-Version: 1.0\nGenerator: packages/build\nRoot-Is-Purelib: false\n{tags}"


def record(files, about):
    lines = []
    for file in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(file.data).digest()).rstrip(b"=").decode()
        lines.append(f"{file.name},sha256={digest},{len(file.data)}\n")
    return "".join(lines) + f"{about}/RECORD,,\n"
