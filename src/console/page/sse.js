// Server-sent events read with `fetch`, because `EventSource` cannot send an `Authorization` header.

/** Returns a function that takes pieces of an event stream and calls `onData` with the data of each event. */
export function eventParser(onData) {
  let rest = '';
  let data = [];
  let isFirst = true;
  return (piece) => {
    if (isFirst && piece) {
      isFirst = false;
      if (piece.startsWith('\uFEFF')) piece = piece.slice(1);
    }
    rest += piece;
    let start = 0;
    for (;;) {
      const end = lineEnd(rest, start);
      if (end < 0) break;
      // A CR at the very end may be the first half of CRLF.
      if (rest[end] === '\r' && end + 1 === rest.length) break;
      const line = rest.slice(start, end);
      start = end + (rest.startsWith('\r\n', end) ? 2 : 1);
      if (line === '') {
        if (data.length) onData(data.join('\n'));
        data = [];
      } else if (line === 'data' || line.startsWith('data:')) {
        const value = line.slice(5);
        data.push(value.startsWith(' ') ? value.slice(1) : value);
      }
    }
    rest = rest.slice(start);
  };
}

function lineEnd(text, start) {
  const lf = text.indexOf('\n', start);
  const cr = text.indexOf('\r', start);
  return cr >= 0 && (lf < 0 || cr < lf) ? cr : lf;
}

/** Reads the body of a reply to its end. */
export async function readEvents(response, onData) {
  const parse = eventParser(onData);
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parse(decoder.decode(value, { stream: true }));
  }
}
