"""The bill of materials of the binary: CycloneDX, from what Cargo has locked."""

import hashlib
import json
import tomllib
import uuid

from .facts import NAME, ROOT


def sbom(facts, notices, metadata):
    """The document, as text."""
    packages = notices.linked(metadata)
    checksums = locked_checksums()
    root = {
        "type": "application",
        "bom-ref": f"pkg:generic/{NAME}@{facts['version']}",
        "name": NAME,
        "version": facts["version"],
        "licenses": [{"license": {"id": facts["license"]}}],
    }
    components = [component(package, checksums) for package in packages if package["source"]]
    # The content decides the number, so that the same build has the same.
    number = uuid.UUID(bytes=hashlib.sha256(json.dumps([root, components]).encode()).digest()[:16], version=4)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
        "dependencies": [{"ref": root["bom-ref"], "dependsOn": [known["bom-ref"] for known in components]}],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def component(package, checksums):
    name, version = package["name"], package["version"]
    made = {
        "type": "library",
        "bom-ref": f"pkg:cargo/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:cargo/{name}@{version}",
    }
    if (name, version) in checksums:
        made["hashes"] = [{"alg": "SHA-256", "content": checksums[name, version]}]
    if package["license"]:
        # Cargo's older form of OR.
        made["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if package["repository"]:
        made["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return made


def locked_checksums():
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    return {(package["name"], package["version"]): package["checksum"] for package in lock["package"] if "checksum" in package}
