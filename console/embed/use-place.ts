import { useMemo } from 'react';
import type { RouterOptions } from 'wouter';
import { memoryLocation } from 'wouter/memory-location';
import { type Place, partsOf } from '../ui/place.ts';

/**
 * An element shows a screen of the console whose filters are not in the address of the page. Links to other screens
 * open the console in a new tab.
 */
export function usePlace(service: string, path: string, query: string): { place: Place; router: RouterOptions } {
  return useMemo(() => {
    const { hook, searchHook, navigate, history } = memoryLocation({ path, searchPath: query, record: true });
    const inConsole = (address: string) => `${service}${partsOf(address)}`;
    const go = (address: string) => {
      if (address.split('?')[0] === path) navigate(address, { replace: true });
      else window.open(inConsole(address), '_blank', 'noopener');
    };
    return {
      place: {
        query: () => history.at(-1)?.split('?')[1] ?? '',
        setQuery: (changed) => go(`${path}?${changed}`),
        linkTo: (address) => ({ href: inConsole(address), target: '_blank' }),
      },
      router: { hook, searchHook, hrefs: inConsole, aroundNav: (_navigate, address) => go(address) },
    };
  }, [service, path, query]);
}
