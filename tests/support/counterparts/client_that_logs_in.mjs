// A client on the TypeScript SDK that logs in: node client_that_logs_in.mjs SDK URL. It writes the address to visit on stdout,
// reads where that led on stdin, and writes the tools, the answer of one, and its token.

import readline from 'node:readline';

const [sdk, url] = process.argv.slice(2);
const { Client } = await import(`${sdk}/index.js`);
const { StreamableHTTPClientTransport } = await import(`${sdk}/streamableHttp.js`);
const { UnauthorizedError } = await import(`${sdk}/auth.js`);

const redirect = 'http://127.0.0.1:9/callback';
const kept = {};
const provider = {
  redirectUrl: redirect,
  clientMetadata: {
    client_name: 'typescript',
    redirect_uris: [redirect],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  redirectToAuthorization: (address) => { console.log(`visit ${address}`); },
};

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
let client = new Client({ name: 'typescript', version: '1' });
try {
  await client.connect(transport);
  throw new Error('it was let in without a token');
} catch (error) {
  if (!(error instanceof UnauthorizedError)) throw error;
}
const led = new URL((await lines.next()).value);
await transport.finishAuth(led.searchParams.get('code'));
transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
client = new Client({ name: 'typescript', version: '1' });
await client.connect(transport);
const { tools } = await client.listTools();
const answer = await client.callTool({ name: 'whoami', arguments: {} });
console.log(`tools ${tools.map((tool) => tool.name).join(' ')}`);
console.log(`whoami ${JSON.stringify(answer.structuredContent)}`);
console.log(`token ${kept.tokens.access_token}`);
await client.close();
process.exit(0);
