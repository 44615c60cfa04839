"""What several packages contain beside the binary: licences, manual pages, completions, the bill of materials."""

import dataclasses
import pathlib
import subprocess
import tempfile

from .facts import ROOT, output
from .notices import load as load_notices
from .packing import File
from .sbom import sbom

SHELLS = {"bash": "proxy.bash", "zsh": "_proxy", "fish": "proxy.fish"}


@dataclasses.dataclass(frozen=True)
class Shared:
    licence: bytes
    notices: bytes
    readme: bytes
    changelog: bytes
    sbom: bytes
    man_pages: dict  # By file name.
    completions: dict  # By shell.


def collect(facts, runnable):
    """From a binary that runs here: all binaries of a version have the same pages and completions."""
    notices = load_notices()
    metadata = notices.cargo_metadata()
    read = lambda name: (ROOT / name).read_bytes()
    return Shared(
        licence=read("LICENSE"),
        notices=notices.notices(notices.linked(metadata)).encode(),
        readme=read("README.md"),
        changelog=read("CHANGELOG.md"),
        sbom=sbom(facts, notices, metadata).encode(),
        man_pages=man_pages(runnable),
        completions={shell: output(*runnable, "completions", shell).encode() for shell in SHELLS},
    )


def man_pages(runnable):
    with tempfile.TemporaryDirectory() as folder:
        output(*runnable, "internal-man-pages", folder)
        return {page.name: page.read_bytes() for page in sorted(pathlib.Path(folder).iterdir())}


def runs(command, version):
    """Whether this is a proxy of this version that runs on this machine."""
    try:
        said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return said.strip() == f"proxy {version}"


def archive_files(shared, folder, binary):
    """The files of a release archive."""
    yield File(f"{folder}/proxy", binary, 0o755)
    yield File(f"{folder}/LICENSE", shared.licence)
    yield File(f"{folder}/README.md", shared.readme)
    yield File(f"{folder}/CHANGELOG.md", shared.changelog)
    yield File(f"{folder}/THIRD-PARTY-NOTICES.txt", shared.notices)
    yield File(f"{folder}/sbom.cdx.json", shared.sbom)
    for page, data in shared.man_pages.items():
        yield File(f"{folder}/man/{page}", data)
    for shell, data in shared.completions.items():
        yield File(f"{folder}/completions/{SHELLS[shell]}", data)
