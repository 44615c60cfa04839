// A client by the name of another: it lists a server's tools over the MCP SDK, checks them as that client and the API behind
// it do, and calls some of them. Arguments: the folder with the packages, the address, the client's name, and the calls as
// JSON: a list of `{"tool": BEGINNING OF ITS NAME, "arguments": {...}}` under the published names. A property says its
// published name in its description, as `P:NAME`.
import http from "node:http";
import { pathToFileURL } from "node:url";

const [modules, address, name, callsText] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/${path}`));
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client/dist/index.mjs");
const { default: Ajv } = await load("ajv/dist/ajv.js");
const { default: Ajv2020 } = await load("ajv/dist/2020.js");
const { GoogleGenAI } = await load("@google/genai/dist/node/index.mjs");

const client = new Client({ name, version: "1.0.0" }, { versionNegotiation: { mode: "legacy" } });
await client.connect(new StreamableHTTPClientTransport(new URL(address)));
const { tools } = await client.listTools();
const faults = [];
const check = (holds, fault) => { if (!holds) faults.push(fault); };

// Gemini CLI compiles every schema with these validators; the MCP SDK does so for results.
for (const tool of tools) {
  for (const Validator of [Ajv.default ?? Ajv, Ajv2020.default ?? Ajv2020]) {
    const ajv = new Validator({ strictSchema: false, logger: false });
    const isOfOther = tool.inputSchema.$schema !== undefined && !ajv.getSchema(tool.inputSchema.$schema.replace(/#$/, ""));
    if (isOfOther) continue;
    check(ajv.validateSchema(tool.inputSchema) === true, `${tool.name}: ${ajv.errorsText()}`);
    if (name.startsWith("gemini")) {
      try { ajv.compile(tool.inputSchema); } catch (error) { faults.push(`${tool.name}: ${error.message}`); }
    }
  }
}

const nested = (schema, visit, at = "") => {
  if (typeof schema !== "object" || schema === null) return;
  visit(schema, at);
  for (const [keyword, value] of Object.entries(schema)) {
    if (["properties", "$defs", "definitions", "patternProperties"].includes(keyword)) {
      for (const [key, property] of Object.entries(value)) nested(property, visit, `${at}/${keyword}/${key}`);
    } else if (["anyOf", "oneOf", "allOf", "prefixItems"].includes(keyword)) {
      value.forEach((part, index) => nested(part, visit, `${at}/${keyword}/${index}`));
    } else if (["items", "additionalProperties", "not"].includes(keyword)) {
      nested(value, visit, `${at}/${keyword}`);
    }
  }
};

// What each client, or the API behind it, refuses.
const rules = {
  "claude-code": (tool) => {
    check(/^[a-zA-Z0-9_-]{1,64}$/.test(`mcp__proxy__${tool.name}`), `name: ${tool.name}`);
    for (const union of ["anyOf", "oneOf", "allOf"]) check(!(union in tool.inputSchema), `${tool.name}: ${union}`);
    for (const key of Object.keys(tool.inputSchema.properties ?? {})) {
      check(/^[a-zA-Z0-9_.-]{1,64}$/.test(key), `${tool.name}: property ${key}`);
    }
    check((tool.description ?? "").length <= 2048, `${tool.name}: description`);
  },
  "gemini-cli-mcp-client": (tool) => {
    check(/^[a-zA-Z_][a-zA-Z0-9_\-.:]{0,62}$/.test(`mcp_proxy_${tool.name}`), `name: ${tool.name}`);
    nested(tool.inputSchema, (schema, at) => {
      const refused = ["$ref", "$schema", "$id", "const", "if", "not", "patternProperties", "propertyNames", "dependentRequired"];
      for (const keyword of refused) check(!(keyword in schema), `${tool.name}: ${at} has ${keyword}`);
      check(!Array.isArray(schema.type), `${tool.name}: ${at} has types`);
      check(schema.type !== "array" || typeof schema.items === "object", `${tool.name}: ${at} has no items`);
      check((schema.enum ?? []).every((value) => typeof value === "string"), `${tool.name}: ${at} has an enum`);
    });
  },
  "Visual Studio Code": (tool) => {
    check(`mcp_proxy_${tool.name}`.length <= 64, `name: ${tool.name}`);
    check(typeof tool.inputSchema.properties === "object", `${tool.name}: no properties`);
    nested(tool.inputSchema, (schema, at) => {
      check(schema.type !== "array" || schema.items, `${tool.name}: ${at}: tool parameters array type must have items`);
    });
  },
  "codex-mcp-client": (tool) => {
    check(`mcp__proxy__${tool.name}`.length <= 64, `name: ${tool.name}`);
    check(typeof tool.inputSchema.properties === "object", `${tool.name}: no properties`);
  },
};
tools.forEach(rules[name]);
check(new Set(tools.map((tool) => tool.name)).size === tools.length, "two tools have one name");

// The calls, with the names of the list.
const calls = JSON.parse(callsText).map((call) => {
  const tool = tools.find((tool) => tool.name.startsWith(call.tool.slice(0, 20)));
  if (!tool) throw new Error(`no tool ${call.tool} in ${tools.map((tool) => tool.name)}`);
  const properties = Object.entries(tool.inputSchema.properties ?? {});
  const listed = (key) => properties.find(([, property]) => property.description === `P:${key}`)?.[0] ?? key;
  const named = Object.entries(call.arguments).map(([key, value]) => [listed(key), value]);
  return { name: tool.name, arguments: Object.fromEntries(named) };
});

let answers;
if (name.startsWith("gemini")) {
  // The SDK of Gemini sends the declarations to an API that answers with the calls, one after the other.
  const seen = [];
  const replies = calls.map((call) => ({ functionCall: { name: call.name, args: call.arguments } })).concat({ text: "done" });
  const api = http.createServer((request, response) => {
    let text = "";
    request.on("data", (part) => { text += part; });
    request.on("end", () => {
      const body = JSON.parse(text);
      seen.push(body);
      const declared = body.tools.flatMap((tool) => tool.functionDeclarations);
      check(declared.length === tools.length, `${declared.length} declarations`);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ candidates: [{ content: { role: "model", parts: [replies.shift()] } }] }));
    });
  });
  await new Promise((resolve) => api.listen(0, "127.0.0.1", resolve));
  const { mcpToTool } = await load("@google/genai/dist/node/index.mjs");
  const gemini = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: `http://127.0.0.1:${api.address().port}` } });
  await gemini.models.generateContent({ model: "any", contents: "call", config: { tools: [mcpToTool(client)] } });
  api.close();
  const responses = seen.at(-1).contents.flatMap((content) => content.parts).filter((part) => part.functionResponse);
  answers = responses.map((part) => part.functionResponse.response);
} else {
  answers = [];
  for (const call of calls) answers.push(await client.callTool(call));
}
await client.close();
console.log(JSON.stringify({ tools: tools.length, faults, answers }));
