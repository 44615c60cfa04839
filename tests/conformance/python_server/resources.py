"""Two resources and a template."""

import json

from mcp.shared.exceptions import MCPError

from call import STATELESS
from content import PNG

RESOURCES = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watch me."},
}
INVALID_PARAMS = -32602
RESOURCE_NOT_FOUND = -32002


async def list_all(context, params):
    described = [
        {"uri": uri, "name": uri.removeprefix("test://"), "mimeType": it["mimeType"]} for uri, it in RESOURCES.items()
    ]
    return {"resources": described}


async def list_templates(context, params):
    template = {"uriTemplate": "test://template/{id}/data", "name": "Data by number", "mimeType": "application/json"}
    return {"resourceTemplates": [template]}


async def read(context, params):
    return {"contents": [{"uri": params.uri, **contents(context, params.uri)}]}


async def subscribe(context, params):
    contents(context, params.uri)
    return {}


def contents(context, uri):
    if uri in RESOURCES:
        return RESOURCES[uri]
    if uri.startswith("test://template/") and uri.endswith("/data"):
        number = uri.removeprefix("test://template/").removesuffix("/data")
        data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        return {"mimeType": "application/json", "text": json.dumps(data)}
    code = INVALID_PARAMS if context.protocol_version >= STATELESS else RESOURCE_NOT_FOUND
    raise MCPError(code, "there is no such resource", {"uri": uri})
