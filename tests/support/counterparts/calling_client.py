"""A client on the Python SDK that lists a server's tools and calls some. Arguments: the address, the era (`legacy` or a
revision), the calls as JSON: a list of `{"name": ..., "arguments": {...}}`, and a token if the server wants one. The SDK
checks structured content against the output schema that it has listed."""

import asyncio
import json
import sys

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def listed(client):
    page = await client.list_tools()
    tools = [*page.tools]
    while page.next_cursor is not None:
        page = await client.list_tools(cursor=page.next_cursor)
        tools += page.tools
    return tools


async def called(client, call):
    try:
        return plain(await client.call_tool(call["name"], call["arguments"]))
    except MCPError as error:
        return {"isError": True, "refused": error.error.message}


async def main():
    address, era, calls, *token = sys.argv[1:]
    headers = {"Authorization": f"Bearer {token[0]}"} if token else {}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(address, http_client=http), mode=era) as client:
            tools = await listed(client)
            results = [await called(client, call) for call in json.loads(calls)]
            names = [tool.name for tool in tools]
            told = {"tools": names, "definitions": [plain(tool) for tool in tools], "results": results}
            print(json.dumps({"revision": client.protocol_version, **told}))


asyncio.run(main())
