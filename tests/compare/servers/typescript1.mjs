// A server on the TypeScript SDK 1, with one item for everything that the comparison looks at. Run in the folder where the
// SDK is installed.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.cwd()}/`);
const load = name => import(pathToFileURL(require.resolve(name)).href);
const sdk = '@modelcontextprotocol/sdk';
const { McpServer, ResourceTemplate } = await load(`${sdk}/server/mcp.js`);
const { StdioServerTransport } = await load(`${sdk}/server/stdio.js`);
const { completable } = await load(`${sdk}/server/completable.js`);
const { z } = await load('zod');

const server = new McpServer(
  { name: 'compared', version: '1.0.0' },
  { capabilities: { logging: {} }, instructions: 'Everything that the comparison looks at.' },
);
const text = value => ({ content: [{ type: 'text', text: value }] });
const names = value => ['ann', 'anna', 'bob'].filter(name => name.startsWith(value));

server.registerTool(
  'add',
  { title: 'Add', description: 'Adds two numbers.', inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
  async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
);
server.registerTool('fail', { description: 'Fails.', inputSchema: { reason: z.string() } }, async ({ reason }) => {
  throw new Error(reason);
});
server.registerTool('report', { description: 'Reports progress.' }, async extra => {
  const progressToken = extra._meta?.progressToken;
  for (const progress of progressToken === undefined ? [] : [1, 2, 3]) {
    const params = { progressToken, progress, total: 3, message: `step ${progress}` };
    await extra.sendNotification({ method: 'notifications/progress', params });
  }
  return text('reported');
});
server.registerTool('tell', { description: 'Writes log messages.' }, async extra => {
  for (const [level, data] of [['debug', 'details'], ['info', 'begun'], ['warning', 'careful']]) {
    await extra.sendNotification({ method: 'notifications/message', params: { level, logger: 'compared', data } });
  }
  return text('told');
});
server.registerTool('ask_form', { description: 'Asks for a colour.' }, async () => {
  const properties = { colour: { type: 'string' } };
  const requestedSchema = { type: 'object', properties, required: ['colour'] };
  const answer = await server.server.elicitInput({ message: 'Which colour?', requestedSchema });
  return text(`${answer.action} ${answer.content?.colour}`);
});
server.registerTool('ask_model', { description: "Asks the client's model." }, async () => {
  const messages = [{ role: 'user', content: { type: 'text', text: 'Say a word.' } }];
  return text((await server.server.createMessage({ messages, maxTokens: 8 })).content.text);
});
server.registerTool('ask_folders', { description: "Asks for the client's folders." }, async () => {
  return text((await server.server.listRoots()).roots.map(root => root.uri).join(' '));
});
server.registerResource('greeting', 'memo://greeting', { mimeType: 'text/plain' }, async uri => ({
  contents: [{ uri: uri.href, text: 'hello', mimeType: 'text/plain' }],
}));
server.registerResource(
  'note',
  new ResourceTemplate('memo://notes/{name}', { list: undefined, complete: { name: names } }),
  { description: 'A note.' },
  async (uri, { name }) => ({ contents: [{ uri: uri.href, text: `the note ${name}` }] }),
);
server.registerPrompt(
  'greet',
  { description: 'Greets somebody.', argsSchema: { who: completable(z.string(), names) } },
  ({ who }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${who}.` } }] }),
);
await server.connect(new StdioServerTransport());
