// What each server offers and what is published: the decision about each item, the script line behind it, and the reason.

import { html, useMemo, useState } from '../preact.js';
import { wordDiff } from '../diff.js';
import { wordFilter } from '../filter.js';
import { count, plural } from '../format.js';
import { pretty } from '../json.js';
import { useLive } from '../live.js';
import { address, go, leave } from '../navigation.js';
import { Badge, Diff, Facts, Panel, Problem, SearchField, VisitorFields } from '../parts.js';
import { Site, WORDS, decisions, joined, mainLine, reasonOf, siteOf } from '../provenance.js';
import { Table } from '../table.js';
import { Text, plain } from '../text.js';
import { Json, Lazy } from '../value.js';

const ORDER = ['same', 'renamed', 'rewritten', 'wrapped', 'made', 'searchable', 'hidden', 'published'];

function Where({ history }) {
  const line = mainLine(siteOf(history));
  return html`${reasonOf(history) && html`<${Text} value=${reasonOf(history)} limit=${160} /> `}
    ${
      line &&
      html`<a class="site" href=${address('script', `${line.file}:${line.line}`)} tabindex="-1"
      onClick=${(event) => event.stopPropagation()}><${Text} value=${`${line.file}:${line.line}`} /></a>`
    }`;
}

const COLUMNS = [
  {
    key: 'offered',
    title: 'Offered',
    value: (row) => row.history.name,
    cell: (row) =>
      html`<span class="from"><${Text} value=${row.history.server || 'script'} limit=${40} /></span><${Text} value=${row.history.name} limit=${100} />`,
  },
  {
    key: 'decision',
    title: 'Decision',
    value: (row) => ORDER.indexOf(row.decisions[0]),
    cell: (row) => row.decisions.map((word) => html`<${Badge} key=${word} word=${word}>${WORDS[word] ?? word}<//>`),
  },
  {
    key: 'published',
    title: 'Published',
    className: 'name',
    value: (row) => row.history.publishedAs,
    cell: (row) =>
      row.history.publishedAs === null
        ? html`<span class="none">–</span>`
        : html`<${Text} value=${row.history.publishedAs} limit=${100} />`,
  },
  {
    key: 'tokens',
    title: 'Tokens',
    className: 'number low',
    value: (row) => row.before?.tokens ?? row.after?.tokens,
    cell: (row) => `${count(row.before?.tokens)} → ${count(row.after?.tokens)}`,
  },
  {
    key: 'where',
    title: 'Where and why',
    className: 'wide low',
    cell: (row) => html`<${Where} history=${row.history} />`,
  },
];

const total = (items) => items.reduce((sum, item) => sum + (item.tokens ?? 0), 0);

const summary = ({ offered, published }) =>
  `${plural(offered.length, 'item')} offered, ${count(published.length)} published · ` +
  `${count(total(offered))} → ${count(total(published))} tokens`;

export function SurfaceView({ item }) {
  const { surface, surfaceError } = useLive();
  const [search, setSearch] = useState('');
  const [kind, setKind] = useState('');
  const [decision, setDecision] = useState('');
  const all = useMemo(
    () => (surface ? joined(surface).map((row) => ({ ...row, decisions: decisions(row.history) })) : []),
    [surface],
  );
  const ofKind = useMemo(() => all.filter((row) => !kind || row.history.kind === kind), [all, kind]);
  const rows = useMemo(() => {
    const matches = wordFilter(search);
    return ofKind.filter(
      (row) =>
        (!decision || row.decisions.includes(decision)) &&
        matches(row.history.name, row.history.server, row.history.publishedAs ?? '', reasonOf(row.history)),
    );
  }, [ofKind, decision, search]);
  const open = all.find((row) => row.key === item);
  const kinds = [...new Set(all.map((row) => row.history.kind))];
  return html`<div class="main">
      <header class="head"><h1>Surface</h1>
        <p class="summary" aria-live="polite">${surface && summary(surface)}</p></header>
      <div class="toolbar">
        <${SearchField} label="Search the surface" placeholder="Search   /" value=${search} onChange=${setSearch} />
        <label>Kind <select value=${kind} onChange=${(event) => setKind(event.target.value)}>
          <option value="">all</option>${kinds.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select></label>
        <${VisitorFields} />
      </div>
      <div class="chips" role="group" aria-label="Decision">
        ${ORDER.map((word) => [word, ofKind.filter((row) => row.decisions.includes(word)).length])
          .filter(([, number]) => number)
          .map(
            ([
              word,
              number,
            ]) => html`<button key=${word} type="button" class="chip" aria-pressed=${decision === word ? 'true' : 'false'}
            onClick=${() => setDecision(decision === word ? '' : word)}>${WORDS[word] ?? word} <span>${count(number)}</span></button>`,
          )}
      </div>
      ${surface?.problems.map((text) => html`<pre class="notice" role="note" tabindex="0"><${Text} value=${text} limit=${5000} /></pre>`)}
      ${
        surfaceError
          ? html`<${Problem} error=${surfaceError} />`
          : !surface
            ? html`<p class="empty">Loading</p>`
            : html`<${Table} label="Surface" columns=${COLUMNS} rows=${rows} keyOf=${(row) => row.key} selected=${item}
            onOpen=${(key) => go('surface', key)} empty=${all.length ? 'No item matches.' : 'Nothing is offered.'} />`
      }
    </div>
    ${open && html`<${Item} key=${open.key} row=${open} />`}`;
}

function Item({ row }) {
  const { history, before, after } = row;
  return html`<${Panel} label="Item" name=${row.key} title=${html`<${Text} value=${history.name} />`} onClose=${() => leave('surface')}>
    <p>${row.decisions.map((word) => html`<${Badge} word=${word}>${WORDS[word] ?? word}<//> `)}
      ${history.kind === 'tool' && html`<a href=${address('tools', row.key)}>Open the tool</a>`}</p>
    <${Facts} items=${[
      ['Kind', history.kind],
      ['Offered by', history.server || 'the script'],
      ['Published as', history.publishedAs],
      ['Published at', history.publishedAt && html`<${Site} site=${history.publishedAt} />`],
      ['Handled by', history.handler],
      ['Why hidden', row.decisions[0] === 'hidden' ? reasonOf(history) : history.why],
      ['Reason given at', history.skippedAt && html`<${Site} site=${history.skippedAt} />`],
      [
        'Tokens',
        before?.tokens !== undefined || after?.tokens !== undefined
          ? `${count(before?.tokens)} → ${count(after?.tokens)}`
          : null,
      ],
    ]} />
    ${
      history.edits.length > 0 &&
      html`<h3>Changes</h3><ul class="plain">${history.edits.map(
        (edit, at) =>
          html`<li key=${at}><strong><${Text} value=${edit.members.join(', ')} /></strong> at <${Site} site=${edit.at} />${edit.why && html`: <${Text} value=${edit.why} />`}</li>`,
      )}</ul>`
    }
    ${
      before &&
      after &&
      history.changed.map(
        (member) => html`<${Change} key=${member} member=${member}
      before=${before.definition[member]} after=${after.definition[member]} />`,
      )
    }
    ${before && html`<${Lazy} title="Definition as offered" draw=${() => html`<${Json} value=${before.definition} name="offered" />`} />`}
    ${after && html`<${Lazy} title="Definition as published" draw=${() => html`<${Json} value=${after.definition} name="published" />`} />`}
  <//>`;
}

const asText = (value) => (value === undefined ? '' : typeof value === 'string' ? value : pretty(value));

function Change({ member, before, after }) {
  const parts = useMemo(() => wordDiff(asText(before), asText(after)), [before, after]);
  return html`<h4><${Text} value=${member} /></h4><${Diff} parts=${parts} label=${plain(member)} />`;
}
