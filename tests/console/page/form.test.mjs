import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldOf, rootField } from '../../../src/console/page/form/schema.js';
import { encode, initialState, namedField, stateOf } from '../../../src/console/page/form/state.js';
import { parse, pretty, stringify } from '../../../src/console/page/json.js';

const object = (properties, more = {}) => rootField({ type: 'object', properties, ...more });
const filled = (field, part = {}) => encode(field, { ...initialState(field), ...part });
const typeOf = (schema, root) => fieldOf(schema, root).type;

test('each kind of schema has its field, and the rest is JSON', () => {
  const known = {
    string: { type: 'string' },
    number: { type: 'number' },
    integer: { type: 'integer' },
    boolean: { type: 'boolean' },
    enum: { enum: ['a', 1, null] },
    const: { const: 1 },
    list: { type: 'array', items: { type: 'string' } },
    set: { type: 'array', items: { enum: ['a', 'b'] } },
    object: { type: 'object', properties: {} },
    choice: { oneOf: [{ type: 'object', properties: { a: {} } }, { type: 'string' }] },
  };
  for (const [type, schema] of Object.entries(known)) assert.equal(typeOf(schema), type);
  const others = [
    {},
    true,
    { type: 'object' },
    { type: 'object', additionalProperties: { type: 'string' } },
    { type: ['string', 'number'] },
    { type: 'array', items: { type: 'object' } },
    { type: 'array' },
    { allOf: [{ type: 'string' }, { minLength: 1 }] },
    { not: {} },
  ];
  for (const schema of others) assert.equal(typeOf(schema), 'json', JSON.stringify(schema));
});

test('fields that were left empty are left out, and required lists are not', () => {
  const field = object(
    {
      a: { type: 'string' },
      n: { type: 'integer' },
      b: { type: 'boolean' },
      e: { enum: ['x'] },
      l: { type: 'array', items: { type: 'string' } },
      o: { type: 'object', properties: { kind: { const: 'k' }, x: { type: 'string' } }, required: ['kind'] },
      j: {},
      r: { type: 'array', items: { type: 'number' } },
    },
    { required: ['a', 'r'] },
  );
  assert.deepEqual(filled(field), { json: '{"r":[]}', errors: [] });
});

test('numbers are sent as they were typed', () => {
  const field = object({
    id: { type: 'integer' },
    price: { type: 'number' },
    ids: { type: 'array', items: { type: 'integer' } },
  });
  assert.equal(
    filled(field, { id: '9223372036854775807', price: '1.10', ids: ['18446744073709551615'] }).json,
    '{"id":9223372036854775807,"price":1.10,"ids":[18446744073709551615]}',
  );
  assert.deepEqual(
    filled(field, { id: '0x10' }).errors.map((error) => error.path),
    ['id'],
  );
  assert.deepEqual(
    filled(field, { ids: ['1', ''] }).errors.map((error) => error.path),
    ['ids.1'],
  );
});

test('defaults are filled in, also large ones, and the first example is kept as a hint', () => {
  const schema = parse(
    '{"type":"object","properties":{"n":{"type":"integer","default":9007199254740993},"m":{"enum":["a","b"],"default":"b"},"s":{"type":"string","examples":["like this"]}}}',
  );
  const field = rootField(schema);
  assert.equal(filled(field).json, '{"n":9007199254740993,"m":"b"}');
  assert.equal(field.fields[2].example, 'like this');
});

test('references within the schema are followed, also recursive ones to an end', () => {
  const schema = {
    type: 'object',
    $defs: { 'a/b': { type: 'integer' }, tree: { type: 'object', properties: { child: { $ref: '#/$defs/tree' } } } },
    properties: {
      n: { $ref: '#/$defs/a~1b', description: 'beside' },
      t: { $ref: '#/$defs/tree' },
      out: { $ref: 'https://example.com/x' },
    },
  };
  const [n, t, out] = rootField(schema).fields;
  assert.deepEqual([n.type, n.description, t.type, out.type], ['integer', 'beside', 'object', 'json']);
  assert.equal(typeOf({ $ref: '#/$defs/x' }, { $defs: { x: { $ref: '#/$defs/x' } } }), 'json');
});

test('what may be null is empty, and null only where it is required', () => {
  const schema = { anyOf: [{ type: 'integer' }, { type: 'null' }], default: null };
  assert.equal(typeOf(schema), 'integer');
  assert.equal(typeOf({ type: ['string', 'null'] }), 'string');
  assert.equal(filled(object({ n: schema })).json, '{}');
  assert.equal(filled(object({ n: schema }, { required: ['n'] })).json, '{"n":null}');
});

test('one of several objects is chosen', () => {
  const field = object({
    by: {
      oneOf: [
        {
          title: 'Name',
          type: 'object',
          required: ['kind', 'name'],
          properties: { kind: { const: 'name' }, name: { type: 'string' } },
        },
        { type: 'object', properties: { id: { type: 'integer' } } },
      ],
    },
  });
  const [by] = field.fields;
  assert.deepEqual(
    by.choices.map((choice) => choice.label),
    ['Name', 'id'],
  );
  assert.equal(filled(field).json, '{}');
  const state = initialState(by);
  state.states[0].name = 'ann';
  assert.equal(filled(field, { by: { ...state, chosen: 0 } }).json, '{"by":{"kind":"name","name":"ann"}}');
  assert.equal(filled(field, { by: { ...state, chosen: 1 } }).json, '{"by":{}}');
});

test('the options of a question have titles', () => {
  const field = fieldOf({
    type: 'string',
    oneOf: [
      { const: 'r', title: 'Red' },
      { const: 'g', title: 'Green' },
    ],
  });
  assert.deepEqual([field.type, field.options[1]], ['enum', { value: 'g', label: 'Green' }]);
  assert.equal(typeOf({ type: 'array', items: { anyOf: [{ const: 'r', title: 'Red' }] } }), 'set');
});

test('JSON becomes a form again only if nothing of it is lost', () => {
  const field = object({ n: { type: 'integer' }, l: { type: 'array', items: { type: 'string' } }, j: {} });
  const value = parse('{"n":9007199254740993,"l":["a"],"j":{"x":[1.50]}}');
  assert.equal(stringify(parse(encode(field, stateOf(field, value)).json)), stringify(value));
  assert.equal(stateOf(field, { unknown: 1 }), undefined);
  assert.equal(stateOf(field, { n: 'text' }), undefined);
});

test('members with the names of JavaScript internals are members', () => {
  const field = rootField(
    parse('{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}'),
  );
  assert.equal(
    encode(field, stateOf(field, parse('{"__proto__":"a","constructor":"b"}'))).json,
    '{"__proto__":"a","constructor":"b"}',
  );
});

test('a tool without arguments has an empty form', () => {
  for (const schema of [
    { type: 'object' },
    { type: 'object', properties: {} },
    { type: 'object', additionalProperties: false },
  ]) {
    assert.deepEqual(rootField(schema).fields, []);
  }
  assert.equal(rootField({ type: 'object', additionalProperties: { type: 'string' } }).type, 'json');
});

test('the answer of the proxy names a field', () => {
  const named = (text) => namedField(`invalid arguments for \`t\`: ${text} Expected {"a": string}`);
  assert.deepEqual(named('`a.b`: "x" is not of type "integer".'), {
    path: 'a.b',
    message: '"x" is not of type "integer".',
  });
  assert.deepEqual(named('"a" is a required property.'), { path: 'a', message: 'This is required' });
  assert.deepEqual(named('`where`: "city" is a required property.'), {
    path: 'where.city',
    message: 'This is required',
  });
  assert.deepEqual(namedField('it failed'), { path: '', message: 'it failed' });
});

test('JSON keeps the text of its numbers', () => {
  const text =
    '{"a":9007199254740993,"b":[1.10,-0,1e400,{"c":"12345678901234567\\\\\\" x"}],"__proto__":{"d":[]},"e":{}}';
  assert.equal(stringify(parse(text)), text);
  assert.equal(pretty(parse('{"a":[1.0,{}]}')), '{\n  "a": [\n    1.0,\n    {}\n  ]\n}');
  assert.throws(() => parse('{"a":01.10}'), SyntaxError);
});
