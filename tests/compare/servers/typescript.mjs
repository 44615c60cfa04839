// What the servers on the versions of the TypeScript SDK have in common: one item for everything that the comparison looks
// at. They run in the folder where their SDK is installed.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.cwd()}/`);
export const load = name => import(pathToFileURL(require.resolve(name)).href);

export const IDENTITY = [
  { name: 'compared', version: '1.0.0' },
  { capabilities: { logging: {} }, instructions: 'Everything that the comparison looks at.' },
];
export const text = value => ({ content: [{ type: 'text', text: value }] });
const names = value => ['ann', 'anna', 'bob'].filter(name => name.startsWith(value));

// The questions: the params, and what the tool shows of the answer.
const requestedSchema = { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] };
const messages = [{ role: 'user', content: { type: 'text', text: 'Say a word.' } }];
const QUESTIONS = {
  ask_form: ['Asks for a colour.', { message: 'Which colour?', requestedSchema }, answer => `${answer.action} ${answer.content?.colour}`],
  ask_model: ["Asks the client's model.", { messages, maxTokens: 8 }, answer => answer.content.text],
  ask_folders: ["Asks for the client's folders.", undefined, answer => answer.roots.map(root => root.uri).join(' ')],
};

// `version` is what the SDK's versions do differently: `schema` makes an input schema of a shape, `meta`, `notify` and `log`
// use the context of a call, and `asking` makes a tool's function of a question.
export function register(server, { z, ResourceTemplate, completable }, version) {
  const { schema, meta, notify, log, asking } = version;
  server.registerTool(
    'add',
    {
      title: 'Add',
      description: 'Adds two numbers.',
      inputSchema: schema({ a: z.number(), b: z.number() }),
      outputSchema: schema({ sum: z.number() }),
    },
    async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  );
  server.registerTool('fail', { description: 'Fails.', inputSchema: schema({ reason: z.string() }) }, async ({ reason }) => {
    throw new Error(reason);
  });
  server.registerTool('report', { description: 'Reports progress.' }, async context => {
    const progressToken = meta(context)?.progressToken;
    for (const progress of progressToken === undefined ? [] : [1, 2, 3]) {
      const params = { progressToken, progress, total: 3, message: `step ${progress}` };
      await notify(context, { method: 'notifications/progress', params });
    }
    return text('reported');
  });
  server.registerTool('tell', { description: 'Writes log messages.' }, async context => {
    for (const [level, data] of [['debug', 'details'], ['info', 'begun'], ['warning', 'careful']]) {
      await log(context, level, data, 'compared');
    }
    return text('told');
  });
  for (const [name, [description, params, shown]] of Object.entries(QUESTIONS)) {
    server.registerTool(name, { description }, asking(name, params, answer => text(shown(answer))));
  }
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
    { description: 'Greets somebody.', argsSchema: schema({ who: completable(z.string(), names) }) },
    ({ who }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${who}.` } }] }),
  );
  return server;
}
