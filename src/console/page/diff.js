// The difference of two texts, as parts `{text, kind}` with the kinds `same`, `removed` and `added`.

const MAX_PIECES = 1500;

export const wordDiff = (before, after) => difference(before, after, /\s+|\S+/g);

export const lineDiff = (before, after) => difference(before, after, /[^\n]*\n|[^\n]+$/g);

/** Of the pieces that match; in texts that are too long all of them differ. */
function difference(before, after, piece) {
  const a = before.match(piece) ?? [];
  const b = after.match(piece) ?? [];
  if (a.length > MAX_PIECES || b.length > MAX_PIECES)
    return [
      { text: before, kind: 'removed' },
      { text: after, kind: 'added' },
    ];
  // common[i][j] is the length of the longest common subsequence of a[i..] and b[j..].
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const parts = [];
  const add = (text, kind) => {
    const last = parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else parts.push({ text, kind });
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add(a[i], 'same');
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) {
      add(a[i++], 'removed');
    } else {
      add(b[j++], 'added');
    }
  }
  return parts;
}
