// The servers: their state, how fast they answer, their standard error, and a button that restarts one.

import { html, useEffect, useMemo, useState } from '../preact.js';
import { get, post } from '../api.js';
import { age, bytes, count, milliseconds, plural } from '../format.js';
import { loadStatus, useLive } from '../live.js';
import { go, leave } from '../navigation.js';
import { Badge, Confirm, Facts, Panel, Problem } from '../parts.js';
import { Table } from '../table.js';
import { Text, plain } from '../text.js';

const LOG_REFRESH_MS = 2000;
const MAX_LINES = 200;

const number = (key, title, value, className = '') => ({
  key,
  title,
  value,
  className: `number ${className}`,
  cell: (row) => count(value(row)),
});
const time = (key, title) => ({
  key,
  title,
  value: (row) => row[key],
  className: 'number',
  cell: (row) => milliseconds(row[key]),
});

const COLUMNS = [
  {
    key: 'name',
    title: 'Server',
    cell: (row) => html`<${Text} value=${row.name} limit=${80} />`,
    value: (row) => row.name,
  },
  { key: 'status', title: 'State', cell: (row) => html`<${Badge} word=${row.status} />`, value: (row) => row.status },
  { key: 'up', title: 'Up', className: 'number low', value: uptime, cell: (row) => age(uptime(row)) },
  {
    key: 'version',
    title: 'Version',
    className: 'low',
    cell: (row) => html`<${Text} value=${row.version || '–'} limit=${24} />`,
  },
  {
    key: 'protocol',
    title: 'Protocol',
    className: 'low',
    cell: (row) => html`<${Text} value=${row.protocolVersion || '–'} limit=${24} />`,
  },
  number('tools', 'Tools', (row) => row.tools),
  number('minute', 'Calls/min', (row) => row.lastMinute?.calls),
  number('errors', 'Failed', (row) => row.failedCalls, 'low'),
  time('p50Ms', 'p50'),
  time('p95Ms', 'p95'),
  {
    key: 'running',
    title: 'Running',
    className: 'number low',
    value: (row) => row.running ?? 0,
    cell: (row) =>
      html`${count(row.running)}${row.waiting > 0 && html` <span class="waiting">+${count(row.waiting)} waiting</span>`}`,
  },
  number('restarts', 'Restarts', (row) => row.restarts, 'low'),
];

function uptime(row) {
  return row.processes?.[0]?.uptimeSeconds;
}

export function Servers({ item }) {
  const { status } = useLive();
  const rows = useMemo(() => status?.servers ?? [], [status]);
  if (!status) return html`<h1>Servers</h1><p class="empty">Loading</p>`;
  const server = rows.find((row) => row.name === item);
  const close = () => leave('servers');
  return html`<div class="main">
      <header class="head"><h1>Servers</h1><p class="summary" aria-live="polite">${summary(status)}</p></header>
      <${Notices} status=${status} />
      <${Table} label="Servers" columns=${COLUMNS} rows=${rows} keyOf=${(row) => row.name} selected=${item}
        onOpen=${(name) => go('servers', name)} empty="No servers are configured." />
    </div>
    ${
      item !== undefined &&
      (server
        ? html`<${Server} key=${item} server=${server} onClose=${close} />`
        : html`<${Panel} label="Server" title=${html`<${Text} value=${item} />`} onClose=${close}><p class="empty">There is no server with this name.</p><//>`)
    }`;
}

function summary(status) {
  const up = status.servers.filter((server) => server.status === 'ready').length;
  const resting = status.servers.filter((server) => server.status === 'resting').length;
  const { tools, resources, prompts } = status.published;
  return [
    `${count(up)} of ${plural(status.servers.length, 'server')} ready`,
    ...(resting > 0 ? [`${count(resting)} resting`] : []),
    plural(tools, 'tool'),
    plural(resources, 'resource'),
    plural(prompts, 'prompt'),
    plural(status.clients?.length ?? 0, 'client'),
  ].join(' · ');
}

/** What is wrong with the config, the extensions or the audit log. */
function Notices({ status }) {
  const texts = [...(status.configErrors ?? []), ...(status.extensionErrors ?? [])];
  if (status.audit?.error) texts.push(`audit log: ${status.audit.error}`);
  return texts.map(
    (text) => html`<pre class="notice" role="note" tabindex="0"><${Text} value=${text} limit=${5000} /></pre>`,
  );
}

function Server({ server, onClose }) {
  const [isAsking, setAsking] = useState(false);
  const [restart, setRestart] = useState(null);
  const isProcess = server.kind !== 'extension';
  const confirm = () => {
    setRestart({ isRunning: true });
    const done = (part) => {
      setRestart(part);
      loadStatus().catch(() => {});
    };
    post(`servers/${encodeURIComponent(server.name)}/restart`).then(
      (outcome) => done({ outcome }),
      (error) => done({ error }),
    );
  };
  const actions =
    isProcess &&
    html`<button type="button" disabled=${restart?.isRunning} onClick=${() => setAsking(true)}>Restart</button>`;
  return html`<${Panel} label="Server" name=${server.name} title=${html`<${Text} value=${server.name} limit=${120} />`} actions=${actions} onClose=${onClose}>
    <p><${Badge} word=${server.status} /> ${server.breakerOpen && html`<${Badge} word="failed">circuit breaker open<//>`}</p>
    ${server.error && html`<div class="problem"><p><${Text} value=${server.error} limit=${5000} /></p></div>`}
    <div role="status">
      ${restart?.isRunning && html`<p>Restarting</p>`}
      ${
        restart?.outcome &&
        html`<p>Restart: <${Badge} word=${restart.outcome.status} /> after ${String(restart.outcome.seconds)} s${' '}
          <${Text} value=${restart.outcome.error} limit=${2000} /></p>`
      }
      ${restart?.error && html`<${Problem} error=${restart.error} />`}
    </div>
    <${Facts} items=${[
      ['Implementation', [server.serverName, server.version].filter(Boolean).join(' ')],
      ['Protocol', server.protocolVersion],
      ['Connection', server.kind],
      ['Start', server.startMilliseconds === null ? null : milliseconds(server.startMilliseconds)],
      ['Processes', server.processes?.map((process) => `${process.pid} (up ${age(process.uptimeSeconds)})`).join(', ')],
      ['Rest', rest(server.rest)],
      [
        'Offers',
        [
          plural(server.tools, 'tool'),
          plural(server.resources, 'resource'),
          plural(server.resourceTemplates, 'template'),
          plural(server.prompts, 'prompt'),
        ].join(', '),
      ],
      ['Calls', `${count(server.calls)}, ${count(server.failedCalls)} failed`],
      ['Restarts', server.restarts === null ? null : count(server.restarts)],
      ['Last seen', server.lastSeen],
      ['Last error', server.lastError && `${server.lastError.at}: ${server.lastError.error}`],
    ]} />
    ${
      server.reports?.length > 0 &&
      html`<h3>Reports</h3>
        <ul class="plain">${server.reports.map((report) => html`<li><${Text} value=${report} limit=${2000} /></li>`)}</ul>`
    }
    <${Log} server=${server.name} />
    ${
      isAsking &&
      html`<${Confirm} title=${`Restart ${plain(server.name)}?`} action="Restart" onConfirm=${confirm} onClose=${() => setAsking(false)}>
      <p>Calls in flight fail. Clients stay connected to the proxy.</p>
    <//>`
    }
  <//>`;
}

/** Since when a server rests, and what that saves. */
function rest(told) {
  if (!told) return null;
  if (told.stoppedSecondsAgo === null) return 'not started yet';
  const saved = told.savedBytes === null ? '' : `, saves ${bytes(told.savedBytes)}`;
  return `stopped ${age(told.stoppedSecondsAgo)} ago${saved}`;
}

const logLine = ({ time, text }) =>
  html`<span class="time">${time.slice(11, 19)}</span> <${Text} value=${text} limit=${4096} />${'\n'}`;

/** The last lines of a server's standard error. */
function Log({ server }) {
  const [log, setLog] = useState(null);
  useEffect(() => {
    let isOver = false;
    const load = () => {
      if (document.hidden) return;
      get('logs', { server }).then(
        (next) => {
          if (!isOver) setLog(next);
        },
        (error) => {
          if (!isOver) setLog({ error: error.message, hint: error.hint });
        },
      );
    };
    load();
    const timer = setInterval(load, LOG_REFRESH_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [server]);
  return html`<h3>Standard error</h3>
    ${
      log === null
        ? html`<p class="empty">Loading</p>`
        : log.error
          ? html`<p class="empty"><${Text} value=${`${log.error}${log.hint ? `: ${log.hint}` : ''}`} /></p>`
          : log.lines.length === 0
            ? html`<p class="empty">No output yet</p>`
            : html`<pre class="log" tabindex="0">${log.lines.slice(-MAX_LINES).map(logLine)}</pre>`
    }`;
}
