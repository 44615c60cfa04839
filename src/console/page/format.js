// Numbers, times and sizes as people read them.

const number = new Intl.NumberFormat('en');

export const count = (value) => (value === null || value === undefined ? '–' : number.format(Number(value)));

export const plural = (value, one, many = `${one}s`) => `${count(value)} ${Number(value) === 1 ? one : many}`;

export function milliseconds(value) {
  if (value === null || value === undefined) return '–';
  const ms = Number(value);
  if (ms >= 100000) return `${Math.round(ms / 1000)} s`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms >= 100 ? Math.round(ms) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2)} ms`;
}

export function bytes(value) {
  if (value < 1000) return `${value} B`;
  return value < 1e6 ? `${(value / 1e3).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}

/** A duration in its largest unit. */
export function age(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const units = [
    [86400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  const [size, unit] = units.find(([least]) => seconds >= least) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** The time of day of an RFC 3339 time, in the zone of the browser. */
export function clock(at) {
  const time = new Date(at);
  const two = (part) => String(part).padStart(2, '0');
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${String(time.getMilliseconds()).padStart(3, '0')}`;
}
