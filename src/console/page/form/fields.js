// The fields of a form on the page.

import { html } from '../preact.js';
import { stringify } from '../json.js';
import { Text, plain } from '../text.js';
import { initialState } from './state.js';

const idOf = (prefix, path) => `${prefix}-${path}`;
const shown = (value) => plain(typeof value === 'string' ? value : stringify(value));

/** One field with its label, description and errors, and those inside it. */
export function Field({ field, state, onChange, errors, path = '', prefix }) {
  const own = errors.filter((error) => error.path === path);
  const id = idOf(prefix, path);
  const props = { field, state, onChange, errors, path, prefix, id };
  const described =
    [field.description && `${id}-about`, own.length && `${id}-error`].filter(Boolean).join(' ') || undefined;
  if (field.type === 'object' || field.type === 'choice' || field.type === 'list' || field.type === 'set') {
    return html`<fieldset aria-labelledby=${field.label ? `${id}-name` : undefined} aria-describedby=${described} class=${field.type}>
      ${field.label && html`<legend><span id="${id}-name"><${Text} value=${field.label} /></span><${Kind} field=${field} /></legend>`}
      <${About} field=${field} id=${id} own=${own} />
      <${GROUPS[field.type]} ...${props} />
    </fieldset>`;
  }
  return html`<div class="field">
    ${field.label && html`<p class="caption"><label for=${id}><${Text} value=${field.label} /></label><${Kind} field=${field} /></p>`}
    <${Input} ...${props} described=${described} invalid=${own.length > 0} />
    <${About} field=${field} id=${id} own=${own} />
  </div>`;
}

const Kind = ({
  field,
}) => html`${field.title && field.title.toLowerCase() !== field.label.toLowerCase() && html`${' '}<span class="type"><${Text} value=${field.title} limit=${80} /></span>`}
  ${(TYPES[field.type] ?? field.type) && html`${' '}<span class="type">${TYPES[field.type] ?? field.type}</span>`}
  ${field.required && html`${' '}<span class="required">required</span>`}`;

const TYPES = { object: '', choice: 'one of', list: 'list', set: 'any of', enum: '', json: 'JSON', const: 'fixed' };

const About = ({ field, id, own }) => html`
  ${field.description && html`<p class="about" id="${id}-about"><${Text} value=${field.description} limit=${2000} /></p>`}
  ${own.length > 0 && html`<p class="wrong" id="${id}-error">${own.map((error) => html`<${Text} value=${error.message} /> `)}</p>`}`;

function Input({ field, state, onChange, id, described, invalid }) {
  const common = {
    id,
    'aria-describedby': described,
    'aria-invalid': invalid ? 'true' : undefined,
    'aria-required': field.required ? 'true' : undefined,
    // Fields of lists have no label of their own.
    'aria-label': field.label ? undefined : 'Value',
    value: state,
    onInput: (event) => onChange(event.target.value),
  };
  const placeholder = field.example === undefined ? undefined : shown(field.example);
  switch (field.type) {
    case 'boolean':
      return html`<select ...${common}><option value="">–</option><option value="true">true</option><option value="false">false</option></select>`;
    case 'enum':
      return html`<select ...${common}><option value="">–</option>${field.options.map(
        (option, at) =>
          html`<option key=${at} value=${String(at)}>${option.label ? plain(option.label) : shown(option.value)}</option>`,
      )}</select>`;
    case 'const':
      return field.required
        ? html`<output id=${id}><${Text} value=${stringify(field.value)} /></output>`
        : html`<select ...${common}><option value="">–</option><option value="set">${shown(field.value)}</option></select>`;
    case 'number':
    case 'integer':
      return html`<input type="text" inputmode="decimal" autocomplete="off" spellcheck=${false} placeholder=${placeholder} ...${common} />`;
    case 'json':
      return html`<textarea rows="2" class="code" spellcheck=${false} placeholder=${field.example === undefined ? 'JSON' : placeholder} ...${common} />`;
    default:
      if (field.format === 'date') return html`<input type="date" ...${common} />`;
      return html`<textarea rows=${field.long ? 4 : 1} class="grow" placeholder=${placeholder} ...${common} />`;
  }
}

function ObjectFields({ field, state, onChange, errors, path, prefix }) {
  return field.fields.map(
    (inner) => html`<${Field} key=${inner.name} field=${inner} state=${state[inner.name]} errors=${errors}
    path=${path ? `${path}.${inner.name}` : inner.name} prefix=${prefix}
    onChange=${(next) => onChange({ ...state, [inner.name]: next })} />`,
  );
}

function ChoiceFields({ field, state, onChange, errors, path, prefix, id }) {
  const choice = field.choices[state.chosen];
  const setInner = (next) =>
    onChange({ ...state, states: state.states.map((old, at) => (at === state.chosen ? next : old)) });
  const inner = { field: choice?.field, state: state.states[state.chosen], onChange: setInner, prefix };
  return html`<select id=${id} aria-label="Which" value=${String(state.chosen)}
      onInput=${(event) => onChange({ ...state, chosen: Number(event.target.value) })}>
      <option value="-1">–</option>${field.choices.map((one, at) => html`<option key=${at} value=${String(at)}>${plain(one.label)}</option>`)}
    </select>
    ${
      choice &&
      (choice.field.type === 'object'
        ? html`<${ObjectFields} ...${inner} errors=${errors} path=${path} />`
        : html`<${Field} ...${inner} errors=${[]} path=${`${path}.value`} />`)
    }`;
}

function ListFields({ field, state, onChange, errors, path, prefix }) {
  return html`${state.map(
    (item, at) => html`<div class="item" key=${at}>
      <${Field} field=${field.item} state=${item} errors=${errors} path=${`${path}.${at}`} prefix=${prefix}
        onChange=${(next) => onChange(state.map((old, index) => (index === at ? next : old)))} />
      <button type="button" class="quiet" aria-label="Remove item ${at + 1}" onClick=${() => onChange(state.filter((_, index) => index !== at))}>✕</button>
    </div>`,
  )}
    <button type="button" class="quiet" onClick=${() => onChange([...state, initialState(field.item)])}>Add item</button>`;
}

function SetFields({ field, state, onChange }) {
  const toggle = (at, isChosen) =>
    onChange([...field.options.keys()].filter((index) => (index === at ? isChosen : state.includes(index))));
  return field.options.map(
    (option, at) => html`<label class="check" key=${at}><input type="checkbox" checked=${state.includes(at)}
    onChange=${(event) => toggle(at, event.target.checked)} />
    ${option.label ? plain(option.label) : shown(option.value)}</label>`,
  );
}

const GROUPS = { object: ObjectFields, choice: ChoiceFields, list: ListFields, set: SetFields };
