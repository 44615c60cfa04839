// A client on the TypeScript SDK that lists a server's tools and calls some. Arguments: the folder with the packages, the
// address, the era (`legacy` or a revision), the calls as JSON: a list of `{"name": ..., "arguments": {...}}`, and a token if
// the server wants one. The SDK checks structured content against the output schema that it has listed.
import { pathToFileURL } from "node:url";

const [modules, address, era, calls, token] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/client/dist/${path}`));
const { Client, StreamableHTTPClientTransport } = await load("index.mjs");

const mode = era === "legacy" ? era : { pin: era };
const client = new Client({ name: "caller", version: "1.0.0" }, { versionNegotiation: { mode } });
const requestInit = token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit }));
const definitions = [];
let cursor;
do {
  const page = await client.listTools(cursor === undefined ? undefined : { cursor });
  definitions.push(...page.tools);
  cursor = page.nextCursor;
} while (cursor !== undefined);
const results = [];
for (const call of JSON.parse(calls)) {
  results.push(await client.callTool(call).catch((error) => ({ isError: true, refused: error.message })));
}
const tools = definitions.map((tool) => tool.name);
console.log(JSON.stringify({ revision: client.getNegotiatedProtocolVersion(), tools, definitions, results }));
await client.close();
