// Values of any size: JSON and long texts are folded, and images load on click.

import { html, useState } from './preact.js';
import { bytes, count } from './format.js';
import { isObject, pretty } from './json.js';
import { CopyButton } from './parts.js';
import { Text, plain } from './text.js';

const FOLDED = 3000;
const STEP = 100000;
/** SVG can hold scripts and links; these cannot. */
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** Saves a text as a file, exactly as it is. */
export function download(text, name, type) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A text of any length. */
export function LongText({ text, name = 'text', type = 'text/plain' }) {
  const [shown, setShown] = useState(FOLDED);
  const isCut = text.length > shown;
  return html`<div class="long">
    <pre tabindex="0"><${Text} value=${isCut ? text.slice(0, shown) : text} />${isCut && '…'}</pre>
    <p class="tools">
      ${
        isCut &&
        html`<button type="button" class="quiet" onClick=${() => setShown(shown < STEP ? STEP : shown + STEP)}>Show more</button>
        <span>${count(shown)} of ${count(text.length)} characters</span>`
      }
      <${CopyButton} text=${() => text}>Copy<//>
      <button type="button" class="quiet" onClick=${() => download(text, `${name}.${type === 'application/json' ? 'json' : 'txt'}`, type)}>Download</button>
    </p>
  </div>`;
}

export const Json = ({ value, name }) =>
  html`<${LongText} text=${pretty(value)} name=${name} type="application/json" />`;

/** A part of the page that can be closed. */
export const Fold = ({ title, open, children }) =>
  html`<details class="fold" open=${open}><summary>${title}</summary>${children}</details>`;

function Image({ block }) {
  const [isShown, setShown] = useState(false);
  const data = String(block.data ?? '');
  const kind = `${plain(block.mimeType)}, ${bytes(Math.floor(data.length * 0.75))}`;
  if (!IMAGES.includes(block.mimeType) || !/^[A-Za-z0-9+/]*={0,2}$/.test(data))
    return html`<p>An image that is not shown here (${kind})</p>`;
  if (!isShown) return html`<p><button type="button" onClick=${() => setShown(true)}>Show image</button> ${kind}</p>`;
  return html`<img alt="Image of the result" src="data:${block.mimeType};base64,${data}" />`;
}

function Block({ block, at }) {
  if (block?.type === 'text' && typeof block.text === 'string')
    return html`<${LongText} text=${block.text} name="result-${at + 1}" />`;
  if (block?.type === 'image') return html`<${Image} block=${block} />`;
  return html`<${Json} value=${block} name="result-${at + 1}" />`;
}

/** The result of a tool: its content, its structured content and, folded, all of it. */
export function ToolResult({ result }) {
  if (!isObject(result) || !Array.isArray(result.content)) return html`<${Json} value=${result} name="result" />`;
  return html`
    ${result.content.length === 0 && html`<p class="empty">No content</p>`}
    ${result.content.map((block, at) => html`<${Block} key=${at} block=${block} at=${at} />`)}
    ${result.structuredContent !== undefined && html`<${Fold} title="Structured content" open><${Json} value=${result.structuredContent} name="structured" /><//>`}
    <${Lazy} title="Raw JSON" draw=${() => html`<${Json} value=${result} name="result" />`} />`;
}

/** Something folded that is drawn only once it is opened. */
export function Lazy({ title, draw }) {
  const [isOpen, setOpen] = useState(false);
  return html`<details class="fold" onToggle=${(event) => setOpen(event.target.open)}><summary>${title}</summary>${isOpen && draw()}</details>`;
}
