// A host of MCP Apps on the SDK of the extension: it reads the interface of a tool from a server, runs its page, and lets a
// person click in it. Arguments: the folder with the packages, the address of the server, and `legacy` or the revision.
import { pathToFileURL } from "node:url";
import vm from "node:vm";

const [modules, address, revision] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/${path}`));
const { Client, StreamableHTTPClientTransport } = await load("client/dist/index.mjs");
const { AppBridge, RESOURCE_MIME_TYPE, getToolUiResourceUri } = await load("ext-apps/dist/src/app-bridge.js");

const mode = revision === "legacy" ? revision : { pin: revision };
const client = new Client(
  { name: "host", version: "1.0.0" },
  {
    versionNegotiation: { mode },
    capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } } },
  },
);
await client.connect(new StreamableHTTPClientTransport(new URL(address)));
const { tools } = await client.listTools();
const tool = tools.find((tool) => getToolUiResourceUri(tool) !== undefined);
const uri = getToolUiResourceUri(tool);
const page = (await client.readResource({ uri })).contents[0];
if (page.mimeType !== RESOURCE_MIME_TYPE) throw new Error(`not an app: ${page.mimeType}`);

// As much of a browser as the page needs.
class Element {
  children = [];
  listeners = {};
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; shown(); }
  addEventListener(kind, listener) { this.listeners[kind] = listener; }
}
let shown = () => {};
const nextPicture = () => new Promise((resolve) => { shown = resolve; });
const root = new Element();
const listeners = [];
const toPage = (data) => listeners.forEach((listener) => listener({ source: host, data }));
const transport = {
  start: async () => {},
  close: async () => {},
  send: async (message) => toPage(structuredClone(message)),
};
const host = { postMessage: (message) => queueMicrotask(() => transport.onmessage(structuredClone(message))) };
const window = { parent: host, addEventListener: (_, listener) => listeners.push(listener) };
const document = { getElementById: () => root, createElement: () => new Element() };

const bridge = new AppBridge(client, { name: "host", version: "1.0.0" }, { serverTools: {} });
const initialized = new Promise((resolve) => { bridge.oninitialized = resolve; });
await bridge.connect(transport);
vm.runInNewContext(/<script>([^]*)<\/script>/.exec(page.text)[1], { window, document });
await initialized;

const boxes = () => root.children.map((line) => line.children[0].children[0]);
let picture = nextPicture();
await bridge.sendToolInput({ arguments: {} });
await bridge.sendToolResult(await client.callTool({ name: tool.name, arguments: {} }));
await picture;
const before = boxes().map((box) => box.checked);
picture = nextPicture();
boxes()[0].checked = true;
boxes()[0].listeners.change();
await picture;
console.log(JSON.stringify({ tool: tool.name, uri, before, after: boxes().map((box) => box.checked) }));
process.exit(0);
