// A server on the TypeScript SDK 1.
import { IDENTITY, load, register } from './typescript.mjs';

const sdk = '@modelcontextprotocol/sdk';
const { McpServer, ResourceTemplate } = await load(`${sdk}/server/mcp.js`);
const { StdioServerTransport } = await load(`${sdk}/server/stdio.js`);
const { completable } = await load(`${sdk}/server/completable.js`);
const { z } = await load('zod');

const server = new McpServer(...IDENTITY);
const ask = {
  ask_form: params => server.server.elicitInput(params),
  ask_model: params => server.server.createMessage(params),
  ask_folders: params => server.server.listRoots(params),
};
register(server, { z, ResourceTemplate, completable }, {
  schema: shape => shape,
  meta: extra => extra._meta,
  notify: (extra, notification) => extra.sendNotification(notification),
  log: (extra, level, data, logger) =>
    extra.sendNotification({ method: 'notifications/message', params: { level, logger, data } }),
  asking: (name, params, shown) => async () => shown(await ask[name](params)),
});
await server.connect(new StdioServerTransport());
