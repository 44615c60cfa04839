// A client on the TypeScript SDK that writes a policy as a model would: it reads the catalog, drafts a script and a test, corrects
// the test, looks at the difference, and saves. Arguments: the folder with the packages, the era (`legacy` or `auto`), and the
// server to start as JSON.
import { pathToFileURL } from "node:url";

const [modules, mode, server] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/client/dist/${path}`));
const { Client } = await load("index.mjs");
const { StdioClientTransport } = await load("stdio.mjs");

const client = new Client({ name: "writer", version: "1.0.0" }, { versionNegotiation: { mode } });
await client.connect(new StdioClientTransport(JSON.parse(server)));
const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  return result.structuredContent ?? result.content[0].text;
};

const { tools } = await client.listTools();
const catalog = await call("catalog", {});
const names = catalog.items.filter((item) => item.kind === "tool").map((item) => item.name);
const kept = names.filter((name) => name !== "notify");
await call("reference", { name: "publish" });
const policy = `
for _, server in backends().items():
    for meta, call in server.tools():
        if meta.name != "notify":
            publish(meta, call)
`;
const test = (expected) => `
def test_notify_is_hidden():
    fake = testing.backend(tools = [testing.tool(name) for name in ${JSON.stringify(names)}])
    s = testing.session(script = "policy.star", backends = {"fake": fake})
    testing.eq(sorted(s.tool_names()), sorted(${JSON.stringify(expected)}))
`;
const files = (expected) => ({ "policy.star": policy, "policy_test.star": test(expected) });
const check = await call("check", { files: files(kept) });
const first = await call("test", { files: files(names) });
const second = await call("test", { files: files(kept) });
const diff = await call("diff", { files: { "policy.star": policy } });
const saved = await call("save", { path: "policy.star", text: policy, replace: true });
await call("save", { path: "policy_test.star", text: test(kept) });
const counts = ({ passed, failed }) => ({ passed, failed });
console.log(JSON.stringify({
  revision: client.getNegotiatedProtocolVersion(), tools: tools.map((tool) => tool.name), check: check.ok, first: counts(first), second: counts(second),
  removed: diff.published.removed, saved,
}));
await client.close();
