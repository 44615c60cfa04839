"""The second reference server of the conformance runs, on the Python SDK's low-level server.

`main.py ADDRESS` serves Streamable HTTP and says on stderr where. Every module has TOOLS, a map from name to description
and schema, and `answer`, which returns a result or None if the tool is another module's.
"""

import socket
import sys
import warnings

import mcp_types as types
import uvicorn
from mcp.server.caching import CACHEABLE_METHODS, CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError, MCPDeprecationWarning

import asking
import content
import prompts
import resources
import streaming
import tasks
from call import Call, era_wise
from events import Events

# Sampling, roots and logging are on their way out of the protocol, not out of this test.
warnings.simplefilter("ignore", MCPDeprecationWarning)

# The first tool of all must be one that can be called without arguments.
MODULES = [content, streaming, asking, tasks]
INVALID_PARAMS = -32602


def schema(described):
    if "type" in described:
        return described
    return {"type": "object", "properties": described, "required": list(described)}


def tool(name, described):
    description, arguments = described
    return {"name": name, "description": description, "inputSchema": schema(arguments)}


def all_tools():
    tools = {name: described for module in MODULES for name, described in module.TOOLS.items()}
    if streaming.passing["tool"]:
        tools["test_passing_tool"] = ("Is not always there.", {})
    return tools


async def list_tools(context, params):
    return {"tools": [tool(name, described) for name, described in all_tools().items()]}


async def call_tool(context, params):
    call = Call(context, params.name, params.arguments or {})
    for module in MODULES:
        result = await module.answer(call)
        if result is not None:
            return result
    raise MCPError(INVALID_PARAMS, f"there is no tool `{params.name}` to call")


async def complete(context, params):
    return {"completion": {"values": [params.argument.value + "ing"]}}


async def set_level(context, params):
    return {}


class ChangingServer(Server):
    """Says in sessions, too, that its lists change."""

    def create_initialization_options(self, *arguments, **options):
        return super().create_initialization_options(NotificationOptions(True, True, True))


def build():
    server = ChangingServer(
        "python-conformance-server",
        version="1.0.0",
        cache_hints={method: CacheHint(ttl_ms=60_000) for method in CACHEABLE_METHODS},
        get_tool_input_schema=lambda name: schema(all_tools()[name][1]) if name in all_tools() else None,
        on_list_tools=era_wise(list_tools),
        on_call_tool=era_wise(call_tool),
        on_list_resources=era_wise(resources.list_all),
        on_list_resource_templates=era_wise(resources.list_templates),
        on_read_resource=era_wise(resources.read),
        on_subscribe_resource=resources.subscribe,
        on_unsubscribe_resource=resources.subscribe,
        on_subscriptions_listen=ListenHandler(streaming.bus),
        on_list_prompts=era_wise(prompts.list_all),
        on_get_prompt=era_wise(prompts.get),
        on_completion=era_wise(complete),
        on_set_logging_level=set_level,
    )
    server.add_notification_handler("notifications/initialized", types.NotificationParams, streaming.join)
    tasks.register(server)
    return server


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    # asyncio turns Nagle's algorithm off only where the protocol is named; with it, an answer on a kept connection takes
    # 40 ms more.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind((host, int(port)))
    listener.listen(128)
    print(f"listening on http://{host}:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
    app = build().streamable_http_app(event_store=Events(), retry_interval=200)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


main()
