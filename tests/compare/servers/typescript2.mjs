// A server on the TypeScript SDK 2, in both eras.
import { IDENTITY, load, register } from './typescript.mjs';

const sdk = '@modelcontextprotocol/server';
const { McpServer, ResourceTemplate, completable, inputRequired } = await load(sdk);
const { serveStdio } = await load(`${sdk}/stdio`);
const { z } = await load('zod');

// In the way of the multi-round-trip: the SDK itself asks a client that has a session.
const question = {
  ask_form: params => inputRequired.elicit(params),
  ask_model: params => inputRequired.createMessage(params),
  ask_folders: params => inputRequired.listRoots(params),
};
const version = {
  schema: shape => z.object(shape),
  meta: context => context.mcpReq._meta,
  notify: (context, notification) => context.mcpReq.notify(notification),
  log: (context, level, data, logger) => context.mcpReq.log(level, data, logger),
  asking: (name, params, shown) => async context => {
    const answer = context.mcpReq.inputResponses?.answer;
    return answer === undefined ? inputRequired({ inputRequests: { answer: question[name](params) } }) : shown(answer);
  },
};
serveStdio(() => register(new McpServer(...IDENTITY), { z, ResourceTemplate, completable }, version));
