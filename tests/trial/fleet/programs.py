"""Redis, proxies and load balancers: each started with a config of its own on ports of its own."""

import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
PATIENCE = 60
# Below those that the system hands out, or another program could get one before it is used.
CANDIDATES = itertools.count(random.randrange(15000, 25000))


def free_port():
    for port in CANDIDATES:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def found(program):
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin")
    if path is None:
        sys.exit(f"error: there is no `{program}`")
    return path


class Program:
    """A process that writes its log to a file, and is stopped at the end."""

    def __init__(self, folder, name, port):
        self.folder, self.name, self.port, self.process = folder / name, name, port, None
        self.folder.mkdir()

    def start(self, command):
        env = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        env |= {"HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder)}
        self.log = open(self.folder / "log", "a", encoding="utf-8")
        self.process = subprocess.Popen(command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        self.wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0)

    def wait_until(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"error: {self.name} does not start:\n{(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.02)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Resident bytes."""
        return int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Redis(Program):
    def __init__(self, folder):
        super().__init__(folder, "redis", free_port())
        arguments = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.start([found("redis-server"), *arguments])
        self.url = f"redis://127.0.0.1:{self.port}"

    def ask(self, *words):
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall((" ".join(words) + "\r\n").encode())
            answer = connection.makefile("rb")
            head = answer.readline().decode()
            return answer.read(int(head[1:])).decode() if head[0] == "$" else head

    def info(self, section):
        lines = [line.partition(":") for line in self.ask("INFO", section).splitlines() if ":" in line]
        return {name: value for name, _, value in lines}

    def cpu_seconds(self):
        """Finer than what the system says of a process."""
        cpu = self.info("cpu")
        return float(cpu["used_cpu_user"]) + float(cpu["used_cpu_sys"])

    def commands(self):
        """How often each command was carried out, those within scripts included."""
        stats = self.info("commandstats").items()
        counts = {name.removeprefix("cmdstat_"): int(value.split("calls=")[1].split(",")[0]) for name, value in stats}
        return {name: count for name, count in counts.items() if name != "info"}


class Replica(Program):
    def __init__(self, folder, number, binary, config):
        super().__init__(folder, f"proxy-{number}", free_port())
        self.diagnostics = free_port()
        config = config | {"telemetry": {"metrics": f"127.0.0.1:{self.diagnostics}"}}
        (self.folder / "proxy.yaml").write_text(json.dumps(config))
        address = f"127.0.0.1:{self.port}"
        self.command = [str(binary), "serve", "--config", str(self.folder / "proxy.yaml"), "--http", address]
        self.up()

    def up(self):
        self.start(self.command)
        self.wait_until(self.is_ready)

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.diagnostics}/readyz", timeout=5) as answer:
                return answer.status == 200 and " up" in (self.folder / "log").read_text()
        except OSError:
            return False

    def drain(self):
        """Returns the seconds until its end."""
        begun = time.monotonic()
        self.signal(signal.SIGTERM)
        self.process.wait()
        return time.monotonic() - begun

    def kill(self):
        self.process.kill()
        self.process.wait()


class HaProxy(Program):
    """With the file of contrib/replicas."""

    def __init__(self, folder, replicas, by_session=False):
        super().__init__(folder, "haproxy", free_port())
        lines = []
        for line in (ROOT / "contrib/replicas/haproxy.cfg").read_text().splitlines():
            words = line.split()
            if words[:1] == ["bind"]:
                # A proxy on loopback takes no other name for itself.
                lines += [f"    bind 127.0.0.1:{self.port}", "    http-request set-header Host localhost"]
            elif words[:1] == ["balance"] and not by_session:
                lines.append("    balance roundrobin")
            elif words[:1] not in (["server"], ["hash-type"]) or words[0] == "hash-type" and by_session:
                lines.append(line)
        for replica in replicas:
            lines.append(f"    server {replica.name} 127.0.0.1:{replica.port} port {replica.diagnostics}")
        (self.folder / "haproxy.cfg").write_text("\n".join(lines) + "\n")
        self.start([found("haproxy"), "-db", "-f", "haproxy.cfg"])

    def before_stop(self, replica):
        """It asks whether a replica is ready."""

    def after_start(self, replica):
        time.sleep(4)


class Nginx(Program):
    """With the file of contrib/replicas, changed and read anew before and after the stop of a replica."""

    ALONE = "daemon off;\nuser root;\nworker_processes 4;\nerror_log stderr;\npid nginx.pid;\n"
    FOLDERS = [f"    {name}_temp_path {name};" for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]]

    def __init__(self, folder, replicas, by_session=False):
        super().__init__(folder, "nginx", free_port())
        self.replicas, self.by_session = replicas, by_session
        self.write(down=None)
        self.start([found("nginx"), "-p", str(self.folder), "-c", "nginx.conf", "-e", "stderr"])

    def write(self, down):
        lines = []
        for line in (ROOT / "contrib/replicas/nginx.conf").read_text().splitlines():
            words = line.split()
            if words[:1] == ["server"] and words[1] != "{" or words[:1] == ["hash"] and not self.by_session:
                continue
            line = line.replace("worker_connections 8192", "worker_connections 16384")
            # Each worker has connections, and so files, of its own.
            lines.append(line.replace("listen 8080", f"listen 127.0.0.1:{self.port} reuseport"))
            if words == ["http", "{"]:
                lines += ["    access_log off;", *self.FOLDERS]
            if words[:1] == ["upstream"]:
                for replica in self.replicas:
                    state = " down" if replica is down else ""
                    lines.append(f"        server 127.0.0.1:{replica.port}{state};")
        (self.folder / "nginx.conf").write_text(self.ALONE + "\n".join(lines) + "\n")

    def before_stop(self, replica):
        self.write(down=replica)
        self.signal(signal.SIGHUP)
        time.sleep(1)

    def after_start(self, replica):
        self.write(down=None)
        self.signal(signal.SIGHUP)
        time.sleep(1)


BALANCERS = {"haproxy": HaProxy, "nginx": Nginx}


def config(redis, servers, **serve):
    """The config of every replica."""
    keys = ["the-same-key-of-more-than-thirty-two-bytes"]
    return {"serve": {"stateKeys": keys, **serve}, "store": {"url": redis.url}, "mcpServers": servers}
