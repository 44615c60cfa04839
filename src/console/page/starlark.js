// The words of a Starlark file, for colours.

const KEYWORDS = 'and|break|continue|def|elif|else|for|if|in|lambda|load|not|or|pass|return|True|False|None';
const TOKEN = new RegExp(
  [
    '(?<comment>#[^\\n]*)',
    '(?<string>[rb]{0,2}(?:"""(?:\\\\[\\s\\S]|(?!""")[\\s\\S])*(?:"""|$)|\'\'\'(?:\\\\[\\s\\S]|(?!\'\'\')[\\s\\S])*(?:\'\'\'|$)|"(?:\\\\.|[^"\\\\\\n])*"?|\'(?:\\\\.|[^\'\\\\\\n])*\'?))',
    `(?<keyword>\\b(?:${KEYWORDS})\\b)`,
    '(?<number>\\b[0-9][0-9a-fA-FxX_.]*)',
    '(?<name>[A-Za-z_][A-Za-z_0-9]*)',
  ].join('|'),
  'g',
);

/** The lines of a file, each as parts `{text, kind}`; the kind is `comment`, `string`, `keyword`, `number` or empty. */
export function highlighted(source) {
  const lines = [[]];
  const add = (text, kind) =>
    text.split('\n').forEach((part, at) => {
      if (at) lines.push([]);
      if (part) lines.at(-1).push({ text: part, kind });
    });
  let from = 0;
  for (const found of source.matchAll(TOKEN)) {
    add(source.slice(from, found.index), '');
    const [kind] = Object.entries(found.groups).find(([, text]) => text !== undefined);
    add(found[0], kind === 'name' ? '' : kind);
    from = found.index + found[0].length;
  }
  add(source.slice(from), '');
  if (lines.length > 1 && !lines.at(-1).length) lines.pop();
  return lines;
}
