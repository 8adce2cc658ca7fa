import { createContext } from 'react';

/** What components know of the page around them. Addresses are those of screens. */
export interface Place {
  /** The query of the address now. */
  readonly query: () => string;
  /** `how`: whether "back" returns to the query before. */
  readonly setQuery: (query: URLSearchParams, how: 'REPLACE' | 'PUSH') => void;
  /** The attributes of a link to another screen, where links of wouter would be too slow. */
  readonly linkTo: (address: string) => { readonly href: string; readonly target?: '_blank' };
}

/** Default: a screen of the console. */
export const PlaceContext = createContext<Place>({
  query: () => location.search,
  setQuery(query, how) {
    const address = new URL(location.href);
    address.search = String(query);
    if (how === 'PUSH') history.pushState(history.state, '', address);
    else history.replaceState(history.state, '', address);
  },
  linkTo: (address) => ({ href: `#${address}` }),
});

/** What follows the address of the page in that of a screen. */
export function partsOf(address: string): string {
  const [path, query = ''] = address.split('?');
  return `?${query}#${path}`;
}
