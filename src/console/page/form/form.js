// A form for a JSON Schema, which can also be filled in as JSON.

import { html, useMemo, useState } from '../preact.js';
import { parse, pretty } from '../json.js';
import { plain } from '../text.js';
import { Field } from './fields.js';
import { rootField } from './schema.js';
import { encode, initialState, stateOf } from './state.js';

/**
 * `children` draws the buttons. `onSubmit` gets the JSON text of an object. `errors` are those of the last answer, as
 * `[{path, message}]`; those that no field shows are shown at the top.
 */
export function SchemaForm({ schema, onSubmit, errors = [], prefix, children }) {
  const field = useMemo(() => rootField(schema), [schema]);
  const canShow = field.type === 'object';
  const [state, setState] = useState(() => (canShow ? initialState(field) : undefined));
  const [raw, setRaw] = useState(canShow ? null : '{}');
  const [own, setOwn] = useState([]);
  const all = [...own, ...errors];

  const submit = (event) => {
    event.preventDefault();
    const { json = '{}', errors: wrong } = raw === null ? encode(field, state) : encode({ type: 'json' }, raw);
    setOwn(wrong);
    if (!wrong.length) onSubmit(json);
  };
  const toggle = () => {
    if (raw === null) {
      const { json = '{}' } = encode(field, state);
      setRaw(pretty(parse(json)));
      setOwn([]);
      return;
    }
    try {
      const shown = stateOf(field, parse(raw.trim() || '{}'));
      if (shown === undefined) throw new Error('the form has no field for some of the values');
      setState(shown);
      setRaw(null);
      setOwn([]);
    } catch (error) {
      setOwn([{ path: '', message: `Cannot show this as a form: ${error.message}` }]);
    }
  };

  const isKnown = (error) => error.path !== '' && raw === null && hasPath(field, state, error.path);
  const general = all.filter((error) => !isKnown(error));
  const rawId = `${prefix}-raw`;
  return html`<form class="schema" noValidate onSubmit=${submit}
    onKeyDown=${(event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
    }}>
    ${canShow && html`<label class="check toggle"><input type="checkbox" checked=${raw !== null} onChange=${toggle} /> Raw JSON</label>`}
    ${general.length > 0 && html`<p class="wrong" role="alert">${general.map(sentence).join('. ')}</p>`}
    ${
      raw !== null
        ? html`<div class="field"><p class="caption"><label for=${rawId}>Arguments</label><span class="type">JSON object</span></p>
          <textarea id=${rawId} class="code" rows="8" spellcheck=${false} value=${raw} onInput=${(event) => setRaw(event.target.value)} /></div>`
        : field.fields.length === 0
          ? html`<p class="empty">No arguments</p>`
          : html`<${Field} field=${field} state=${state} onChange=${setState} errors=${all.filter(isKnown)} prefix=${prefix} />`
    }
    <div class="buttons">${children}</div>
  </form>`;
}

const sentence = ({ path, message }) => plain(path ? `${path}: ${message}` : message);

/** Whether a field with this path is on the page. */
function hasPath(field, state, path) {
  const [first, ...rest] = path.split('.');
  if (path === '') return true;
  if (field.type === 'object') {
    // Names may have dots themselves.
    return field.fields.some(
      (inner) =>
        path === inner.name ||
        (path.startsWith(`${inner.name}.`) && hasPath(inner, state[inner.name], path.slice(inner.name.length + 1))),
    );
  }
  if (field.type === 'list') return Number(first) < state.length && rest.length === 0;
  if (field.type === 'choice')
    return state.chosen >= 0 && hasPath(field.choices[state.chosen].field, state.states[state.chosen], path);
  return false;
}
