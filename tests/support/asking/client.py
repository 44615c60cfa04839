"""A client on the Python SDK for a server whose tools ask: `client.py MODE SERVER`, the server as JSON.

It calls every tool as somebody who answers, then those with forms and addresses as somebody who declines, then all of them without
having declared that it can be asked. Each line it prints is one call: what was asked, and what came of it.
"""

import json
import sys
import warnings

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

warnings.simplefilter("ignore", MCPDeprecationWarning)

TOOLS = ["ask_form", "ask_url", "ask_model", "ask_folders"]


class Person:
    def __init__(self):
        self.asked = []
        self.declines = False

    async def elicitation(self, context, params):
        is_form = params.mode == "form"
        self.asked.append(f"form {params.message}" if is_form else f"url {params.url}")
        if self.declines:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"colour": "teal"} if is_form else None)

    async def sampling(self, context, params):
        self.asked.append(f"model {params.messages[0].content.text}")
        content = types.TextContent(type="text", text="a fine word")
        return types.CreateMessageResult(role="assistant", content=content, model="m", stop_reason="endTurn")

    async def roots(self, context):
        self.asked.append("folders")
        return types.ListRootsResult(roots=[types.Root(uri="file:///home/ann")])


async def call(client, person, mood, tool):
    person.asked.clear()
    try:
        result = await client.call_tool(tool)
        outcome = "".join(block.text for block in result.content)
        failed = bool(result.is_error)
    except MCPError as error:
        outcome, failed = f"{error.error.code}: {error.error.message} {json.dumps(error.error.data)}", True
    told = {"mood": mood, "tool": tool, "asked": person.asked, "outcome": outcome, "failed": failed}
    print(json.dumps({**told, "revision": client.protocol_version}), flush=True)


async def main():
    mode, server = sys.argv[1], StdioServerParameters(**json.loads(sys.argv[2]))
    person = Person()
    can = {
        "elicitation_callback": person.elicitation,
        "sampling_callback": person.sampling,
        "list_roots_callback": person.roots,
    }
    async with Client(server, mode=mode, read_timeout_seconds=60, **can) as client:
        for tool in TOOLS:
            await call(client, person, "answers", tool)
        person.declines = True
        for tool in TOOLS[:2]:
            await call(client, person, "declines", tool)
    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        for tool in TOOLS:
            await call(client, person, "cannot be asked", tool)


anyio.run(main)
