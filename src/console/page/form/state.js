// The state of the fields of a form, and its conversion to JSON. Numbers stay text throughout.

import { NUMBER, isObject, parse, pretty, stringify } from '../json.js';

/** What an untouched field holds. */
export function initialState(field) {
  return field.initial === undefined ? emptyState(field) : (stateOf(field, field.initial) ?? emptyState(field));
}

function emptyState(field) {
  switch (field.type) {
    case 'object':
      return Object.fromEntries(field.fields.map((inner) => [inner.name, initialState(inner)]));
    case 'list':
    case 'set':
      return [];
    case 'choice':
      return {
        chosen: field.required && !field.nullable ? 0 : -1,
        states: field.choices.map((choice) => initialState(choice.field)),
      };
    default:
      return '';
  }
}

/** The state for a value; `undefined` if the form cannot show it. */
export function stateOf(field, value) {
  const json = stringify(value);
  if (value === null && field.nullable) return emptyState({ ...field, initial: undefined });
  switch (field.type) {
    case 'string':
      return typeof value === 'string' && value !== '' ? value : undefined;
    case 'number':
    case 'integer':
      return NUMBER.test(json) ? json : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? json : undefined;
    case 'enum': {
      const at = field.options.findIndex((option) => stringify(option.value) === json);
      return at < 0 ? undefined : String(at);
    }
    case 'const':
      return stringify(field.value) === json ? 'set' : undefined;
    case 'list': {
      const states = Array.isArray(value) ? value.map((item) => stateOf(field.item, item)) : [undefined];
      return states.includes(undefined) ? undefined : states;
    }
    case 'set': {
      const found = (option) =>
        Array.isArray(value) && value.some((item) => stringify(item) === stringify(option.value));
      const chosen = field.options.map((option, at) => (found(option) ? at : -1)).filter((at) => at >= 0);
      return Array.isArray(value) && chosen.length === value.length ? chosen : undefined;
    }
    case 'object': {
      if (!isObject(value) || Object.keys(value).some((key) => !field.fields.some((inner) => inner.name === key)))
        return undefined;
      const states = field.fields.map((inner) => {
        const bare = { ...inner, initial: undefined };
        return [inner.name, Object.hasOwn(value, inner.name) ? stateOf(inner, value[inner.name]) : emptyState(bare)];
      });
      return states.some(([, state]) => state === undefined) ? undefined : Object.fromEntries(states);
    }
    case 'choice': {
      const states = field.choices.map((choice) => stateOf(choice.field, value));
      const chosen = states.findIndex((state) => state !== undefined);
      return chosen < 0
        ? undefined
        : { chosen, states: field.choices.map((choice, at) => states[at] ?? initialState(choice.field)) };
    }
    default:
      return pretty(value);
  }
}

/**
 * The JSON text of a state, or `undefined` if nothing was entered, and what is wrong as `[{path, message}]`. A path has names
 * and positions joined by dots, as in the errors of the proxy.
 */
export function encode(field, state, path = '') {
  const errors = [];
  const json = written(field, state, path, errors);
  return { json, errors };
}

function written(field, state, path, errors) {
  const json = entered(field, state, path, errors);
  return json === undefined && field.required && field.nullable ? 'null' : json;
}

function entered(field, state, path, errors) {
  const wrong = (message) => {
    errors.push({ path, message });
  };
  const inside = (name) => (path ? `${path}.${name}` : String(name));
  switch (field.type) {
    case 'string':
      return state === '' ? undefined : JSON.stringify(state);
    case 'number':
    case 'integer': {
      const number = state.trim();
      if (number === '') return undefined;
      return NUMBER.test(number)
        ? number
        : wrong(`This is not a JSON number such as ${field.type === 'integer' ? '12' : '1.5'}`);
    }
    case 'boolean':
      return state === '' ? undefined : state;
    case 'enum':
      return state === '' ? undefined : stringify(field.options[Number(state)].value);
    case 'const':
      return field.required || state ? stringify(field.value) : undefined;
    case 'set':
      return state.length || field.required
        ? `[${state.map((at) => stringify(field.options[at].value)).join(',')}]`
        : undefined;
    case 'list': {
      const items = state.map(
        (item, at) =>
          written(field.item, item, inside(at), errors) ?? (field.item.type === 'string' ? '""' : undefined),
      );
      items.forEach((item, at) => {
        const isTold = errors.some((error) => error.path === inside(at));
        if (item === undefined && !isTold)
          errors.push({ path: inside(at), message: 'Enter a value, or remove this item' });
      });
      return items.length || field.required ? `[${items.join(',')}]` : undefined;
    }
    case 'object': {
      const members = field.fields.map((inner) => ({
        inner,
        json: written(inner, state[inner.name], inside(inner.name), errors),
      }));
      const present = members.filter(({ json }) => json !== undefined);
      // Constants alone do not make an optional object.
      const isEntered = present.some(({ inner }) => inner.type !== 'const');
      if (!isEntered && !field.required) return undefined;
      return `{${present.map(({ inner, json }) => `${JSON.stringify(inner.name)}:${json}`).join(',')}}`;
    }
    case 'choice': {
      const choice = field.choices[state.chosen];
      return choice && written({ ...choice.field, required: true }, state.states[state.chosen], path, errors);
    }
    default:
      if (state.trim() === '') return undefined;
      try {
        parse(state);
        return state.trim();
      } catch (error) {
        return wrong(`This is not valid JSON: ${error.message}`);
      }
  }
}

/** The field that an answer of the proxy or of a server names, as `{path, message}`; the path is empty if it names none. */
export function namedField(message) {
  const reason = /^invalid arguments for `[^`]*`: (.*?)(?: Expected \{.*)?$/s.exec(message)?.[1] ?? message;
  const [, path = '', rest] = /^`([^`]+)`: (.*)$/s.exec(reason) ?? [undefined, '', reason];
  const missing = /^"([^"]+)" is a required property/.exec(rest)?.[1];
  if (missing) return { path: path ? `${path}.${missing}` : missing, message: 'This is required' };
  return { path, message: rest };
}
