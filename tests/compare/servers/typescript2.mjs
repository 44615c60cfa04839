// A server on the TypeScript SDK 2, in both eras, with one item for everything that the comparison looks at. Run in the
// folder where the SDK is installed.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.cwd()}/`);
const load = name => import(pathToFileURL(require.resolve(name)).href);
const sdk = '@modelcontextprotocol/server';
const { McpServer, ResourceTemplate, completable, inputRequired } = await load(sdk);
const { serveStdio } = await load(`${sdk}/stdio`);
const { z } = await load('zod');

const text = value => ({ content: [{ type: 'text', text: value }] });
const names = value => ['ann', 'anna', 'bob'].filter(name => name.startsWith(value));

function make() {
  const server = new McpServer(
    { name: 'compared', version: '1.0.0' },
    { capabilities: { logging: {} }, instructions: 'Everything that the comparison looks at.' },
  );
  server.registerTool(
    'add',
    {
      title: 'Add',
      description: 'Adds two numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  );
  server.registerTool('fail', { description: 'Fails.', inputSchema: z.object({ reason: z.string() }) }, async ({ reason }) => {
    throw new Error(reason);
  });
  server.registerTool('report', { description: 'Reports progress.' }, async context => {
    const progressToken = context.mcpReq._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [1, 2, 3]) {
      const params = { progressToken, progress, total: 3, message: `step ${progress}` };
      await context.mcpReq.notify({ method: 'notifications/progress', params });
    }
    return text('reported');
  });
  server.registerTool('tell', { description: 'Writes log messages.' }, async context => {
    for (const [level, data] of [['debug', 'details'], ['info', 'begun'], ['warning', 'careful']]) {
      await context.mcpReq.log(level, data, 'compared');
    }
    return text('told');
  });
  // One question each, in the way of the multi-round-trip: the SDK itself asks a client that has a session.
  const asks = (name, description, question, shown) =>
    server.registerTool(name, { description }, async context => {
      const answer = context.mcpReq.inputResponses?.answer;
      return answer === undefined ? inputRequired({ inputRequests: { answer: question } }) : text(shown(answer));
    });
  const requestedSchema = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] };
  const form = inputRequired.elicit({ message: 'Which colour?', requestedSchema });
  asks('ask_form', 'Asks for a colour.', form, answer => `${answer.action} ${answer.content?.colour}`);
  const messages = [{ role: 'user', content: { type: 'text', text: 'Say a word.' } }];
  const sampling = inputRequired.createMessage({ messages, maxTokens: 8 });
  asks('ask_model', "Asks the client's model.", sampling, answer => answer.content.text);
  const folders = inputRequired.listRoots();
  asks('ask_folders', "Asks for the client's folders.", folders, answer => answer.roots.map(root => root.uri).join(' '));
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
    { description: 'Greets somebody.', argsSchema: z.object({ who: completable(z.string(), names) }) },
    ({ who }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${who}.` } }] }),
  );
  return server;
}

serveStdio(make);
