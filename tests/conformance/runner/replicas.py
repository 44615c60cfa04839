"""Several proxies with one Redis behind an nginx that takes them in turn, in place of a single proxy."""

import itertools
import random
import shutil
import socket
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from .install import ROOT
from .processes import PATIENCE, proxy, running

SHARED = """\
serve:
  stateKeys: [the-same-key-of-more-than-thirty-two-bytes]
  allowedOrigins: [http://localhost:{port}, http://127.0.0.1:{port}]
store:
  url: redis://127.0.0.1:{redis}
"""
# One process, which needs no other user and no folder of the system.
ALONE = "daemon off;\nmaster_process off;\nerror_log stderr notice;\npid nginx.pid;\n"
FOLDERS = "".join(f"    {name}_temp_path {name};\n" for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
# Where Debian puts it is not in everybody's PATH.
PLACES = ["/usr/sbin", "/usr/local/sbin"]


@contextmanager
def replicas(binary, url, protocol, number):
    """The address of the load balancer, and the proxies."""
    with ExitStack() as stack:
        redis, port = free_port(), free_port()
        arguments = ["--port", str(redis), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
        wait_for_port(stack.enter_context(running([found("redis-server"), *arguments])), redis)
        more = SHARED.format(port=port, redis=redis)
        proxies = [stack.enter_context(proxy(binary, url, protocol, more)) for _ in range(number)]
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-")))
        (folder / "nginx.conf").write_text(nginx_config(port, [urlsplit(address).port for address, _ in proxies]))
        command = [found("nginx"), "-p", str(folder), "-c", "nginx.conf", "-e", "stderr"]
        wait_for_port(stack.enter_context(running(command)), port)
        yield f"http://127.0.0.1:{port}/mcp", [program for _, program in proxies]


def nginx_config(port, upstreams):
    """The config that the project recommends, without the line that keeps a session at one replica."""
    lines = []
    for line in (ROOT / "contrib/replicas/nginx.conf").read_text().splitlines():
        words = line.split()
        if words[:1] == ["hash"] or words[:1] == ["server"] and words[1] != "{":
            continue
        lines.append(line.replace("listen 8080", f"listen 127.0.0.1:{port}"))
        if words == ["http", "{"]:
            lines += ["    access_log off;", FOLDERS.rstrip()]
        if words[:1] == ["upstream"]:
            lines += [f"        server 127.0.0.1:{upstream};" for upstream in upstreams]
    return ALONE + "\n".join(lines) + "\n"


def found(program):
    path = shutil.which(program) or shutil.which(program, path=":".join(PLACES))
    if path is None:
        raise SystemExit(f"error: there is no `{program}`, which --replicas needs")
    return path


# Below those that the system hands out, or another program could get one before it is used.
CANDIDATES = itertools.count(random.randrange(15000, 25000))


def free_port():
    for port in CANDIDATES:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def wait_for_port(program, port):
    deadline = time.monotonic() + PATIENCE
    while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
        if program.ended or time.monotonic() > deadline:
            raise RuntimeError(f"{program.process.args[0]} does not listen:\n" + "\n".join(program.lines))
        time.sleep(0.05)
