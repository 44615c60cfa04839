// A client on the TypeScript SDK that lists a server's tools and calls some. Arguments: the folder with the packages, the
// address, the era (`legacy` or a revision), and the calls as JSON: a list of `{"name": ..., "arguments": {...}}`. The SDK
// checks structured content against the output schema that it has listed.
import { pathToFileURL } from "node:url";

const [modules, address, era, calls] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/client/dist/${path}`));
const { Client, StreamableHTTPClientTransport } = await load("index.mjs");

const mode = era === "legacy" ? era : { pin: era };
const client = new Client({ name: "caller", version: "1.0.0" }, { versionNegotiation: { mode } });
await client.connect(new StreamableHTTPClientTransport(new URL(address)));
const tools = [];
let cursor;
do {
  const page = await client.listTools(cursor === undefined ? undefined : { cursor });
  tools.push(...page.tools.map((tool) => tool.name));
  cursor = page.nextCursor;
} while (cursor !== undefined);
const results = [];
for (const call of JSON.parse(calls)) {
  results.push(await client.callTool(call).catch((error) => ({ isError: true, refused: error.message })));
}
console.log(JSON.stringify({ revision: client.getNegotiatedProtocolVersion(), tools, results }));
await client.close();
