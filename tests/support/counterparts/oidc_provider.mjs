// The authorization server `oidc-provider`, whose users agree to everything: node oidc_provider.mjs PORT PACKAGE FORMAT.
// It knows one client, which may introspect, and one for sign-in if SIGN_IN_CALLBACK says where that comes back to; all
// others register. FORMAT is that of access tokens: opaque or jwt. With WITHOUT_METADATA it publishes none, and knows a client
// that was registered by hand.

import http from 'node:http';

const port = Number(process.argv[2]);
const { default: Provider } = await import(process.argv[3]);
const issuer = `http://127.0.0.1:${port}`;
const format = process.argv[4];
const scope = 'tools';
const isHidden = process.env.WITHOUT_METADATA !== undefined;

const provider = new Provider(issuer, {
  clients: [{
    client_id: 'door',
    client_secret: 'secret-of-the-door',
    redirect_uris: [],
    response_types: [],
    grant_types: [],
  }, ...(process.env.SIGN_IN_CALLBACK ? [{
    client_id: 'pages',
    client_secret: 'secret-of-the-pages',
    application_type: 'native',
    redirect_uris: [process.env.SIGN_IN_CALLBACK],
    response_types: ['code'],
    grant_types: ['authorization_code'],
  }] : []), ...(isHidden ? [{
    client_id: 'api',
    client_secret: 'secret-of-the-api',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/callback'],
    response_types: ['code'],
    grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  }] : [])],
  scopes: ['openid', 'offline_access', scope],
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: (ctx, client) => client.clientId === 'door' },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (ctx, resource) => ({ scope, audience: resource, accessTokenFormat: format }),
      useGrantedResource: () => true,
    },
  },
  cookies: { keys: ['signs cookies in a test'] },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (ctx, interaction) => `/interaction/${interaction.uid}` },
  issueRefreshToken: () => true,
  rotateRefreshToken: true,
});

// Logs somebody in, then grants all that is asked for.
async function approve(request, response) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    await provider.interactionFinished(request, response, { login: { accountId: 'ann' } });
    return;
  }
  const known = grantId ? await provider.Grant.find(grantId) : undefined;
  const grant = known ?? new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  if (params.scope) grant.addOIDCScope(params.scope);
  for (const resource of [params.resource].flat().filter(Boolean)) grant.addResourceScope(resource, scope);
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

provider.on('server_error', (ctx, error) => console.error(error));
provider.on('grant.success', (ctx) => console.error(`granted ${ctx.oidc.params.grant_type}`));
provider.on('grant.error', (ctx, error) => console.error(`refused: ${error.error} ${error.error_detail ?? error.error_description}`));
provider.on('registration_create.error', (ctx, error) => console.error(`refused: ${error.error} ${error.error_description}`));
provider.on('authorization.error', (ctx, error) => console.error(`refused: ${error.error} ${error.error_description}`));

const answer = provider.callback();
http.createServer((request, response) => {
  if (isHidden && request.url.startsWith('/.well-known/')) {
    response.statusCode = 404;
    return response.end();
  }
  if (!request.url.startsWith('/interaction/')) return answer(request, response);
  return approve(request, response).catch((error) => {
    console.error(error);
    response.statusCode = 500;
    response.end();
  });
}).listen(port, '127.0.0.1', () => console.error(`listening on ${issuer}`));
