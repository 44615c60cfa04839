// The filter of the calls: `server:github tool:search user:ann error: >500ms words`. All terms must match.

const UNITS = { ms: 1, s: 1000, m: 60000 };
const FIELDS = {
  server: (call) => [call.server, ...(call.serverCalls ?? []).map((child) => child.server)],
  tool: (call) => [call.name],
  user: (call) => [call.user],
  client: (call) => [call.client],
  method: (call) => [call.method],
  outcome: (call) => [call.outcome],
  source: (call) => [call.source],
  error: (call) => (hasFailed(call) ? [call.outcome, call.error, call.refusal?.why, call.refusal?.at] : []),
};

/** Whether a call ended otherwise than it should. */
export const hasFailed = (call) => !['ok', 'asked', 'cancelled'].includes(call.outcome);

/** Returns a function that tells whether a call matches. */
export function callFilter(text) {
  const terms = (text.match(/(?:"[^"]*"?|\S)+/g) ?? []).map(term);
  return (call) => terms.every((matches) => matches(call));
}

function term(text) {
  if (text.length > 1 && text.startsWith('-')) {
    const matches = term(text.slice(1));
    return (call) => !matches(call);
  }
  const time = /^([<>])=?([0-9]+(?:\.[0-9]+)?)(ms|s|m)?$/.exec(text);
  if (time) {
    const limit = Number(time[2]) * UNITS[time[3] ?? 'ms'];
    return time[1] === '>' ? (call) => call.ms >= limit : (call) => call.ms <= limit;
  }
  const [, field, value] = /^([a-z]+):(.*)$/s.exec(text) ?? [];
  if (field && Object.hasOwn(FIELDS, field)) {
    const wanted = unquoted(value);
    return (call) => FIELDS[field](call).some((actual) => contains(actual, wanted));
  }
  const word = unquoted(text);
  const all = [FIELDS.tool, FIELDS.server, FIELDS.user, FIELDS.client, FIELDS.method, FIELDS.outcome];
  return (call) => all.some((read) => read(call).some((actual) => contains(actual, word)));
}

const unquoted = (text) => text.replaceAll('"', '').toLowerCase();
const contains = (actual, wanted) =>
  actual !== null && actual !== undefined && String(actual).toLowerCase().includes(wanted);

/** Returns a function that tells whether any of some texts contains every word. */
export function wordFilter(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (...texts) => {
    const all = texts.join('\n').toLowerCase();
    return words.every((word) => all.includes(word));
  };
}
