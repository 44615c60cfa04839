// The API of a model that calls tools as it is told: the one of Gemini, and both of OpenAI. It says on stderr where it listens,
// and at `/report` what it was sent. Argument: the calls as JSON, a list of `{"tool": PART OF ITS NAME, "arguments": {...}}`
// under the published names. A property says its published name in its description, as `P:NAME`.
import http from "node:http";

const calls = JSON.parse(process.argv[2]);
const report = { requests: 0, tools: [], results: [] };

/** The next call in the names that the client declared; `undefined` if there are no more. */
const next = (declared, results) => {
  report.requests += 1;
  report.tools = declared;
  report.results = results;
  const call = calls[results.length];
  if (call === undefined) return undefined;
  const tool = declared.find((tool) => tool.name.includes(call.tool.slice(0, 20)));
  if (tool === undefined) throw new Error(`no tool ${call.tool} in ${declared.map((tool) => tool.name)}`);
  const properties = Object.entries(tool.schema?.properties ?? {});
  const named = (key) => properties.find(([, property]) => property.description === `P:${key}`)?.[0] ?? key;
  return { ...tool, args: Object.fromEntries(Object.entries(call.arguments).map(([key, value]) => [named(key), value])) };
};

const events = (response, list) => {
  response.setHeader("content-type", "text/event-stream");
  response.end(list.map((event) => (event.type ? `event: ${event.type}\n` : "") + `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join(""));
};

const gemini = (body, response, isStream) => {
  const declared = (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? [])
    .map((tool) => ({ name: tool.name, description: tool.description, schema: tool.parametersJsonSchema ?? tool.parameters }));
  const results = body.contents.flatMap((content) => content.parts).filter((part) => part.functionResponse)
    .map((part) => JSON.stringify(part.functionResponse.response));
  // Requests without tools are the client's own questions.
  const call = declared.length > 0 ? next(declared, results) : undefined;
  const part = call ? { functionCall: { name: call.name, args: call.args } } : { text: declared.length > 0 ? "done" : "{}" };
  const answer = {
    candidates: [{ index: 0, content: { role: "model", parts: [part] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  };
  if (isStream) return events(response, [answer]);
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(answer));
};

const responses = (body, response) => {
  // Servers' tools may be grouped by server.
  const declared = (body.tools ?? []).flatMap((tool) => (tool.type === "namespace"
    ? tool.tools.map((inner) => ({ namespace: tool.name, name: inner.name, schema: inner.parameters }))
    : [{ name: tool.name ?? tool.type, schema: tool.parameters }]));
  const results = body.input.filter((item) => item.type === "function_call_output")
    .map((item) => (typeof item.output === "string" ? item.output : JSON.stringify(item.output)));
  const call = next(declared, results);
  const id = `${report.requests}`;
  const item = call
    ? { type: "function_call", id: `fc_${id}`, call_id: `call_${id}`, name: call.name, namespace: call.namespace, arguments: JSON.stringify(call.args) }
    : { type: "message", id: `msg_${id}`, role: "assistant", content: [{ type: "output_text", text: "done", annotations: [] }] };
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2, input_tokens_details: null, output_tokens_details: null };
  events(response, [
    { type: "response.created", response: { id: `resp_${id}` } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { id: `resp_${id}`, output: [item], usage } },
  ]);
};

const completions = (body, response) => {
  const declared = (body.tools ?? []).map(({ function: tool }) => ({ name: tool.name, description: tool.description, schema: tool.parameters }));
  const results = body.messages.filter((message) => message.role === "tool").map((message) => message.content);
  const call = declared.length > 0 ? next(declared, results) : undefined;
  const delta = call
    ? { role: "assistant", tool_calls: [{ index: 0, id: `call_${report.requests}`, type: "function", function: { name: call.name, arguments: JSON.stringify(call.args) } }] }
    : { role: "assistant", content: "done" };
  const chunk = (choice) => ({ id: "c", object: "chat.completion.chunk", created: 1, model: body.model, choices: [{ index: 0, ...choice }] });
  events(response, [chunk({ delta, finish_reason: null }), chunk({ delta: {}, finish_reason: call ? "tool_calls" : "stop" }), "[DONE]"]);
};

const server = http.createServer((request, response) => {
  let text = "";
  request.on("data", (part) => { text += part; });
  request.on("end", () => {
    try {
      if (request.url === "/report") return response.end(JSON.stringify(report));
      if (request.method !== "POST") return response.writeHead(404).end();
      const body = JSON.parse(text);
      if (request.url.includes(":countTokens")) return response.end(JSON.stringify({ totalTokens: 1 }));
      if (request.url.includes("enerateContent")) return gemini(body, response, request.url.includes(":stream"));
      if (request.url.endsWith("/responses")) return responses(body, response);
      if (request.url.endsWith("/chat/completions")) return completions(body, response);
      return response.writeHead(404).end();
    } catch (error) {
      report.error = `${error.message}`;
      return response.writeHead(400).end(JSON.stringify({ error: { message: error.message } }));
    }
  });
});
server.listen(0, "127.0.0.1", () => console.error(`listening on http://127.0.0.1:${server.address().port}`));
