// Live calls, and one call in detail.

import { html, useEffect, useMemo, useRef, useState } from '../preact.js';
import { get } from '../api.js';
import { callFilter, hasFailed } from '../filter.js';
import { bytes, clock, count, milliseconds, plural } from '../format.js';
import { stringify } from '../json.js';
import { useLive } from '../live.js';
import { address, go, leave } from '../navigation.js';
import { Badge, CopyButton, Facts, Panel, Problem, SearchField } from '../parts.js';
import { Table } from '../table.js';
import { Text, plain, shellWord, visibleJson } from '../text.js';
import { Json, LongText } from '../value.js';

/** The published name, and the method unless it is the usual one. */
const CallName = ({ call }) =>
  call.name === null
    ? html`<${Text} value=${call.method} limit=${80} />`
    : html`<${Text} value=${call.name} limit=${100} />
        ${call.method !== 'tools/call' && html`<span class="type"><${Text} value=${call.method} limit=${60} /></span>`}`;

const serverCallCount = (call) => plural(call.serverCalls.length + call.moreServerCalls, 'server call');

const COLUMNS = [
  {
    key: 'at',
    title: 'Time',
    className: 'time',
    cell: (call) => html`${clock(call.at).slice(0, 8)}<span class="low">${clock(call.at).slice(8)}</span>`,
  },
  {
    key: 'name',
    title: 'Call',
    className: 'name',
    value: (call) => call.name ?? call.method,
    cell: (call) => html`<${CallName} call=${call} />`,
  },
  {
    key: 'server',
    title: 'Server',
    className: 'low short',
    value: (call) => call.server ?? '',
    cell: (call) =>
      call.server === null ? html`<span class="none">–</span>` : html`<${Text} value=${call.server} limit=${40} />`,
  },
  {
    key: 'user',
    title: 'User',
    className: 'low short',
    value: (call) => call.user,
    cell: (call) => html`<${Text} value=${call.user} limit=${40} />`,
  },
  {
    key: 'client',
    title: 'Client',
    className: 'wide short',
    cell: (call) => html`<${Text} value=${call.client || call.source} limit=${40} />`,
  },
  {
    key: 'outcome',
    title: 'Outcome',
    className: 'outcome',
    value: (call) => call.outcome,
    cell: (call) => html`<${Badge} word=${call.outcome} />
      ${call.serverCalls.length > 1 && html`<span class="type">${serverCallCount(call)}</span>`}`,
  },
  {
    key: 'ms',
    title: 'Duration',
    className: 'number',
    value: (call) => Number(call.ms),
    cell: (call) => milliseconds(call.ms),
  },
  {
    key: 'bytes',
    title: 'Result',
    className: 'number low',
    value: (call) => call.bytesOut,
    cell: (call) => bytes(call.bytesOut),
  },
];

const rowName = (call) => `${plain(call.name ?? call.method)} at ${clock(call.at)}`;

export function Calls({ item }) {
  const { calls, seen, failed, dropped } = useLive();
  const [filter, setFilter] = useState('');
  const [paused, setPaused] = useState(null);
  const shown = paused ?? calls;
  const rows = useMemo(() => shown.filter(callFilter(filter)), [shown, filter]);
  const waiting = paused ? newerThan(calls, paused[0]) : 0;
  return html`<div class="main">
      <header class="head"><h1>Calls</h1><p class="summary"><${Counters} seen=${seen} failed=${failed} dropped=${dropped} />
        ${filter && html` · ${count(rows.length)} shown`}</p></header>
      <div class="toolbar">
        <${SearchField} label="Filter" placeholder="server:  tool:  user:  error:  >500ms   /" value=${filter} onChange=${setFilter} />
        <button type="button" aria-pressed=${paused ? 'true' : 'false'} onClick=${() => setPaused(paused ? null : calls)}>Pause</button>
        ${paused && html`<span class="waiting">${plural(waiting, 'new call')}</span>`}
      </div>
      <${Table} label="Calls" className="steady" columns=${COLUMNS} rows=${rows} keyOf=${(call) => call.id} nameOf=${rowName} selected=${item}
        onOpen=${(id) => go('calls', id)}
        empty=${shown.length ? 'No call matches the filter.' : 'No calls yet. Calls are recorded while this page is open.'} />
    </div>
    ${item !== undefined && html`<${Call} key=${item} id=${item} summary=${calls.find((call) => call.id === item)} />`}`;
}

function newerThan(calls, newest) {
  const at = newest ? calls.findIndex((call) => call.id === newest.id) : -1;
  return at < 0 ? calls.length : at;
}

/** Screen readers announce the counters at most every few seconds, and the calls never. */
function Counters({ seen, failed, dropped }) {
  const [said, setSaid] = useState('');
  const now = `${plural(seen, 'call')}, ${count(failed)} failed${dropped ? `, ${count(dropped)} not shown` : ''}`;
  const latest = useRef(now);
  latest.current = now;
  useEffect(() => {
    const timer = setInterval(() => setSaid(latest.current), 5000);
    return () => clearInterval(timer);
  }, []);
  return html`<span aria-hidden="true">${now}</span><span class="aloud" aria-live="polite">${said}</span>`;
}

/** A function for `proxy test`. */
const asTest = (id, secrets) =>
  get(`calls/${encodeURIComponent(id)}/test`, { secrets: secrets && 'show' }).then(({ test }) => test);

function Call({ id, summary }) {
  const [secrets, setSecrets] = useState(false);
  const [details, setDetails] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let isOver = false;
    get(`calls/${encodeURIComponent(id)}`, { secrets: secrets && 'show' }).then(
      (found) => {
        if (!isOver) setDetails(found);
      },
      (problem) => {
        if (!isOver) setError(problem);
      },
    );
    return () => {
      isOver = true;
    };
  }, [id, secrets]);
  const call = details?.call ?? summary;
  const title = call ? html`<${Text} value=${call.name ?? call.method} limit=${200} />` : 'Call';
  return html`<${Panel} label="Call" name=${id} title=${title} onClose=${() => leave('calls')}
    actions=${
      details &&
      html`<${CopyButton} text=${() => command(details)} disabled=${call.method !== 'tools/call'}
      title=${details.redacted ? 'Secrets are redacted' : undefined}>Copy as command<//>
      <${CopyButton} text=${() => asTest(id, secrets)}
      title=${details.redacted ? 'Secrets are redacted' : undefined}>Copy as test<//>`
    }>
    ${
      call &&
      html`<p><${Badge} word=${call.outcome} /> ${milliseconds(call.ms)}</p>
      <${Refusal} call=${call} />
      <${Facts} items=${[
        ['Time', call.at],
        ['Method', call.method],
        ['Server', call.server],
        ['User', call.user],
        ['Client', call.client],
        ['Source', call.source],
        ['Script', details?.policy && html`<code>${plain(details.policy).slice(0, 19)}</code>`],
        ['Id', html`<code>${plain(call.id)}</code>`],
      ]} />`
    }
    ${error && html`<${Problem} error=${error} />`}
    ${
      details &&
      html`
      <label class="check"><input type="checkbox" checked=${secrets}
        onChange=${(event) => setSecrets(event.target.checked)} /> Show secrets and personal data</label>
      <h3>Arguments</h3><${Sent} text=${details.params} name="arguments" pick=${(json) => json.arguments ?? json} />
      <h3>Result</h3><${Sent} text=${details.result} name="result" />
      ${
        steps(details).length > 0 &&
        html`<h3>Timeline</h3>
        <ol class="tree" aria-label="Timeline">${steps(details).map(
          (step, at) =>
            html`<li key=${at}>${step.call ? html`<${ServerCall} child=${step} longest=${call.ms} />` : html`<${Event} event=${step} />`}</li>`,
        )}</ol>
        ${call.moreServerCalls > 0 && html`<p class="empty">and ${plural(call.moreServerCalls, 'more', 'more')}</p>`}`
      }`
    }
  <//>`;
}

/** Who refused the call or why it failed. */
function Refusal({ call }) {
  const { refusal } = call;
  if (refusal) {
    const at =
      refusal.at && html` at <a class="site" href=${address('script', refusal.at)}><${Text} value=${refusal.at} /></a>`;
    return html`<div class="problem"><p>Refused by ${plain(refusal.reason)}${at}:${' '}
      <${Text} value=${refusal.why} /></p></div>`;
  }
  return call.error && hasFailed(call) ? html`<div class="problem"><p><${Text} value=${call.error} /></p></div>` : null;
}

/** JSON that was sent, or its beginning. */
function Sent({ text, name, pick = (json) => json }) {
  if (!text) return html`<p class="empty">None</p>`;
  if (text.json !== undefined) return html`<${Json} value=${pick(text.json)} name=${name} />`;
  return html`<p class="hint">Only the beginning of ${bytes(text.bytes)} was kept.</p><${LongText} text=${text.head ?? ''} name=${name} />`;
}

function ServerCall({ child, longest }) {
  const { call } = child;
  const tool = child.params.json?.name;
  return html`<details class="fold"><summary>
      <${Text} value=${call.server} limit=${60} /> <span class="type"><${Text} value=${call.method} limit=${60} /></span>
      ${typeof tool === 'string' && html`<${Text} value=${tool} limit=${100} />`} <${Badge} word=${call.outcome} />
      <meter min="0" max=${Math.max(longest, 0.01)} value=${call.ms} aria-label="Share of the duration" /> ${milliseconds(call.ms)}</summary>
    ${call.error && html`<div class="problem"><p><${Text} value=${call.error} /></p></div>`}
    <h4>Arguments</h4><${Sent} text=${child.params} name="arguments" pick=${(json) => json.arguments ?? json} />
    <h4>Result</h4><${Sent} text=${child.result} name="result" />
  </details>`;
}

/** The server calls and other events, in chronological order. */
const steps = ({ serverCalls, events = [] }) =>
  [...serverCalls, ...events].sort((a, b) => (a.call ?? a).afterMs - (b.call ?? b).afterMs);

/** An elicitation, a log line, or an event without a text. */
function Event({ event }) {
  return html`<span class="type">${event.kind}${event.level && ` ${plain(event.level)}`}</span>${' '}
    ${event.text && html`<${Text} value=${event.text} limit=${500} />`} ${milliseconds(event.afterMs)}`;
}

/** The command that makes the same call. */
function command({ call, params }) {
  const given = params?.json?.arguments;
  const words = ['proxy', 'call', shellWord(call.name ?? '')];
  if (given && Object.keys(given).length) words.push('--args', shellWord(visibleJson(stringify(given))));
  if (call.user && !['local', 'anonymous'].includes(call.user)) words.push('--as-user', shellWord(call.user));
  return words.join(' ');
}
