import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callFilter, wordFilter } from '../../../src/console/page/filter.js';

const call = (part) => ({
  id: '1',
  method: 'tools/call',
  name: 'search_issues',
  server: 'github',
  user: 'ann',
  client: 'claude 2',
  source: 'http',
  outcome: 'ok',
  error: null,
  refusal: null,
  ms: 12,
  serverCalls: [],
  ...part,
});

function matches(text, part = {}) {
  return callFilter(text)(call(part));
}

test('an empty filter matches everything', () => assert.ok(matches('') && matches('   ')));

test('fields match parts of names, without regard to case', () => {
  assert.ok(matches('server:git tool:SEARCH user:ann method:tools client:claude source:http'));
  assert.ok(!matches('server:gitlab') && !matches('server:github user:bob'));
  assert.ok(
    matches('server:time', { server: null, serverCalls: [{ server: 'time' }] }),
    'a server that a handler called',
  );
});

test('durations have units', () => {
  assert.ok(matches('>500ms', { ms: 501 }) && !matches('>500ms', { ms: 499 }));
  assert.ok(matches('>1.5s', { ms: 1600 }) && matches('<20', { ms: 12 }) && !matches('<1m', { ms: 61000 }));
});

test('error: matches what failed, and says how', () => {
  assert.ok(!matches('error:') && !matches('error:', { outcome: 'cancelled' }));
  assert.ok(matches('error:', { outcome: 'timeout' }) && matches('error:timeout', { outcome: 'timeout' }));
  assert.ok(
    matches('error:"too many"', { outcome: 'refused', refusal: { why: 'Too many calls', at: 'policy.star:41' } }),
  );
});

test('names of JavaScript internals are ordinary words', () =>
  assert.ok(!matches('constructor:x') && !matches('__proto__:')));

test('words match any field, a minus excludes, and unknown fields are words', () => {
  assert.ok(matches('issues ann') && !matches('issues bob'));
  assert.ok(matches('-user:bob') && !matches('-user:ann'));
  assert.ok(matches('demo://x', { name: 'demo://x' }));
});

test('every word of a search must be found', () => {
  const found = wordFilter('issue GIT');
  assert.ok(found('new_issue', 'github') && !found('new_issue', 'time') && wordFilter('')('x'));
});
