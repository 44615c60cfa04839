"""What the client does in each scenario."""

import json
import os
import time
from contextlib import suppress

from .client import Refused


PATIENCE = 15


def play(scenario, client):
    if scenario not in SCENARIOS:
        # The mock has no tools. That it was met is all the scenario wants.
        with suppress(Refused):
            client.request("tools/list")
        return
    SCENARIOS[scenario](client, {tool["name"]: tool for tool in listed(client)})


def listed(client):
    """The proxy does not wait long for a slow server: what is not listed yet comes later."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with suppress(Refused):
            if tools := client.request("tools/list")["tools"]:
                return tools
        if time.monotonic() > deadline:
            raise Refused("tools/list: there are none")
        time.sleep(0.1)


def only_list(client, tools):
    pass


def add(client, tools):
    client.request("tools/call", name="add_numbers", arguments={"a": 5, "b": 3})


def call_each(client, tools):
    """Also those that should not have been listed."""
    for name, tool in tools.items():
        required = tool["inputSchema"].get("required", [])
        client.request("tools/call", name=name, arguments={argument: "eu" for argument in required})


def use_everything(client, tools):
    call_each(client, tools)
    for resource in client.request("resources/list")["resources"]:
        client.request("resources/read", uri=resource["uri"])
    for prompt in client.request("prompts/list")["prompts"]:
        client.request("prompts/get", name=prompt["name"])


def call_as_told(client, tools):
    for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
        client.request("tools/call", name=call["name"], arguments=call["arguments"])


def echo_schema(client, tools):
    schema = tools["json_schema_2020_12_tool"]["inputSchema"]
    client.request("tools/call", name="json_schema_echo", arguments={"schema": schema})


SCENARIOS = {
    "tools_call": add,
    "elicitation-sep1034-client-defaults": call_each,
    "sse-retry": call_each,
    "sep-2322-client-request-state": call_each,
    "http-standard-headers": use_everything,
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_each,
    "json-schema-2020-12-preservation": echo_schema,
    "json-schema-ref-no-deref": only_list,
}
