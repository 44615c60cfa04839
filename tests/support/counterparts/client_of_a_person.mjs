// A client on the TypeScript SDK at a server where everybody has an account of their own. Arguments: the folder with the
// packages, the address, the era (`legacy` or a revision), the token, and its `elicitation` capability as JSON. It calls the
// tool that logs in, writes `visit ADDRESS` and agrees whenever it is asked to open a page, and at last what it was told, the
// tools and the answer of one of them, as JSON.
import { pathToFileURL } from "node:url";

const [modules, address, era, token, elicitation] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/client/dist/${path}`));
const { Client, StreamableHTTPClientTransport } = await load("index.mjs");

const mode = era === "legacy" ? era : { pin: era };
const capabilities = { elicitation: JSON.parse(elicitation) };
const client = new Client({ name: "person", version: "1.0.0" }, { capabilities, versionNegotiation: { mode } });
client.setRequestHandler("elicitation/create", async ({ params }) => {
  if (params.mode !== "url") throw new Error(`asked for something else: ${JSON.stringify(params)}`);
  console.log(`visit ${params.url}`);
  return { action: "accept" };
});
const completed = [];
client.setNotificationHandler("notifications/elicitation/complete", ({ params }) => { completed.push(params.elicitationId); });
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit }));
const before = (await client.listTools()).tools.map((tool) => tool.name);
const told = await client.callTool({ name: "crm_log_in", arguments: {} });
const after = (await client.listTools()).tools.map((tool) => tool.name);
const answer = after.includes("echo") ? await client.callTool({ name: "echo", arguments: { n: 1 } }) : null;
const revision = client.getNegotiatedProtocolVersion();
console.log(JSON.stringify({ revision, before, told, after, answer, completed: completed.length }));
await client.close();
process.exit(0);
