// Describes what happened to an item that a server offers, from its history.

import { html } from './preact.js';
import { address } from './navigation.js';
import { Text } from './text.js';

/**
 * What was decided about an item: one or more of `same`, `renamed`, `rewritten`, `wrapped`, `made`, `searchable`, `hidden`,
 * and `published` if nothing more is known.
 */
export function decisions(history) {
  if (['made', 'hidden', 'searchable', 'published'].includes(history.became)) return [history.became];
  const found = [];
  if (history.became === 'wrapped') found.push('wrapped');
  if (history.publishedAs !== null && history.publishedAs !== history.name) found.push('renamed');
  if (history.changed.length) found.push('rewritten');
  return found.length ? found : ['same'];
}

export const WORDS = { made: 'made by script' };

/** Why an item is hidden. */
export const reasonOf = (history) => history.why ?? (history.became === 'hidden' ? 'no `publish` mentions it' : '');

/** Where the script decided: where it published the item, or where it said why not. */
export const siteOf = (history) => history.publishedAt ?? history.skippedAt ?? null;

/** `policy.star:12`, linked to the line. */
export function Site({ site }) {
  if (!site?.length) return null;
  // The lines that call a library say more than the lines inside it.
  return html`<span class="site">${site.map(
    (line, at) => html`${at > 0 && ' ← '}<a key=${at} href=${address('script', `${line.file}:${line.line}`)}>
    <${Text} value=${`${line.file}:${line.line}`} /></a>`,
  )}</span>`;
}

/** The most relevant line: the innermost one outside the proxy's libraries. */
export const mainLine = (site) => site?.find((line) => !line.file.startsWith('@proxy//')) ?? site?.[0];

export const nameOf = (item) =>
  item.definition.name && item.kind !== 'resource' && item.kind !== 'resource template'
    ? item.definition.name
    : (item.definition.uri ?? item.definition.uriTemplate ?? item.definition.name);

/** Every history with the definitions before and after. */
export function joined(surface) {
  const keyOf = (...parts) => JSON.stringify(parts);
  const offered = new Map(surface.offered.map((item) => [keyOf(item.kind, item.server, nameOf(item)), item]));
  const published = new Map(surface.published.map((item) => [keyOf(item.kind, nameOf(item)), item]));
  const found = new Set(surface.histories.map((history) => keyOf(history.kind, history.publishedAs)));
  // Items that a server offers only to clients with elicitation have no history.
  const others = surface.published
    .filter((item) => !found.has(keyOf(item.kind, nameOf(item))))
    .map((item) => ({
      kind: item.kind,
      server: item.server,
      name: nameOf(item),
      became: 'published',
      publishedAs: nameOf(item),
      changed: [],
      edits: [],
      publishedAt: null,
      handler: null,
      why: null,
      skippedAt: null,
    }));
  return [...surface.histories, ...others].map((history) => ({
    key: keyOf(history.kind, history.server, history.name, history.publishedAs),
    history,
    before: offered.get(keyOf(history.kind, history.server, history.name)),
    after: history.publishedAs === null ? undefined : published.get(keyOf(history.kind, history.publishedAs)),
  }));
}
