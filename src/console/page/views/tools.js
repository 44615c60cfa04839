// The tools that servers offer or the script creates, with their token cost, their usage, and a form to try them.

import { html, useMemo, useState } from '../preact.js';
import { wordFilter } from '../filter.js';
import { count, milliseconds, plural } from '../format.js';
import { useLive } from '../live.js';
import { address, go, leave } from '../navigation.js';
import { Badge, Facts, Panel, Problem, SearchField, VisitorFields } from '../parts.js';
import { WORDS, decisions, joined, reasonOf } from '../provenance.js';
import { Table } from '../table.js';
import { Text, hiddenIn } from '../text.js';
import { Json, Lazy } from '../value.js';
import { TryIt } from '../form/try_it.js';

const amount = (key, title, className = '') => ({
  key,
  title,
  value: (row) => row[key],
  className: `number ${className}`,
  cell: (row) => count(row[key]),
});

const COLUMNS = [
  {
    key: 'name',
    title: 'Tool',
    cell: (row) => html`<${Text} value=${row.name} limit=${100} />`,
    value: (row) => row.name,
  },
  {
    key: 'server',
    title: 'Server',
    className: 'low',
    cell: (row) => (row.server ? html`<${Text} value=${row.server} limit=${40} />` : 'script'),
    value: (row) => row.server,
  },
  {
    key: 'state',
    title: 'State',
    cell: (row) => row.decisions.map((word) => html`<${Badge} key=${word} word=${word}>${WORDS[word] ?? word}<//>`),
  },
  {
    key: 'description',
    title: 'Description',
    className: 'wide low',
    cell: (row) => html`<${Text} value=${row.description} limit=${140} />`,
  },
  amount('tokens', 'Tokens'),
  amount('calls', 'Calls'),
  amount('errors', 'Errors'),
  { key: 'p95', title: 'p95', value: (row) => row.p95, className: 'number low', cell: (row) => milliseconds(row.p95) },
];

function rowOf({ key, history, before, after }, operations) {
  const item = after ?? before;
  const stats = history.publishedAs === null ? undefined : operations.get(history.publishedAs);
  return {
    key,
    history,
    item,
    isPublished: after !== undefined,
    name: history.publishedAs ?? history.name,
    server: history.server,
    decisions: decisions(history),
    description: typeof item?.definition.description === 'string' ? item.definition.description : '',
    tokens: item?.tokens ?? null,
    calls: stats?.calls ?? (after ? 0 : null),
    errors: stats?.errors ?? (after ? 0 : null),
    p95: stats?.p95Ms ?? null,
  };
}

export function Tools({ item }) {
  const { surface, surfaceError, operations, user } = useLive();
  const [search, setSearch] = useState('');
  const [isAll, setAll] = useState(false);
  const items = useMemo(
    () => (surface ? joined(surface).filter(({ history }) => history.kind === 'tool') : []),
    [surface],
  );
  const all = useMemo(() => items.map((one) => rowOf(one, operations)), [items, operations]);
  const rows = useMemo(() => {
    const matches = wordFilter(search);
    return all.filter(
      (row) => (isAll || row.isPublished) && matches(row.name, row.history.name, row.server, row.description),
    );
  }, [all, search, isAll]);
  const open = all.find((row) => row.key === item) ?? all.find((row) => row.name === item);
  const hidden = all.filter((row) => !row.isPublished).length;
  return html`<div class="main">
      <header class="head"><h1>Tools</h1><p class="summary" aria-live="polite">${surface && `${count(rows.length)} of ${plural(all.length, 'tool')}`}</p></header>
      <div class="toolbar">
        <${SearchField} label="Search tools" placeholder="Search   /" value=${search} onChange=${setSearch} />
        <label class="check"><input type="checkbox" checked=${isAll} onChange=${(event) => setAll(event.target.checked)} /> Also ${count(hidden)} hidden</label>
        <${VisitorFields} />
      </div>
      ${
        surfaceError
          ? html`<${Problem} error=${surfaceError} />`
          : !surface
            ? html`<p class="empty">Loading</p>`
            : html`<${Table} label="Tools" columns=${COLUMNS} rows=${rows} keyOf=${(row) => row.key} selected=${open?.key}
            onOpen=${(key) => go('tools', key)} empty=${search ? 'No tool matches.' : 'No tool is published.'} />`
      }
    </div>
    ${
      item !== undefined &&
      surface &&
      (open
        ? html`<${Tool} key=${`${open.key} ${user}`} row=${open} />`
        : html`<${Panel} label="Tool" title="Tool" onClose=${() => leave('tools')}><p class="empty">There is no such tool for this user.</p><//>`)
    }`;
}

const HINTS = [
  ['readOnlyHint', 'reads only'],
  ['destructiveHint', 'destructive'],
  ['idempotentHint', 'idempotent'],
  ['openWorldHint', 'open world'],
];

function Tool({ row }) {
  const { definition } = row.item;
  const schema = useMemo(() => definition.inputSchema ?? { type: 'object' }, [JSON.stringify(definition.inputSchema)]);
  const invisible = hiddenIn(`${row.name}${definition.title ?? ''}${row.description}`);
  const hints = HINTS.filter(([hint]) => definition.annotations?.[hint] === true);
  return html`<${Panel} label="Tool" name=${row.key} title=${html`<${Text} value=${row.name} />`} onClose=${() => leave('tools')}>
    <p>${row.decisions.map((word) => html`<${Badge} word=${word}>${WORDS[word] ?? word}<//> `)}
      ${hints.map(([, word]) => html`<${Badge} word="plain">${word}<//> `)}
      <a href=${address('surface', row.key)}>Show on the surface</a></p>
    ${invisible > 0 && html`<p class="notice" role="note">This definition has ${plural(invisible, 'invisible part')} that a model can read. The marks show where.</p>`}
    ${row.description && html`<p class="description"><${Text} value=${row.description} limit=${20000} /></p>`}
    <${Facts} items=${[
      ['Title', typeof definition.title === 'string' ? definition.title : null],
      ['Server', row.server || 'the script'],
      ['Original name', row.history.name === row.name ? null : row.history.name],
      ['Hidden', row.isPublished ? null : reasonOf(row.history)],
      ['Tokens', row.tokens === null ? null : count(row.tokens)],
    ]} />
    ${row.isPublished && html`<${TryIt} tool=${row.name} schema=${schema} />`}
    <${Lazy} title="Input schema" draw=${() => html`<${Json} value=${schema} name="input-schema" />`} />
    ${definition.outputSchema && html`<${Lazy} title="Output schema" draw=${() => html`<${Json} value=${definition.outputSchema} name="output-schema" />`} />`}
    <${Lazy} title="Definition" draw=${() => html`<${Json} value=${definition} name="definition" />`} />
  <//>`;
}
