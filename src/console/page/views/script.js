// The current session script: its source with line numbers, why a newer version is not in use, and its lints.

import { html, useEffect, useMemo, useRef } from '../preact.js';
import { lineDiff } from '../diff.js';
import { plural } from '../format.js';
import { useLive } from '../live.js';
import { address, go } from '../navigation.js';
import { Badge, Diff, Problem } from '../parts.js';
import { highlighted } from '../starlark.js';
import { Text, plain } from '../text.js';

/** `policy.star:12` as a file and a line. */
function placeOf(item, files) {
  const [, name = item ?? '', line] = /^(.*):([0-9]+)$/s.exec(item ?? '') ?? [];
  const file = files.find((one) => one.name === name) ?? files[0];
  return {
    file,
    line: file && file.name === name ? Number(line) || 0 : 0,
    isUnknown: Boolean(name) && file?.name !== name,
  };
}

export function Script({ item }) {
  const { script, scriptError } = useLive();
  const problem = scriptError && html`<${Problem} error=${scriptError} />`;
  if (!script)
    return html`<div class="main"><header class="head"><h1>Script</h1></header>${problem ?? html`<p class="empty">Loading</p>`}</div>`;
  const { file, line, isUnknown } = placeOf(item, script.files);
  const lints = script.lints ?? [];
  const errors = [...script.errors, ...(script.userErrors ?? []).map((one) => `for user ${one.user}:\n${one.error}`)];
  const state = script.errors.length ? 'the version on disk is not in use' : 'in use';
  return html`<div class="main">
    <header class="head"><h1>Script</h1>
      <p class="summary"><${Text} value=${script.name} /> · ${state} · ${plural(lints.length, 'lint')}</p></header>
    ${problem}
    ${errors.map((text, at) => html`<pre key=${at} class="notice bad" role="note" tabindex="0" aria-label="Error"><${Text} value=${text} limit=${10000} /></pre>`)}
    ${changedFiles(script).map(
      ({ name, before, after }) => html`<h2 key=${name}>Changes on disk to <${Text} value=${name} /></h2>
      <${Diff} parts=${lineDiff(before, after).map(folded)} label=${`Changes of ${plain(name)}`} />`,
    )}
    ${
      lints.length > 0 &&
      html`<ul class="lints" aria-label="Lints">${lints.map(
        (lint, at) => html`<li key=${at}>
      <${Badge} word=${lint.severity} />
      <a class="site" href=${address('script', `${lint.file}:${lint.line}`)}><${Text} value=${`${lint.file}:${lint.line}`} /></a>
      <${Text} value=${lint.message} limit=${1000} />${lint.rule && html` <span class="type">${lint.rule}</span>`}
      ${lint.hint && html` <span class="hint"><${Text} value=${lint.hint} limit=${1000} /></span>`}</li>`,
      )}</ul>`
    }
    ${
      script.files.length > 1 &&
      html`<div class="toolbar"><label>File <select value=${file.name} onChange=${(event) => go('script', event.target.value)}>
      ${script.files.map((one) => html`<option key=${one.name} value=${one.name}>${plain(one.name)}</option>`)}</select></label></div>`
    }
    ${isUnknown && html`<p class="notice" role="note">The source of <${Text} value=${item} /> is not available.</p>`}
    ${file && html`<${Source} file=${file} line=${line} lints=${lints.filter((lint) => lint.file === file.name)} />`}
  </div>`;
}

/** The files that differ between the version on disk and the one in use. */
function changedFiles({ files, rejected }) {
  const textOf = (list, name) => list.find((file) => file.name === name)?.text ?? '';
  const names = new Set([...files, ...(rejected?.files ?? [])].map((file) => file.name));
  return !rejected
    ? []
    : [...names]
        .map((name) => ({ name, before: textOf(files, name), after: textOf(rejected.files, name) }))
        .filter(({ before, after }) => before !== after);
}

/** Shortens unchanged parts to their first and last lines. */
function folded({ kind, text }) {
  const lines = text.split('\n');
  const isShort = kind !== 'same' || lines.length < 9;
  return { kind, text: isShort ? text : [...lines.slice(0, 3), '…', ...lines.slice(-4)].join('\n') };
}

function Source({ file, line, lints }) {
  const lines = useMemo(() => highlighted(file.text), [file.text]);
  const marked = useRef(null);
  useEffect(() => marked.current?.scrollIntoView({ block: 'center' }), [file.name, line]);
  const linted = new Set(lints.map((lint) => lint.line));
  return html`<div class="source" role="region" tabindex="0" aria-label=${`Source of ${plain(file.name)}`}>${lines.map(
    (parts, at) => {
      const number = at + 1;
      return html`<div key=${number} class="line ${number === line ? 'current' : ''} ${linted.has(number) ? 'has-lint' : ''}" ref=${number === line ? marked : undefined}>
      <span class="no">${number}</span><code>${parts.map((part) =>
        part.kind
          ? html`<span class=${part.kind}><${Text} value=${part.text} /></span>`
          : html`<${Text} value=${part.text} />`,
      )}${'\n'}</code></div>`;
    },
  )}</div>`;
}
