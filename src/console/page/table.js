// A table that draws some of any number of rows. The first column opens a row; arrow keys move between the rows.

import { Component, html, useMemo, useState } from './preact.js';
import { count } from './format.js';

const PAGE = 200;

/**
 * `columns` are `{key, title, cell, value, className}`: `cell` draws a row's cell, and `value`, if the table can be sorted by
 * the column, is what it is sorted by.
 */
export function Table({ label, columns, rows, keyOf, nameOf, selected, onOpen, empty, className = '' }) {
  const [sort, setSort] = useState(null);
  const [shown, setShown] = useState(PAGE);
  const [active, setActive] = useState(null);
  const sorted = useMemo(() => sortedBy(rows, columns, sort), [rows, columns, sort]);
  const visible = sorted.slice(0, shown);
  const keys = visible.map(keyOf);
  const tabbable = [active, selected].find((key) => keys.includes(key)) ?? keys[0];
  const move = (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step === undefined || !event.target.classList.contains('open')) return;
    event.preventDefault();
    const buttons = [...event.currentTarget.querySelectorAll('.open')];
    const at = buttons.indexOf(event.target) + step;
    buttons[Math.max(0, Math.min(at, buttons.length - 1))].focus();
  };
  const sortBy = (key) =>
    setSort((now) => (now?.key !== key ? { key, down: true } : now.down ? { key, down: false } : null));
  if (!rows.length) return html`<p class="empty">${empty}</p>`;
  return html`<div class="table ${className}">
    <table aria-label=${label}>
      <thead><tr>${columns.map(
        (column) => html`<th key=${column.key} scope="col" class=${column.className}
        aria-sort=${sort?.key === column.key ? (sort.down ? 'descending' : 'ascending') : undefined}>
        ${
          column.value
            ? html`<button type="button" onClick=${() => sortBy(column.key)}>${column.title}<span aria-hidden="true" class="order">${
                sort?.key === column.key ? (sort.down ? ' ↓' : ' ↑') : ''
              }</span></button>`
            : column.title
        }
      </th>`,
      )}</tr></thead>
      <tbody onKeyDown=${move} onFocusIn=${(event) => setActive(event.target.dataset.key ?? null)}>
        ${visible.map(
          (row, at) => html`<${Row} key=${keys[at]} id=${keys[at]} row=${row} columns=${columns} name=${nameOf}
          isSelected=${keys[at] === selected} isTabbable=${keys[at] === tabbable} onOpen=${onOpen} />`,
        )}
      </tbody>
    </table>
    ${
      sorted.length > shown &&
      html`<p class="more"><button type="button" onClick=${() => setShown(shown + PAGE)}>
      Show ${count(Math.min(PAGE, sorted.length - shown))} more</button>
      <span>${count(shown)} of ${count(sorted.length)} shown. Search to narrow the list.</span></p>`
    }
  </div>`;
}

function sortedBy(rows, columns, sort) {
  const column = sort && columns.find((one) => one.key === sort.key);
  if (!column) return rows;
  const compare = (a, b) => (typeof a === 'string' ? b.localeCompare(a) : b - a);
  const values = rows.map((row) => ({ row, value: column.value(row) }));
  // Rows without a value stay at the end.
  const present = values.filter(({ value }) => value !== null && value !== undefined);
  present.sort((a, b) => (sort.down ? 1 : -1) * compare(a.value, b.value));
  if (typeof present[0]?.value === 'string') present.reverse();
  return [...present, ...values.filter((one) => !present.includes(one))].map(({ row }) => row);
}

/** One row. It is drawn again only if it differs: calls arrive by the hundred. */
class Row extends Component {
  shouldComponentUpdate(next) {
    return ['row', 'columns', 'isSelected', 'isTabbable'].some((name) => this.props[name] !== next[name]);
  }

  render({ id, row, columns, name, isSelected, isTabbable, onOpen }) {
    const [first, ...others] = columns;
    return html`<tr class=${isSelected ? 'selected' : ''} onClick=${() => {
      if (!String(getSelection())) onOpen(id);
    }}>
      <th scope="row" class=${first.className}><button type="button" class="open" data-key=${id} tabindex=${isTabbable ? 0 : -1}
        aria-label=${name?.(row)} aria-current=${isSelected ? 'true' : undefined}>${first.cell(row)}</button></th>
      ${others.map((column) => html`<td key=${column.key} class=${column.className}>${column.cell(row)}</td>`)}
    </tr>`;
  }
}
