"""A server on the Python SDK that remembers something for each session: `remember` adds a word and returns all words.

`remembering_server.py PORT` serves Streamable HTTP and says on stderr where.
"""

import json
import logging
import socket
import sys

import uvicorn
from mcp.server.lowlevel import Server

WORDS = {}


async def list_tools(context, params):
    return {"tools": [{"name": "remember", "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}}}]}


async def call_tool(context, params):
    words = WORDS.setdefault(context.request.headers["mcp-session-id"], [])
    words.append(params.arguments["word"])
    return {"content": [{"type": "text", "text": json.dumps(words)}]}


def main():
    # Requests are logged on stderr.
    logging.basicConfig(level=logging.INFO)
    server = Server("remembering", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_config=None)).run(sockets=[listener])


main()
