"""What a person does with a server that wants a log-in: `proxy login`, use a tool, and log in again when told to."""

import json
import os
import sys
import time
from contextlib import suppress

from .client import Refused, client

# The document of this client, which the suite expects by name.
DOCUMENT = "https://conformance-test.local/client-metadata.json"
TOOL = "test-tool"
# A person does not log in again and again for a server that is never content.
LOG_INS = 3
PATIENCE = 10


def play(scenario, url, world, era):
    server = {"url": url}
    if auth := auth_of(scenario, json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")), world.write):
        server["auth"] = auth
    world.configure(server)
    # Nobody has to be asked where the proxy logs in as itself.
    person = auth.get("type", "oauth") == "oauth"
    left = LOG_INS
    if person:
        left -= 1
        if world.run("login", "mock") != 0:
            sys.exit("the log-in failed")
    with client(world, era) as connected:
        while not used(connected, world, person):
            if left == 0:
                sys.exit("logging in does not help")
            left -= 1
            if world.run("login", "mock") != 0:
                sys.exit("the log-in failed")


def auth_of(scenario, context, write):
    """The section `auth` for what the suite tells of the client; nothing where it tells nothing: a server's 401 is enough."""
    if scenario == "auth/basic-cimd":
        return {"type": "oauth", "clientMetadataUrl": DOCUMENT}
    client_keys = {"clientId": "client_id", "clientSecret": "client_secret", "issuer": "issuer"}
    known = {key: context[name] for key, name in client_keys.items() if name in context}
    if "idp_id_token" in context:
        provider = {
            "idTokenFile": write("id.jwt", context["idp_id_token"]),
            "idpTokenUrl": context["idp_token_endpoint"],
            "idpClientId": context["idp_client_id"],
        }
        return {"type": "enterprise", **provider, **known}
    if "private_key_pem" in context:
        key = {"privateKeyFile": write("key.pem", context["private_key_pem"]), "algorithm": context["signing_algorithm"]}
        return {"type": "clientCredentials", **key, **known}
    if scenario.startswith("auth/client-credentials-"):
        return {"type": "clientCredentials", **known}
    return {"type": "oauth", **known} if "clientId" in known else {}


def used(connected, world, person):
    """Whether the tool could be called; if not, the proxy has asked for a log-in."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with suppress(Refused):
            if any(tool["name"] == TOOL for tool in connected.request("tools/list")["tools"]):
                result = connected.request("tools/call", name=TOOL, arguments={})
                if not result.get("isError"):
                    return True
                print(f"{TOOL}: {result['content']}", file=sys.stderr, flush=True)
                if asks_for_log_in(result):
                    return False
        if person and world.run("login", "--list") == 1:
            return False
        time.sleep(0.1)
    sys.exit(f"{TOOL} cannot be called, and no log-in is asked for")


def asks_for_log_in(result):
    return any("proxy login mock" in block.get("text", "") for block in result["content"])
