import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventParser, readEvents } from '../../../src/console/page/sse.js';

const STREAM =
  ': hello\n\ndata: {"a":1}\n\nevent: x\nid: 7\ndata: one\ndata: two\n\ndata:no space\r\n\r\ndata\n\n: end\n\ndata: unfinished';
const EXPECTED = ['{"a":1}', 'one\ntwo', 'no space', ''];

function read(pieces) {
  const found = [];
  const parse = eventParser((data) => found.push(data));
  pieces.forEach(parse);
  return found;
}

test('comments and events without data are nothing', () => assert.deepEqual(read([STREAM]), EXPECTED));

test('a stream may be cut anywhere', () => {
  assert.deepEqual(read([...STREAM]), EXPECTED);
  for (let at = 0; at < STREAM.length; at++) assert.deepEqual(read([STREAM.slice(0, at), STREAM.slice(at)]), EXPECTED);
});

test('a byte order mark at the beginning is left out', () => assert.deepEqual(read(['\uFEFFdata: x\n\n']), ['x']));

test('an event of several megabytes in small pieces is read', () => {
  const text = 'x'.repeat(4 << 20);
  const whole = `data: ${text}\n\n`;
  const pieces = Array.from({ length: Math.ceil(whole.length / 65536) }, (_, at) =>
    whole.slice(at * 65536, (at + 1) * 65536),
  );
  assert.equal(read(pieces)[0].length, text.length);
});

test('characters that are cut in two bytes survive', async () => {
  const bytes = new TextEncoder().encode('data: ü€👍\n\n');
  const body = new ReadableStream({
    start(controller) {
      bytes.forEach((byte) => controller.enqueue(new Uint8Array([byte])));
      controller.close();
    },
  });
  const found = [];
  await readEvents({ body }, (data) => found.push(data));
  assert.deepEqual(found, ['ü€👍']);
});
