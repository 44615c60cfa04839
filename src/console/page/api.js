// The HTTP API of the console, with the token of this browser tab. There are no cookies: any other local web page on another
// port would receive them.

import { parse } from './json.js';
import { readEvents } from './sse.js';

const TOKEN = 'proxy-console-token';

/** An answer that is not a success. */
export class ApiError extends Error {
  constructor(status, message, hint = '') {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

/** Swaps the one-time code in the address for a token, and removes the code from the address. */
export async function signIn() {
  const code = location.hash.slice(1);
  if (code && !code.startsWith('/')) {
    history.replaceState(null, '', '/');
    sessionStorage.removeItem(TOKEN);
    const body = JSON.stringify({ code: decodeURIComponent(code) });
    const response = await request('/api/session', { method: 'POST', body });
    sessionStorage.setItem(TOKEN, (await response.json()).token);
  }
  if (!sessionStorage.getItem(TOKEN)) {
    throw new ApiError(
      401,
      'This page needs an address with a one-time code',
      'Press Enter in the terminal where `proxy console` runs, and open the new address.',
    );
  }
}

async function request(path, options = {}) {
  const headers = {};
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (options.method === 'POST') headers['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: 'no-store' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'The console does not answer', 'Is `proxy console` still running?');
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new ApiError(response.status, said.error ?? `HTTP ${response.status}`, said.hint);
}

/** The JSON of a GET. */
export async function get(path, parameters = {}) {
  const present = Object.entries(parameters).filter(([, value]) => value);
  const query = new URLSearchParams(present).toString();
  const response = await request(`/api/${path}${query && `?${query}`}`);
  return parse(await response.text());
}

/** The JSON of a POST with a body that is JSON text. */
export async function post(path, body = '{}') {
  const response = await request(`/api/${path}`, { method: 'POST', body });
  return parse(await response.text());
}

/** Follows an event stream to its end. `onOpen` is called when events can arrive. */
export async function follow(path, { body, signal, onOpen, onEvent }) {
  const response = await request(`/api/${path}`, { method: body ? 'POST' : 'GET', body, signal });
  onOpen?.();
  await readEvents(response, (data) => onEvent(parse(data), data.length));
}
