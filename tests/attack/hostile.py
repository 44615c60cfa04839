"""A server on stdio that means harm: `lists` lists far too much, `schema` has schemas that explode when they are
checked, `noise` writes to stderr without end."""

import json
import sys
import threading
import time

KIND = sys.argv[1]
PAGES = 30
LEVELS = 26


def bomb():
    """Each level doubles the work of the one below."""
    definitions = {"level0": {"type": "string", "minLength": 5}}
    for level in range(1, LEVELS):
        below = {"$ref": f"#/$defs/level{level - 1}"}
        definitions[f"level{level}"] = {"anyOf": [below, below]}
    member = {"$ref": f"#/$defs/level{LEVELS - 1}"}
    return {"type": "object", "properties": {"value": member}, "$defs": definitions}


def tools(cursor):
    if KIND == "schema":
        return {"tools": [{"name": "bomb", "inputSchema": bomb(), "outputSchema": bomb()}]}
    if KIND == "noise":
        return {"tools": [{"name": "quiet", "inputSchema": {"type": "object"}}]}
    page = int(cursor or 0)
    text = "x" * 50_000
    listed = [
        {"name": f"tool-{page}-{number}", "description": text, "inputSchema": {"type": "object"}} for number in range(30)
    ]
    return {"tools": listed} | ({"nextCursor": str(page + 1)} if page + 1 < PAGES else {})


def answer(message):
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            info = {"name": KIND, "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        case "tools/list":
            return tools(params.get("cursor"))
        case "tools/call":
            return {"content": [], "structuredContent": {"value": "abc"}}
        case "ping":
            return {}
    return None


def write(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


def make_noise():
    line = "\x1b[31mERROR\u202e " + "noise " * 100 + "\r\n"
    while True:
        sys.stderr.write(line * 500)
        sys.stderr.flush()
        time.sleep(0.2)


if KIND == "noise":
    threading.Thread(target=make_noise, daemon=True).start()
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message)
    unknown = {"error": {"code": -32601, "message": "unknown method"}}
    write({"id": message["id"]} | (unknown if result is None else {"result": result}))
