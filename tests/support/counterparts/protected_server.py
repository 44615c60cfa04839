"""A protected server of the Python SDK, with its own authorization server: protected_server.py PORT. Everybody may register
and is let in at once, with a new account. An access token is good for a few requests, and a refresh token for one."""

import secrets
import sys
import time

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken

USES = 8


class Provider:
    def __init__(self):
        self.clients, self.codes, self.access, self.refresh, self.uses = {}, {}, {}, {}, {}
        self.accounts = 0

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        self.accounts += 1
        code = AuthorizationCode(
            code=secrets.token_hex(20),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=f"account-{self.accounts}",
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.tokens(client, authorization_code)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        del self.refresh[refresh_token.token]
        print("refreshed", file=sys.stderr, flush=True)
        return self.tokens(client, refresh_token)

    def tokens(self, client, origin):
        common = {"client_id": client.client_id, "scopes": origin.scopes, "resource": origin.resource}
        common["subject"] = origin.subject
        access = AccessToken(token=secrets.token_hex(20), expires_at=int(time.time()) + 3600, **common)
        refresh = RefreshToken(token=secrets.token_hex(20), **common)
        self.access[access.token], self.refresh[refresh.token], self.uses[access.token] = access, refresh, USES
        return OAuthToken(
            access_token=access.token, expires_in=3600, scope=" ".join(origin.scopes), refresh_token=refresh.token
        )

    async def load_access_token(self, token):
        if self.uses.get(token, 0) == 0:
            return None
        self.uses[token] -= 1
        return self.access[token]

    async def revoke_token(self, token):
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)


port = int(sys.argv[1])
origin = f"http://127.0.0.1:{port}"
settings = AuthSettings(
    issuer_url=origin,
    resource_server_url=f"{origin}/mcp",
    required_scopes=["tools"],
    validate_token_resource=True,
    client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["tools"], default_scopes=["tools"]),
    revocation_options=RevocationOptions(enabled=True),
)
server = MCPServer("protected", auth=settings, auth_server_provider=Provider())


@server.tool()
def shout(text: str) -> str:
    return text.upper()


@server.tool()
def account() -> str:
    return get_access_token().subject


server.run(transport="streamable-http", port=port)
