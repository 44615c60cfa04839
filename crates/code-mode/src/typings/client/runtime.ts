const PROTOCOL_VERSION = "2026-07-28";

/** How to reach the proxy: its URL, or else a command that serves on its standard input and output. */
export interface ClientOptions {
  /** Such as `http://127.0.0.1:8080/mcp`. The default is the variable PROXY_URL. */
  url?: string;
  /** A bearer token, for a URL. The default is the variable PROXY_TOKEN. */
  token?: string;
  /** Further headers, for a URL. */
  headers?: Record<string, string>;
  /** Started if there is no URL. The default is `["proxy", "serve"]`. */
  command?: string[];
  /** How long a call may take, in milliseconds. The default is 60,000. */
  timeout?: number;
}

/** A call failed: the tool says why, or the proxy has refused it. */
export class ToolError extends Error {
  /** The result of a tool that failed. */
  readonly result: unknown;
  /** The code of a JSON-RPC error. */
  readonly code: number | undefined;

  constructor(message: string, result?: unknown, code?: number) {
    super(message);
    this.name = "ToolError";
    this.result = result;
    this.code = code;
  }
}

/** Calls the tools of one proxy. */
export class Client {
  readonly #connection: Connection;

  constructor(options: ClientOptions = {}) {
    const url = options.url ?? variable("PROXY_URL");
    const timeout = options.timeout ?? 60_000;
    this.#connection = url === undefined
      ? new ChildConnection(options.command ?? ["proxy", "serve"], timeout)
      : new HttpConnection(url, options.token ?? variable("PROXY_TOKEN"), options.headers ?? {}, timeout);
  }

  /** Calls any tool by its name. `headers` has the arguments that are also sent as headers. */
  async callTool(name: string, args: unknown, headers: ReadonlyArray<HeaderArgument> = []): Promise<unknown> {
    const result = await this.#connection.request("tools/call", { name, arguments: args ?? {} }, headers);
    return output(result);
  }

  /** Ends the connection. A proxy that was started for it ends too. */
  close(): void {
    this.#connection.close();
  }
}

let shared: Client | undefined;

/** The client of functions that are called without one. */
export function sharedClient(): Client {
  shared ??= new Client();
  return shared;
}

/** The keys that lead to an argument, and the end of the name of its header. */
type HeaderArgument = readonly [path: ReadonlyArray<string>, suffix: string];

interface Connection {
  request(method: string, params: Members, headers: ReadonlyArray<HeaderArgument>): Promise<unknown>;
  close(): void;
}

type Members = Record<string, unknown>;

// Node's own modules and globals, without their type declarations: these may not be installed.
const runtime = globalThis as any;
const NODE_PROCESSES: string = "node:child_process";

class HttpConnection implements Connection {
  readonly #url: string;
  readonly #token: string | undefined;
  readonly #headers: Record<string, string>;
  readonly #timeout: number;

  constructor(url: string, token: string | undefined, headers: Record<string, string>, timeout: number) {
    this.#url = url;
    this.#token = token;
    this.#headers = headers;
    this.#timeout = timeout;
  }

  async request(method: string, params: Members, headers: ReadonlyArray<HeaderArgument>): Promise<unknown> {
    const message = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta() } };
    const all: Record<string, string> = {
      ...this.#headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": PROTOCOL_VERSION,
      "mcp-method": method,
      "mcp-name": headerValue(String(params["name"])),
    };
    for (const [path, suffix] of headers) {
      const value = path.reduce<any>((value, key) => value?.[key], params["arguments"]);
      if (value !== undefined && value !== null) all[`mcp-param-${suffix}`] = headerValue(String(value));
    }
    if (this.#token !== undefined) all["authorization"] = `Bearer ${this.#token}`;
    let response: any;
    let text: string;
    try {
      const signal = runtime.AbortSignal.timeout(this.#timeout);
      response = await runtime.fetch(this.#url, { method: "POST", headers: all, body: JSON.stringify(message), signal });
      text = await response.text();
    } catch (error) {
      const reason = (error as any)?.cause?.message ?? (error as any)?.message ?? String(error);
      throw new ToolError(`no answer from ${this.#url}: ${reason}`);
    }
    const isStream = String(response.headers.get("content-type") ?? "").startsWith("text/event-stream");
    const answer = isStream ? answerInStream(text) : parsed(text);
    if (answer === undefined) throw new ToolError(`${this.#url} answered with HTTP ${response.status}: ${text.slice(0, 500)}`);
    return resultOf(answer);
  }

  close(): void {}
}

class ChildConnection implements Connection {
  readonly #command: string[];
  readonly #timeout: number;
  readonly #waiting = new Map<number, (answer: Members | Error) => void>();
  #child: Promise<any> | undefined;
  #last = 0;

  constructor(command: string[], timeout: number) {
    this.#command = command;
    this.#timeout = timeout;
  }

  async request(method: string, params: Members, _headers: ReadonlyArray<HeaderArgument>): Promise<unknown> {
    this.#child ??= this.#start();
    const child = await this.#child;
    const id = ++this.#last;
    const answer = new Promise<Members | Error>((resolve) => this.#waiting.set(id, resolve));
    const seconds = this.#timeout / 1000;
    const timer = runtime.setTimeout(() => this.#end(id, new ToolError(`no answer within ${seconds} s`)), this.#timeout);
    this.#hold(child);
    child.stdin.write(JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: meta() } }) + "\n");
    const got = await answer;
    runtime.clearTimeout(timer);
    this.#hold(child);
    if (got instanceof Error) throw got;
    return resultOf(got);
  }

  close(): void {
    void this.#child?.then((child) => child.stdin.end(), () => undefined);
  }

  async #start(): Promise<any> {
    const { spawn } = await import(NODE_PROCESSES);
    const [program, ...args] = this.#command;
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
    const fail = (reason: string) => {
      this.#child = undefined;
      for (const id of [...this.#waiting.keys()]) this.#end(id, new ToolError(`\`${this.#command.join(" ")}\` ${reason}`));
    };
    child.on("error", (error: Error) => fail(`cannot be started: ${error.message}`));
    child.on("exit", (code: number | null) => fail(`ended with code ${code}`));
    child.stdin.on("error", () => undefined);
    child.stdout.setEncoding("utf8");
    let rest = "";
    child.stdout.on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const message = parsed(line);
        if (message !== undefined && typeof message["id"] === "number") this.#end(message["id"], message);
      }
    });
    return child;
  }

  #end(id: number, answer: Members | Error): void {
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }

  /** A program ends although the proxy still runs, unless it waits for an answer. */
  #hold(child: any): void {
    const turn = this.#waiting.size > 0 ? "ref" : "unref";
    for (const part of [child, child.stdin, child.stdout]) part[turn]?.();
  }
}

function meta(): Members {
  return {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
    "io.modelcontextprotocol/clientInfo": { name: "typed-client", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
}

function variable(name: string): string | undefined {
  return runtime.process?.env?.[name] || undefined;
}

function parsed(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}

/** The answer among the events of a stream; the others are notifications. */
function answerInStream(text: string): Members | undefined {
  for (const event of text.split(/\r?\n\r?\n/)) {
    const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
    const message = parsed(lines.map((line) => line.slice(5).replace(/^ /, "")).join("\n"));
    if (message !== undefined && ("result" in message || "error" in message)) return message;
  }
  return undefined;
}

function resultOf(answer: Members): unknown {
  const error = answer["error"] as { message?: string; code?: number } | undefined;
  if (error) throw new ToolError(String(error.message ?? "the proxy has refused the call"), undefined, error.code);
  return answer["result"];
}

/** What a tool has returned: its structured content, its only text, or its whole content. */
function output(result: any): unknown {
  const content: any[] = Array.isArray(result?.content) ? result.content : [];
  const texts = content.filter((block) => block?.type === "text").map((block) => String(block.text));
  if (result?.isError) throw new ToolError(texts.join("\n") || "the tool failed", result);
  if (result?.resultType !== undefined && result.resultType !== "complete") {
    throw new ToolError("the tool asks its user something, which this client cannot answer", result);
  }
  if (result?.structuredContent !== undefined) return result.structuredContent;
  return content.length === 1 && texts.length === 1 ? texts[0] : content;
}

/** The value of a header: plain if it is printable ASCII, and otherwise in Base64. */
function headerValue(text: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(text) && text.trim() === text && !/^=\?base64\?.*\?=$/.test(text);
  if (isPlain) return text;
  const bytes: Uint8Array = new runtime.TextEncoder().encode(text);
  return `=?base64?${runtime.btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}
