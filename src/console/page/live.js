// The state of the page. Events arrive continuously; the page is redrawn in animation frames, a few times a second, and
// not at all while it is hidden.

import { useEffect, useState } from './preact.js';
import { follow, get } from './api.js';
import { hasFailed } from './filter.js';

const MAX_CALLS = 500;
const RETRY_MS = 2000;
const REFRESH_MS = 5000;
const SETTLE_MS = 300;
/** The time between two drawings: a person reads no faster. */
const DRAW_MS = 120;

/** The state of the page. It is replaced as a whole after each connection. */
export const live = {
  connection: 'connecting',
  /** The error that ended the session or the connection. */
  problem: null,
  status: null,
  surface: null,
  surfaceError: null,
  operations: new Map(),
  script: null,
  scriptError: null,
  /** Newest first. */
  calls: [],
  seen: 0,
  failed: 0,
  dropped: 0,
  /** Whose surface is shown; empty for the user who runs the proxy. */
  user: '',
  /** Whether to show the surface of a client that supports elicitation: some servers offer it more tools. */
  canBeAsked: false,
};

/** The elicitation modes that this page supports, as MCP client capabilities. */
export const CAPABILITIES = '{"elicitation":{"form":{},"url":{}}}';

const listeners = new Set();
let isWaiting = false;
let drawn = 0;
let arrived = [];

/** Draws what has changed, in one of the next frames. */
export function changed() {
  if (isWaiting || document.hidden) return;
  isWaiting = true;
  const draw = () =>
    requestAnimationFrame(() => {
      isWaiting = false;
      drawn = performance.now();
      takeArrived();
      listeners.forEach((listener) => listener({}));
    });
  const wait = drawn + DRAW_MS - performance.now();
  if (wait > 0) setTimeout(draw, wait);
  else draw();
}

/** Draws a component whenever something has changed. */
export function useLive() {
  const [, draw] = useState({});
  useEffect(() => {
    listeners.add(draw);
    return () => listeners.delete(draw);
  }, []);
  return live;
}

function takeArrived() {
  if (!arrived.length) return;
  const ids = new Set(arrived.map((call) => call.id));
  live.calls = [...arrived.reverse(), ...live.calls.filter((call) => !ids.has(call.id))].slice(0, MAX_CALLS);
  arrived = [];
}

function onEvent(event) {
  if (event.call) {
    live.seen++;
    if (hasFailed(event.call)) live.failed++;
    arrived.push(event.call);
    if (arrived.length > 2 * MAX_CALLS) arrived = arrived.slice(-MAX_CALLS);
  } else if (event.dropped) {
    live.dropped += event.dropped;
  } else if (event.server) {
    const server = live.status?.servers.find((one) => one.name === event.server.name);
    if (server) Object.assign(server, { status: event.server.status, error: event.server.error });
    settle();
  } else if (event.reload) {
    settle();
  }
  changed();
}

let settling = 0;
/** Reads everything again shortly after the last of several changes. */
function settle() {
  clearTimeout(settling);
  settling = setTimeout(() => Promise.all([loadStatus(), loadSurface(), loadScript()]).catch(() => {}), SETTLE_MS);
}

export async function loadStatus() {
  const [status, { operations }] = await Promise.all([
    get('status'),
    get('operations').catch(missing({ operations: [] })),
  ]);
  live.status = status;
  live.operations = new Map(operations.filter((one) => one.method === 'tools/call').map((one) => [one.name, one]));
  changed();
}

let wanted = 0;
export async function loadSurface() {
  const number = ++wanted;
  try {
    const surface = await get('surface', {
      histories: 'true',
      tokens: 'true',
      user: live.user,
      capabilities: live.canBeAsked && CAPABILITIES,
    });
    if (number === wanted) Object.assign(live, { surface, surfaceError: null });
  } catch (error) {
    if (number === wanted) Object.assign(live, { surface: null, surfaceError: error });
  }
  changed();
}

export async function loadScript() {
  try {
    live.script = await get('script');
    live.scriptError = null;
  } catch (error) {
    live.scriptError = error;
  }
  changed();
}

/** Shows the surface of another user, or of another kind of client. */
export function viewAs(visitor) {
  Object.assign(live, { ...visitor, surface: null, surfaceError: null });
  changed();
  return loadSurface();
}

async function loadCalls() {
  const { calls } = await get('calls');
  takeArrived();
  const later = live.calls.filter((call) => !calls.some((kept) => kept.id === call.id));
  live.calls = [...later, ...calls.reverse()].slice(0, MAX_CALLS);
  Object.assign(live, { seen: live.calls.length, failed: live.calls.filter(hasFailed).length });
  changed();
}

/** The substitute for an answer from an older proxy that does not have a path. */
const missing = (value) => (error) => {
  if (error.status === 404) return value;
  throw error;
};

/** Follows the proxy for as long as the page is open. Returns when the session is over. */
export async function run() {
  document.addEventListener('visibilitychange', onVisibility);
  setInterval(() => {
    if (live.connection === 'live' && !document.hidden) loadStatus().catch(() => {});
    if (document.hidden) document.title = `${live.seen} calls, ${live.failed} failed`;
  }, REFRESH_MS);
  for (;;) {
    try {
      await follow('events', { onEvent, onOpen: () => void reload() });
      live.problem = null;
    } catch (error) {
      live.problem = error;
      if (error.status === 401) live.connection = 'over';
    }
    if (live.connection !== 'over') live.connection = 'lost';
    changed();
    if (live.connection === 'over') return;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Replaces everything by what the proxy says now. */
async function reload() {
  Object.assign(live, { connection: 'live', problem: null, calls: [], seen: 0, failed: 0, dropped: 0 });
  arrived = [];
  const loads = [loadStatus(), loadCalls(), loadSurface(), loadScript()];
  const failures = (await Promise.allSettled(loads)).filter((load) => load.status === 'rejected');
  if (failures.length) live.problem = failures[0].reason;
  changed();
}

function onVisibility() {
  if (document.hidden) return;
  document.title = 'Proxy console';
  changed();
  if (live.connection === 'live') loadStatus().catch(() => {});
}
