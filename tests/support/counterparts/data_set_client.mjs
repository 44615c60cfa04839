// A client by the name of another that is given a whole data set of tools. It checks the list as that client does, makes
// arguments that follow each schema of the list, and calls every tool with them. Then it asks the server what arrived and
// checks that against the schemas as the server published them. Arguments: the folder with the packages, the address, the
// client's name, and a file with the server's tools.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { faultsOf } from "./client_rules.mjs";

const [modules, address, name, file] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/${path}`));
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client/dist/index.mjs");
const { default: Ajv } = await load("ajv/dist/ajv.js");
const { default: Ajv2020 } = await load("ajv/dist/2020.js");
const { JSONSchemaFaker } = await load("json-schema-faker/dist/main.cjs");

const validators = [Ajv.default ?? Ajv, Ajv2020.default ?? Ajv2020];
const published = new Map(JSON.parse(readFileSync(file, "utf8")).map((tool) => [tool.name, tool.inputSchema]));
const client = new Client({ name, version: "1.0.0" }, { versionNegotiation: { mode: "legacy" } });
await client.connect(new StreamableHTTPClientTransport(new URL(address)));
const { tools } = await client.listTools();
const ajvOf = ({ $schema }) => new (validators[$schema?.includes("2020-12") ? 1 : 0])({ strictSchema: false, logger: false, validateFormats: false });
const isValid = ({ $schema, ...schema }, value) => ajvOf({ $schema }).validate(schema, value);
const isSchema = ({ $schema, ...schema }) => ajvOf({ $schema }).validateSchema(schema);

/** Arguments that follow the schema; `undefined` if chance makes none. */
const made = async (schema) => {
  for (let attempt = 1; attempt <= 50; attempt += 1) {
    let seed = attempt * 7919;
    const random = () => { seed = (seed * 48271) % 2147483647; return seed / 2147483647; };
    const value = await JSONSchemaFaker.generate(schema, { random, alwaysFakeOptionals: attempt % 2 === 1, failOnInvalidTypes: false });
    if (!isSchema(schema) || isValid(schema, value)) return value;
  }
  return undefined;
};

// Some servers publish what is no schema. What the list still has of these is told apart.
const odd = tools.filter((tool) => !isSchema(tool.inputSchema)).map((tool) => tool.name);
const faults = faultsOf(name, tools.filter((tool) => !odd.includes(tool.name)), validators);

const refused = [];
const unmade = [];
for (const tool of tools.filter((tool) => tool.name !== "seen")) {
  const args = await made(tool.inputSchema);
  if (args === undefined) {
    unmade.push(tool.name);
    continue;
  }
  // That took a while: a connection that was closed meanwhile is to be noticed before it is used.
  await new Promise((resolve) => { setImmediate(resolve); });
  const answer = await client.callTool({ name: tool.name, arguments: args });
  if (answer.isError) refused.push(answer.content[0].text);
}
const seen = await client.callTool({ name: "seen", arguments: {} });
const calls = seen.structuredContent.messages.map((message) => JSON.parse(message));
const arrived = calls.filter((call) => call.method === "tools/call" && call.params.name !== "seen");
for (const { params } of arrived) {
  const schema = published.get(params.name);
  // Of what is no schema, nothing can be said.
  if (!isSchema(schema) || isValid(schema, params.arguments)) continue;
  faults.push(`${params.name} got ${JSON.stringify(params.arguments)}, which its schema does not allow`);
}
await client.close();
console.log(JSON.stringify({ tools: tools.length, arrived: arrived.length, refused, unmade, odd, faults }));
