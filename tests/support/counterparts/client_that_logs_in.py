"""A client on the Python SDK that logs in: client_that_logs_in.py URL. It writes the address to visit on stdout, reads where
that led on stdin, and writes the tools, the answer of one, and its token."""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlparse

import httpx2
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

REDIRECT = "http://127.0.0.1:9/callback"


class Kept:
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def visit(address):
    print(f"visit {address}", flush=True)


async def led():
    line = await asyncio.to_thread(sys.stdin.readline)
    query = parse_qs(urlparse(line.strip()).query)
    first = lambda name: query.get(name, [None])[0]
    return AuthorizationCodeResult(code=first("code"), state=first("state"), iss=first("iss"))


async def main():
    url = sys.argv[1]
    metadata = OAuthClientMetadata(
        client_name="python", redirect_uris=[REDIRECT], token_endpoint_auth_method="none", application_type="native"
    )
    kept = Kept()
    auth = OAuthClientProvider(url, metadata, kept, visit, led)
    async with httpx2.AsyncClient(auth=auth, timeout=60) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            async with ClientSession(*streams[:2]) as session:
                await session.initialize()
                tools = await session.list_tools()
                answer = await session.call_tool("whoami", {})
                print("tools", *[tool.name for tool in tools.tools], flush=True)
                print("whoami", json.dumps(answer.structured_content), flush=True)
                print("token", kept.tokens.access_token, flush=True)


asyncio.run(main())
