"""A server on the Python SDK whose tools ask the client one thing each: `ask_form`, `ask_url`, `ask_model`, `ask_folders`.
The result is the answer it got. The era is the client's choice.

`server.py ADDRESS` serves Streamable HTTP and says on stderr where.
"""

import json
import socket
import sys
import warnings
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "conformance/python_server"))

import uvicorn  # noqa: E402
from mcp.server.caching import CacheHint  # noqa: E402
from mcp.server.lowlevel import Server  # noqa: E402
from mcp.shared.exceptions import MCPDeprecationWarning  # noqa: E402

from call import Call, era_wise, text  # noqa: E402
from dialogue import ask, form, roots, sampling  # noqa: E402

# Sampling and roots are on their way out of the protocol, not out of this test.
warnings.simplefilter("ignore", MCPDeprecationWarning)

PLACE = "https://example.com/sign-in"


def address(call):
    params = {"mode": "url", "message": "Please sign in", "url": PLACE}
    # Only sessions follow such a visit by an id.
    return {"method": "elicitation/create", "params": params if call.stateless else {**params, "elicitationId": "visit-1"}}


QUESTIONS = {
    "ask_form": lambda call: form("Which colour?", {"colour": {"type": "string"}}),
    "ask_url": address,
    "ask_model": lambda call: sampling("Say a word."),
    "ask_folders": lambda call: roots(),
}


async def list_tools(context, params):
    return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in QUESTIONS]}


async def call_tool(context, params):
    call = Call(context, params.name, params.arguments or {})
    answers, asked = await ask(call, {"answer": QUESTIONS[call.name](call)})
    return asked or text(json.dumps(answers["answer"]))


def main():
    server = Server(
        "asking",
        version="1.0.0",
        cache_hints={"tools/list": CacheHint(ttl_ms=60_000)},
        on_list_tools=era_wise(list_tools),
        on_call_tool=era_wise(call_tool),
    )
    host, port = sys.argv[1].rsplit(":", 1)
    listener = socket.create_server((host, int(port)), backlog=128)
    print(f"listening on http://{host}:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning")).run(sockets=[listener])


main()
