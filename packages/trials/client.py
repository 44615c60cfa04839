"""A client of the official SDK: starts a server with a command, calls one tool and prints the result."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(tool, command, *arguments):
    server = StdioServerParameters(command=command, args=list(arguments), env=dict(os.environ), cwd=os.getcwd())
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = {known.name for known in (await session.list_tools()).tools}
        if tool not in tools:
            sys.exit(f"no tool {tool} in {sorted(tools)}")
        result = await session.call_tool(tool, {"value": 26.2, "from": "mi", "to": "km"})
        print(result.content[0].text)


asyncio.run(main(*sys.argv[1:]))
