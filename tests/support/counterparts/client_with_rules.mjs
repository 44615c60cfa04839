// A client by the name of another: it lists a server's tools over the MCP SDK, checks them as that client and the API behind
// it do, and calls some of them. Arguments: the folder with the packages, the address, the client's name, and the calls as
// JSON: a list of `{"tool": BEGINNING OF ITS NAME, "arguments": {...}}` under the published names. A property says its
// published name in its description, as `P:NAME`.
import http from "node:http";
import { pathToFileURL } from "node:url";
import { faultsOf } from "./client_rules.mjs";

const [modules, address, name, callsText] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/${path}`));
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client/dist/index.mjs");
const { default: Ajv } = await load("ajv/dist/ajv.js");
const { default: Ajv2020 } = await load("ajv/dist/2020.js");
const { GoogleGenAI } = await load("@google/genai/dist/node/index.mjs");

const client = new Client({ name, version: "1.0.0" }, { versionNegotiation: { mode: "legacy" } });
await client.connect(new StreamableHTTPClientTransport(new URL(address)));
const { tools } = await client.listTools();
const faults = faultsOf(name, tools, [Ajv.default ?? Ajv, Ajv2020.default ?? Ajv2020]);
const check = (holds, fault) => { if (!holds) faults.push(fault); };

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
