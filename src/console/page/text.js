// Text from servers, clients and models is untrusted. This module makes characters visible that a person does not see but
// a model reads, and characters that change the order of others.

import { html } from './preact.js';

const ANSI = '\\u001b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\\u0007\\u001b]*(?:\\u0007|\\u001b\\\\)?)';
const TAGS = '[\\u{E0000}-\\u{E007F}]+';
/** Variation selectors and the joiner are ordinary in emoji. */
const EMOJI =
  '\\p{Extended_Pictographic}[\\u{1F3FB}-\\u{1F3FF}]?(?:\\uFE0F?\\u200D\\p{Extended_Pictographic}[\\u{1F3FB}-\\u{1F3FF}]?)*\\uFE0F?';
/** A run of variation selectors can encode bytes. */
const SELECTORS = '[\\uFE00-\\uFE0F\\u{E0100}-\\u{E01EF}]{2,}';
const STACK = '\\p{M}{9,}';
const HIDDEN = '(?![\\n\\t])[\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}\\p{Default_Ignorable_Code_Point}\\u2028\\u2029\\u2800]';
const PATTERN = new RegExp(`${ANSI}|${TAGS}|${EMOJI}|${SELECTORS}|${STACK}|${HIDDEN}`, 'gu');
const IS_EMOJI = new RegExp(`^${EMOJI}$`, 'u');

const NAMES = {
  0x00: 'null',
  0x07: 'bell',
  0x08: 'backspace',
  0x0d: 'carriage return',
  0x1b: 'escape',
  0x7f: 'delete',
  0xad: 'soft hyphen',
  0x61c: 'Arabic letter mark',
  0x180e: 'Mongolian vowel separator',
  0x200b: 'zero width space',
  0x200c: 'zero width non-joiner',
  0x200d: 'zero width joiner',
  0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark',
  0x2028: 'line separator',
  0x2029: 'paragraph separator',
  0x202a: 'left-to-right embedding',
  0x202b: 'right-to-left embedding',
  0x202c: 'end of embedding',
  0x202d: 'left-to-right override',
  0x202e: 'right-to-left override',
  0x2060: 'word joiner',
  0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate',
  0x2068: 'first strong isolate',
  0x2069: 'end of isolate',
  0x2800: 'blank braille pattern',
  0xfeff: 'byte order mark',
};

const codeOf = (character) => {
  const code = character.codePointAt(0);
  return { code, label: `U+${code.toString(16).toUpperCase().padStart(4, '0')}` };
};

const isSelector = (code) => (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0100 && code <= 0xe01ef);

/** A mark with the text that invisible characters spell. */
function spelled(what, hidden, byteOf, title) {
  const said = [...hidden].map((character) => byteOf(character.codePointAt(0)));
  const text = said.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '')).join('');
  return { label: text ? `${what}: ${text}` : `${codeOf(hidden).label} × ${said.length}`, title };
}

function markOf(hidden) {
  const { code, label } = codeOf(hidden);
  if (code === 0x1b && hidden.length > 1) {
    const sequence = hidden.slice(1).replace(/[\u0007\u001b]/g, '');
    return { label: `ESC${sequence}`, title: 'terminal escape sequence' };
  }
  if (code >= 0xe0000 && code <= 0xe007f) {
    return spelled('tags', hidden, (tag) => tag - 0xe0000, 'invisible tag characters, which a model can read');
  }
  if (isSelector(code)) {
    return spelled(
      'selectors',
      hidden,
      (selector) => (selector < 0xe0100 ? selector - 0xfe00 : selector - 0xe0100 + 16),
      'invisible variation selectors, which can encode text',
    );
  }
  if (hidden.length > 2) return { label: `${[...hidden].length} combining marks`, title: 'a stack of combining marks' };
  return {
    label,
    title: NAMES[code] ?? (code >= 0xd800 && code < 0xe000 ? 'half of a character' : 'invisible character'),
  };
}

/** The text in parts: strings that can be shown as they are, and marks `{label, title}` for what cannot be seen. */
export function segments(text) {
  const parts = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(PATTERN)) {
    if (IS_EMOJI.test(found)) continue;
    if (index > from) parts.push(text.slice(from, index));
    parts.push(markOf(found));
    from = index + found.length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return parts;
}

/** The text with marks in brackets, for attributes and options, which can hold only text. */
export const plain = (text) =>
  segments(String(text ?? ''))
    .map((part) => (part.label ? `[${part.label}]` : part))
    .join('');

/** The number of invisible sequences in a text. */
export const hiddenIn = (text) => segments(String(text ?? '')).filter((part) => part.label).length;

/** Untrusted text as text nodes, with its marks. */
export function Text({ value, limit }) {
  let text = typeof value === 'string' ? value : String(value ?? '');
  if (limit && text.length > limit) text = `${text.slice(0, limit)}…`;
  return html`<bdi class="text">${segments(text).map((part) =>
    part.label ? html`<span class="mark" title=${part.title}>${part.label}</span>` : part,
  )}</bdi>`;
}

/** The string that a shell reads as one word, without anything that a terminal would act on. */
export function shellWord(text) {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  if (!hiddenIn(text) && !text.includes('\n')) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = [...text].map((character) => {
    const { code } = codeOf(character);
    if (character === "'" || character === '\\') return `\\${character}`;
    return code < 0x20 || hiddenIn(character) ? `\\U${code.toString(16).padStart(8, '0')}` : character;
  });
  return `$'${escaped.join('')}'`;
}

/** JSON text in which nothing is invisible. */
export const visibleJson = (json) =>
  json.replace(PATTERN, (found) =>
    IS_EMOJI.test(found)
      ? found
      : Array.from(
          { length: found.length },
          (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`,
        ).join(''),
  );
