// The page: the views, the state of the connection, and the keys that work everywhere.

import { html, render, useEffect, useErrorBoundary } from './preact.js';
import { signIn } from './api.js';
import { age, count } from './format.js';
import { changed, live, run, useLive } from './live.js';
import { address, usePlace } from './navigation.js';
import { Problem } from './parts.js';
import { Text } from './text.js';
import { Calls } from './views/calls.js';
import { Script } from './views/script.js';
import { Servers } from './views/servers.js';
import { SurfaceView } from './views/surface.js';
import { Tools } from './views/tools.js';

const VIEWS = [
  ['servers', 'Servers', Servers],
  ['tools', 'Tools', Tools],
  ['surface', 'Surface', SurfaceView],
  ['script', 'Script', Script],
  ['calls', 'Calls', Calls],
];
const CONNECTION = { connecting: 'Connecting', live: 'Live', lost: 'Reconnecting', over: 'Session ended' };

function App() {
  const { connection, problem, status, failed } = useLive();
  const { view, item } = usePlace();
  const [key, title, View] = VIEWS.find(([name]) => name === view) ?? VIEWS[0];
  useEffect(() => {
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  const errors = (status?.scriptErrors?.length ?? 0) + (status?.userErrors?.length ?? 0);
  const bad = status?.servers.filter((server) => server.status === 'failed').length ?? 0;
  const notes = { servers: bad, script: errors, calls: failed };
  return html`
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      document.querySelector('main').focus();
    }}>Skip to content</a>
    <nav aria-label="Views">
      <p class="brand"><span aria-hidden="true">›_</span> proxy</p>
      <ul>${VIEWS.map(
        ([
          name,
          label,
        ]) => html`<li key=${name}><a href=${address(name)} aria-current=${name === key ? 'page' : undefined}>${label}</a>
        ${notes[name] > 0 && html`<span class="note" title=${`${count(notes[name])} failed`}>${count(notes[name])}</span>`}</li>`,
      )}</ul>
      <div class="foot">
        <p class="connection ${connection}" role="status">${CONNECTION[connection]}</p>
        ${
          status &&
          html`<p><${Text} value=${status.config ?? 'no config file'} limit=${60} /></p>
          ${status.address && html`<p><${Text} value=${status.address} limit=${60} /></p>`}
          <p>version ${status.version}, up ${age(status.uptimeSeconds)}</p>`
        }
      </div>
    </nav>
    <main id="main" tabindex="-1" aria-label=${title}>
      ${problem && html`<div class="banner"><${Problem} error=${problem} /></div>`}
      <div class="view"><${Guard} key=${key}><${View} item=${item} /><//></div>
    </main>`;
}

/** Keeps the page usable if a view fails. */
function Guard({ children }) {
  const [error, reset] = useErrorBoundary((problem) => console.error(problem));
  if (!error) return children;
  return html`<div class="main"><${Problem} error=${{ message: `This view failed: ${error.message}` }} /><button type="button" onClick=${reset}>Try again</button></div>`;
}

function onKey(event) {
  const isTyping = event.target.closest?.('input, textarea, select, dialog');
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const search = document.querySelector('[data-search]');
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select();
  }
}

async function start() {
  try {
    await signIn();
  } catch (error) {
    Object.assign(live, { connection: 'over', problem: error });
  }
  const root = document.getElementById('app');
  root.replaceChildren();
  render(html`<${App} />`, root);
  changed();
  // Opening a second code in the same tab starts a new session.
  addEventListener('hashchange', () => {
    if (location.hash && !location.hash.startsWith('#/')) location.reload();
  });
  if (live.connection !== 'over') await run();
}

start();
