"""The servers of the trials: what they are, where they are installed, and a config with all of them."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "target" / "trial"

# Package, version, program, arguments, environment.
NPM = {
    "everything": ("@modelcontextprotocol/server-everything", "2026.8.31", "mcp-server-everything", [], {}),
    "files": ("@modelcontextprotocol/server-filesystem", "2026.8.31", "mcp-server-filesystem", ["."], {}),
    "memory": ("@modelcontextprotocol/server-memory", "2026.8.31", "mcp-server-memory", [], {}),
    "thinking": ("@modelcontextprotocol/server-sequential-thinking", "2026.8.31", "mcp-server-sequential-thinking", [], {}),
    "playwright": ("@playwright/mcp", "0.0.83", "playwright-mcp", ["--headless"], {}),
    "context7": ("@upstash/context7-mcp", "4.1.1", "context7-mcp", [], {}),
    "devtools": ("chrome-devtools-mcp", "1.11.0", "chrome-devtools-mcp", ["--headless"], {}),
    "notion": ("@notionhq/notion-mcp-server", "2.5.2", "notion-mcp-server", [], {"NOTION_TOKEN": "none"}),
    "tavily": ("tavily-mcp", "0.2.22", "tavily-mcp", [], {"TAVILY_API_KEY": "none"}),
    "firecrawl": ("firecrawl-mcp", "3.26.0", "firecrawl-mcp", [], {"FIRECRAWL_API_KEY": "none"}),
    "figma": ("figma-developer-mcp", "0.13.2", "figma-developer-mcp", ["--stdio", "--figma-api-key=none"], {}),
    "kubernetes": ("mcp-server-kubernetes", "4.1.7", "mcp-server-kubernetes", [], {}),
    "brave": ("@brave/brave-search-mcp-server", "2.1.4", "brave-search-mcp-server", ["--transport", "stdio"], {"BRAVE_API_KEY": "none"}),
}
PYPI = {
    "time": ("mcp-server-time", "2026.10.19", "mcp-server-time", [], {}),
    "git": ("mcp-server-git", "2026.10.19", "mcp-server-git", [], {}),
    "fetch": ("mcp-server-fetch", "2026.10.24", "mcp-server-fetch", [], {}),
    "aws": ("awslabs.aws-documentation-mcp-server", "1.2.3", "awslabs.aws-documentation-mcp-server", [], {}),
    "duckduckgo": ("duckduckgo-mcp-server", "0.7.0", "duckduckgo-mcp-server", [], {}),
    "arxiv": ("arxiv-mcp-server", "0.8.2", "arxiv-mcp-server", [], {}),
}


def run_quietly(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command[:3]))} failed:\n{(done.stderr or done.stdout)[-2000:]}")


def install():
    """Installs what is not there yet. Each Python server has an environment of its own: their dependencies disagree."""
    node = PLACE / "npm"
    wanted = [f"{package}@{version}" for package, version, *_ in NPM.values()]
    mark = node / "installed.json"
    if not mark.exists() or json.loads(mark.read_text()) != wanted:
        print("installing the servers of npm ...", file=sys.stderr)
        node.mkdir(parents=True, exist_ok=True)
        (node / "package.json").write_text('{"private": true}\n')
        run_quietly(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *wanted], node)
        mark.write_text(json.dumps(wanted))
    for package, version, *_ in PYPI.values():
        folder = PLACE / f"{package}-{version}"
        if not (folder / "installed").exists():
            print(f"installing {package} ...", file=sys.stderr)
            run_quietly([sys.executable, "-m", "venv", "--clear", folder], ROOT)
            run_quietly([folder / "bin/pip", "install", "--quiet", f"{package}=={version}"], ROOT)
            (folder / "installed").write_text("")


def config(folder, more=None):
    """Every server writes a line to `started` before it starts: the number of lines is the number of processes."""
    servers = {}
    for name, (package, version, program, args, env) in {**NPM, **PYPI}.items():
        binaries = PLACE / "npm/node_modules/.bin" if name in NPM else PLACE / f"{package}-{version}" / "bin"
        line = 'echo "$0" >> "$$STARTED"; exec "$@"'
        servers[name] = {
            "command": "sh",
            "args": ["-c", line, name, str(binaries / program), *args],
            "env": {**env, "STARTED": str(folder / "started"), "HOME": str(folder)},
        }
    (folder / "proxy.yaml").write_text(json.dumps({"mcpServers": {**servers, **(more or {})}}, indent=1))
