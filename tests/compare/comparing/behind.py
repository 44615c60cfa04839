"""The proxy in front of one server: its config, its folders, and the command that serves a client."""

import json
import os
import subprocess

# Every item behind a handler that only passes the call on.
WRAPPING = """
def wrap(call):
    return lambda args: call(args)

for backend in backends().values():
    for meta, call in backend.tools():
        publish(meta, wrap(call))
    for meta, call in backend.resources():
        publish_resource(meta, wrap(call))
    for meta, call in backend.resource_templates():
        publish_resource_template(meta, wrap(call))
    for meta, call in backend.prompts():
        publish_prompt(meta, wrap(call))
"""

# The preset that most use, the one that shows a single server as it is, and handlers.
WAYS = ("default", "passthrough", "handler")


def command(way, programs, server_command, cwd, folder):
    """The command that serves a client in this way, and its environment."""
    server = {"command": server_command[0], "args": server_command[1:], "cwd": str(cwd)}
    config = {"mcpServers": {"compared": server}}
    if way == "handler":
        (folder / "wrapping.star").write_text(WRAPPING)
        config["sessionInit"] = {"scriptFile": "wrapping.star"}
    else:
        config["sessionInit"] = {"preset": way}
    path = folder / "proxy.yaml"
    # JSON is YAML.
    path.write_text(json.dumps(config))
    env = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "PROXY_"))}
    for name, place in {"HOME": "home", "XDG_CACHE_HOME": "cache", "XDG_RUNTIME_DIR": "runtime"}.items():
        (folder / place).mkdir(exist_ok=True)
        env[name] = str(folder / place)
    proxy = str(programs / "proxy")
    # How the very first start goes is not the subject: this one leaves its lists in the cache.
    subprocess.run([proxy, "list-tools", "--config", path], env=env, capture_output=True, check=True, timeout=120)
    return [proxy, "serve", "--config", str(path)], env
