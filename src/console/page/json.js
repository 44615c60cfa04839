// JSON whose numbers keep their text: JavaScript would turn 9007199254740993 into 9007199254740992 and 1.10 into 1.1.

/** A number that JavaScript would write differently. */
export class NumberText {
  constructor(text) {
    this.text = text;
  }
  toString() {
    return this.text;
  }
}

export const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
/** What a number may look like that JavaScript would change. */
const SUSPICIOUS = /[0-9]{16}|[0-9]\.[0-9]|[0-9][eE]|-0/;

/** Parses JSON. Throws a SyntaxError like `JSON.parse`. */
export function parse(text) {
  const plain = JSON.parse(text);
  return SUSPICIOUS.test(text) ? new Reader(text).value() : plain;
}

/** Reads text that is known to be JSON. */
class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  peek() {
    while (' \t\n\r'.includes(this.text[this.at])) this.at++;
    return this.text[this.at];
  }

  value() {
    switch (this.peek()) {
      case '{': {
        const object = {};
        this.items('}', () => {
          this.peek();
          const key = this.string();
          this.peek();
          this.at++;
          // Assigning to `__proto__` would set the prototype.
          Object.defineProperty(object, key, {
            value: this.value(),
            enumerable: true,
            configurable: true,
            writable: true,
          });
        });
        return object;
      }
      case '[': {
        const array = [];
        this.items(']', () => array.push(this.value()));
        return array;
      }
      case '"':
        return this.string();
      default:
        return this.scalar();
    }
  }

  items(close, item) {
    this.at++;
    if (this.peek() !== close) {
      do {
        item();
      } while (this.peek() === ',' && ++this.at);
    }
    this.at++;
  }

  string() {
    let end = this.at;
    let escapes;
    // A quote after an odd number of backslashes belongs to the string.
    do {
      end = this.text.indexOf('"', end + 1);
      for (escapes = 0; this.text[end - 1 - escapes] === '\\';) escapes++;
    } while (escapes % 2);
    const text = this.text.slice(this.at, end + 1);
    this.at = end + 1;
    return JSON.parse(text);
  }

  scalar() {
    const pattern = /[a-z]+|[-+0-9.eE]+/y;
    pattern.lastIndex = this.at;
    const [text] = pattern.exec(this.text);
    this.at += text.length;
    const value = JSON.parse(text);
    return typeof value === 'number' && String(value) !== text ? new NumberText(text) : value;
  }
}

/** Writes JSON; with an indent, over several lines. */
export function stringify(value, indent = '', outer = '') {
  if (value instanceof NumberText) return value.text;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const inner = outer + indent;
  const items = Array.isArray(value)
    ? value.map((item) => stringify(item, indent, inner))
    : Object.entries(value).map(
        ([key, item]) => `${JSON.stringify(key)}:${indent && ' '}${stringify(item, indent, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  if (!items.length) return open + close;
  return indent ? `${open}\n${inner}${items.join(`,\n${inner}`)}\n${outer}${close}` : open + items.join(',') + close;
}

export const pretty = (value) => stringify(value, '  ');

export const isObject = (value) =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof NumberText);
