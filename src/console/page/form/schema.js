// What a form shows for a JSON Schema: a tree of fields. What a form cannot show becomes a field for JSON.

import { isObject } from '../json.js';

const MAX_DEPTH = 8;
const MAX_OPTIONS = 200;
/** So many options are shown as checkboxes where several can be chosen. */
const MAX_CHECKBOXES = 20;
const SCALARS = ['string', 'number', 'integer', 'boolean'];

/**
 * The field for a schema: `{type, label, description, required, nullable, initial, example, ...}`. The types are `string`,
 * `number`, `integer`, `boolean`, `enum` (with `options`), `const` (with `value`), `set` (several of `options`), `list` (of
 * `item`), `object` (with `fields`), `choice` (one of `choices`) and `json`.
 */
export function fieldOf(schema, root = schema, { label = '', required = true, depth = 0 } = {}) {
  const { schema: own, nullable } = simplified(schema, root);
  const common = {
    label: label || text(own.title),
    title: label ? text(own.title) : '',
    description: text(own.description),
    required,
    nullable,
    initial: own.default,
    example: Array.isArray(own.examples) ? own.examples[0] : undefined,
  };
  const kind = depth > MAX_DEPTH ? { type: 'json' } : kindOf(own, root, depth);
  return { ...common, ...kind };
}

/** The field for the arguments of a tool, or for an answer: always an object, which may have no members. */
export function rootField(schema) {
  const field = {
    ...fieldOf(schema),
    label: '',
    title: '',
    description: '',
    required: true,
    nullable: false,
    initial: undefined,
  };
  const others = ['oneOf', 'anyOf', 'allOf', '$ref', 'patternProperties', 'properties'];
  const isEmpty =
    isObject(schema) &&
    !isObject(schema.additionalProperties) &&
    schema.additionalProperties !== true &&
    !others.some((key) => Object.hasOwn(schema, key));
  return isEmpty ? { ...field, type: 'object', fields: [] } : field;
}

const text = (value) => (typeof value === 'string' ? value : '');

/** The schema without references and without alternatives that only allow `null`. */
function simplified(schema, root) {
  let nullable = false;
  let own = isObject(schema) ? schema : {};
  for (let steps = 0; steps < 20; steps++) {
    const { $ref, allOf, anyOf, oneOf, ...rest } = own;
    const alternatives = anyOf ?? oneOf;
    if (typeof $ref === 'string') {
      const target = targetOf($ref, root);
      if (!target)
        return {
          schema: { title: own.title, description: own.description, default: own.default, unknown: true },
          nullable,
        };
      const { $ref: _, ...beside } = own;
      own = { ...target, ...beside };
    } else if (Array.isArray(allOf) && allOf.length === 1 && isObject(allOf[0])) {
      own = { ...allOf[0], ...rest, ...(alternatives ? { anyOf: alternatives } : {}) };
    } else if (Array.isArray(alternatives) && alternatives.some(isNull)) {
      const others = alternatives.filter((one) => !isNull(one));
      nullable = true;
      own = others.length === 1 && isObject(others[0]) ? { ...others[0], ...rest } : { ...rest, anyOf: others };
    } else if (Array.isArray(own.type) && own.type.includes('null')) {
      const others = own.type.filter((type) => type !== 'null');
      nullable = true;
      own = { ...own, type: others.length === 1 ? others[0] : others };
    } else {
      break;
    }
  }
  return { schema: own, nullable };
}

const isNull = (schema) => isObject(schema) && (schema.type === 'null' || schema.const === null);

function targetOf(reference, root) {
  if (!reference.startsWith('#/$defs/') && !reference.startsWith('#/definitions/')) return undefined;
  let target = root;
  for (const step of reference.slice(2).split('/')) {
    let key;
    try {
      key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    } catch {
      return undefined;
    }
    if (!isObject(target) || !Object.hasOwn(target, key)) return undefined;
    target = target[key];
  }
  return isObject(target) ? target : undefined;
}

function kindOf(schema, root, depth) {
  if (Object.hasOwn(schema, 'const')) return { type: 'const', value: schema.const };
  const options = optionsOf(schema);
  if (options) return { type: 'enum', options };
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(alternatives) && !schema.properties) return choiceOf(alternatives, root, depth);
  if (['allOf', 'not', 'if', 'patternProperties', 'unknown'].some((key) => Object.hasOwn(schema, key)))
    return { type: 'json' };
  if (SCALARS.includes(schema.type))
    return { type: schema.type, format: text(schema.format), long: schema.maxLength > 200 };
  if (schema.type === 'array') return arrayOf(schema, root, depth);
  if ((schema.type === 'object' || schema.type === undefined) && isObject(schema.properties)) {
    const required = Array.isArray(schema.required) ? schema.required : [];
    const fields = Object.entries(schema.properties).map(([name, property]) => ({
      name,
      ...fieldOf(property, root, { label: name, required: required.includes(name), depth: depth + 1 }),
    }));
    return { type: 'object', fields };
  }
  return { type: 'json' };
}

/** The options of an enumeration as `{value, label}`; older servers name them by `enumNames`. */
function optionsOf(schema) {
  const named = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(schema.enum) && schema.enum.length <= MAX_OPTIONS) {
    const names = Array.isArray(schema.enumNames) ? schema.enumNames : [];
    return schema.enum.map((value, at) => ({ value, label: text(names[at]) }));
  }
  const isOption = (one) => isObject(one) && Object.hasOwn(one, 'const');
  if (Array.isArray(named) && named.length && named.length <= MAX_OPTIONS && named.every(isOption)) {
    return named.map((one) => ({ value: one.const, label: text(one.title) }));
  }
  return undefined;
}

function choiceOf(alternatives, root, depth) {
  const choices = alternatives.slice(0, MAX_OPTIONS).map((one, at) => {
    const field = fieldOf(one, root, { depth: depth + 1 });
    const names = field.type === 'object' ? field.fields.map((inner) => inner.name).join(', ') : field.type;
    return { label: field.label || names || `choice ${at + 1}`, field: { ...field, label: '', title: '' } };
  });
  return choices.length ? { type: 'choice', choices } : { type: 'json' };
}

function arrayOf(schema, root, depth) {
  if (!isObject(schema.items) || schema.prefixItems) return { type: 'json' };
  const item = fieldOf(schema.items, root, { depth: depth + 1 });
  if (item.type === 'enum' && item.options.length <= MAX_CHECKBOXES) return { type: 'set', options: item.options };
  return [...SCALARS, 'enum'].includes(item.type) ? { type: 'list', item: { ...item, label: '' } } : { type: 'json' };
}
