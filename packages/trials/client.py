"""A client of the official SDK: calls one tool of a server, and prints the result.

    client.py TOOL COMMAND [ARGUMENT ...]
    client.py TOOL URL      # With the token in $TOKEN.
"""

import asyncio
import contextlib
import os
import sys

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


@contextlib.asynccontextmanager
async def connected(server, *arguments):
    if server.startswith("http://"):
        headers = {"Authorization": f"Bearer {os.environ['TOKEN']}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            streamable_http_client(server, http_client=http) as streams,
        ):
            yield streams
    else:
        started = StdioServerParameters(command=server, args=list(arguments), env=dict(os.environ), cwd=os.getcwd())
        async with stdio_client(started) as streams:
            yield streams


async def main(tool, server, *arguments):
    async with connected(server, *arguments) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = {known.name for known in (await session.list_tools()).tools}
        if tool not in tools:
            sys.exit(f"no tool {tool} in {sorted(tools)}")
        result = await session.call_tool(tool, {"value": 26.2, "from": "mi", "to": "km"})
        print(result.content[0].text)


asyncio.run(main(*sys.argv[1:]))
