// The view in the address: `#/tools/NAME`. A fragment never reaches a server or its log.

import { useEffect, useState } from './preact.js';

/** The address of a view, or of one thing in it. */
export const address = (view, item) => `#/${view}${item === undefined ? '' : `/${encodeURIComponent(item)}`}`;

function current() {
  const [view = '', item] = location.hash.replace(/^#\//, '').split('/');
  try {
    return { view, item: item === undefined ? undefined : decodeURIComponent(item) };
  } catch {
    return { view, item: undefined };
  }
}

export const go = (view, item) => {
  location.hash = address(view, item);
};

/** Leaves the thing that is open in a view, unless somebody has gone elsewhere already. */
export const leave = (view) => {
  if (current().view === view) go(view);
};

/** The view and the thing that the address names. */
export function usePlace() {
  const [place, setPlace] = useState(current);
  useEffect(() => {
    const onChange = () => setPlace(current());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return place;
}
