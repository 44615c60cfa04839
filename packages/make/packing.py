"""Archives whose bytes depend on their content alone: no owners, one time, the given order."""

import dataclasses
import gzip
import io
import tarfile
import time
import zipfile


@dataclasses.dataclass(frozen=True)
class File:
    name: str
    data: bytes = b""
    mode: int = 0o644
    link: str = ""  # Where a symbolic link points.


def text(name, content, mode=0o644):
    return File(name, content.encode(), mode)


def tar(files, time, with_folders=False):
    """The bytes of a tar archive. Debian wants every folder to be in it."""
    raw, folders = io.BytesIO(), set()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for file in files:
            for folder in parents(file.name) if with_folders else []:
                if folder not in folders:
                    folders.add(folder)
                    archive.addfile(entry(folder + "/", 0o755, time, tarfile.DIRTYPE))
            if file.link:
                linked = entry(file.name, 0o777, time, tarfile.SYMTYPE)
                linked.linkname = file.link
                archive.addfile(linked)
                continue
            member = entry(file.name, file.mode, time, tarfile.REGTYPE)
            member.size = len(file.data)
            archive.addfile(member, io.BytesIO(file.data))
    return raw.getvalue()


def entry(name, mode, time, kind):
    made = tarfile.TarInfo(name)
    made.mode, made.mtime, made.type = mode, time, kind
    made.uname = made.gname = "root"
    return made


def parents(name):
    """`./usr/bin/proxy`: `./usr`, `./usr/bin`."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[: end + 1]) for end in range(1, len(parts))]


def gzipped(data, time=0):
    raw = io.BytesIO()
    with gzip.GzipFile("", "wb", compresslevel=9, mtime=time, fileobj=raw) as packed:
        packed.write(data)
    return raw.getvalue()


def tar_gz(path, files, time):
    path.write_bytes(gzipped(tar(files, time), time))


def zipped(path, files, seconds):
    """A zip archive in which programs can be run."""
    # The format begins in 1980, and counts in steps of two seconds.
    date = time.gmtime(max(seconds, 315532800))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in files:
            member = zipfile.ZipInfo(file.name, date)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = (0o100000 | file.mode) << 16
            member.create_system = 3
            archive.writestr(member, file.data)
