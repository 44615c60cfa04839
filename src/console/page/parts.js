// Small parts that several views share.

import { html, useEffect, useRef, useState } from './preact.js';
import { live, viewAs } from './live.js';
import { Text } from './text.js';

const TONES = {
  ready: 'good',
  ok: 'good',
  published: 'good',
  starting: 'wait',
  cached: 'wait',
  login: 'wait',
  asked: 'wait',
  cancelled: 'wait',
  searchable: 'wait',
  warning: 'wait',
  hidden: 'wait',
  failed: 'bad',
  removed: 'bad',
  error: 'bad',
  tool_error: 'bad',
  timeout: 'bad',
  refused: 'bad',
  renamed: 'info',
  rewritten: 'info',
  wrapped: 'info',
  made: 'info',
};

/** A state in one word, with a colour that repeats it. */
export const Badge = ({ word, children }) =>
  html`<span class="badge ${Object.hasOwn(TONES, word) ? TONES[word] : 'plain'}">${
    children ?? html`<${Text} value=${word.replace('_', ' ')} limit=${40} />`
  }</span>`;

/** An error from the API. */
export const Problem = ({ error }) => html`<div class="problem" role="alert">
  <p><${Text} value=${error.message} /></p>
  ${error.hint && html`<p class="hint"><${Text} value=${error.hint} /></p>`}
</div>`;

/** Names and values. Missing values are omitted. */
export const Facts = ({ items }) => html`<dl class="facts">
  ${items
    .filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(
      ([name, value]) =>
        html`<div key=${name}><dt>${name}</dt><dd>${typeof value === 'string' ? html`<${Text} value=${value} />` : value}</dd></div>`,
    )}
</dl>`;

/** Copies a text, which may have to be fetched first, and briefly confirms it. */
export function CopyButton({ text, children, disabled, title }) {
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => setSaid(''), 2000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => {
    try {
      const copied = await text();
      await navigator.clipboard.writeText(copied).then(
        () => setSaid('Copied'),
        () => setSaid('Not copied: the browser refused'),
      );
    } catch (error) {
      setSaid(`Not copied: ${error.message}`);
    }
  };
  return html`<button type="button" class="quiet" disabled=${disabled} title=${title} onClick=${copy}>
    ${children}<span class="said" role="status">${said}</span></button>`;
}

/** The search field, which the key `/` focuses. */
export const SearchField = ({
  label,
  value,
  onChange,
  placeholder,
}) => html`<input type="search" class="search" data-search
  aria-label=${label} placeholder=${placeholder} value=${value} spellcheck=${false} autocomplete="off"
  onInput=${(event) => onChange(event.target.value)}
  onKeyDown=${(event) => {
    if (event.key !== 'Escape' || !value) return;
    event.stopPropagation();
    onChange('');
  }} />`;

/** Whose tools are shown. */
export function VisitorFields() {
  const [user, setUser] = useState(live.user);
  const apply = (event) => {
    event.preventDefault();
    if (user.trim() !== live.user) viewAs({ user: user.trim() });
  };
  return html`<form class="user" onSubmit=${apply}>
    <label>As user <input type="text" value=${user} placeholder="yourself" spellcheck=${false} autocomplete="off"
      onInput=${(event) => setUser(event.target.value)} onBlur=${apply} /></label>
    <label class="check" title="Some servers offer more tools to clients that support elicitation. To list them, the proxy may start such a server a second time.">
      <input type="checkbox" checked=${live.canBeAsked} onChange=${(event) => viewAs({ canBeAsked: event.target.checked })} /> Supports elicitation</label>
  </form>`;
}

/** The panel beside a list that shows one of its rows. Escape closes it. */
export function Panel({ label, title, actions, onClose, children, name }) {
  const heading = useRef(null);
  useEffect(() => {
    // On narrow screens the panel covers the list, so the focus must not stay in the list.
    if (matchMedia('(max-width: 64rem)').matches) heading.current?.focus();
  }, [name]);
  useEffect(() => {
    const onKey = (event) => {
      if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return;
      // The first Escape only leaves the field, so that typed text is not lost.
      if (event.target.closest?.('input, textarea, select')) event.target.blur();
      else onClose();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });
  return html`<aside class="panel" role="region" aria-label=${label}>
    <header>
      <h2 ref=${heading} tabindex="-1">${title}</h2>
      <div class="actions">${actions}<button type="button" class="quiet close" aria-label="Close" onClick=${onClose}>✕</button></div>
    </header>
    <div class="content">${children}</div>
  </aside>`;
}

/** A confirmation dialog. */
export function Confirm({ title, action, onConfirm, onClose, children }) {
  const dialog = useRef(null);
  useEffect(() => {
    dialog.current.showModal();
  }, []);
  return html`<dialog ref=${dialog} aria-labelledby="confirm" onClose=${onClose}>
    <h2 id="confirm">${title}</h2>
    ${children}
    <div class="buttons">
      <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
      <button type="button" class="primary" onClick=${() => {
        dialog.current.close();
        onConfirm();
      }}>${action}</button>
    </div>
  </dialog>`;
}

const CHANGED = { removed: 'del', added: 'ins' };

/** The parts of a difference. */
export function Diff({ parts, label }) {
  return html`<pre class="diff" tabindex="0" role="group" aria-label=${label}>${parts.map((part, at) => {
    const text = html`<${Text} value=${part.text} limit=${20000} />`;
    return CHANGED[part.kind] ? html`<${CHANGED[part.kind]} key=${at}>${text}<//>` : text;
  })}</pre>`;
}
