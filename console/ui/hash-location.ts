import { useSyncExternalStore } from 'react';
import { navigate, useHashLocation } from 'wouter/use-hash-location';
import { partsOf } from './place.ts';

type Location = ReturnType<typeof useHashLocation>;

/**
 * The address of a screen is behind `#`, and its filters are in the query. That of wouter 3.13 keeps the query of the
 * previous screen if the new address has none, and its links put the query behind `#`, where nothing reads it.
 */
export function useScreenLocation(options?: Parameters<typeof useHashLocation>[0]): Location {
  const [path] = useHashLocation(options);
  useSyncExternalStore(onReturn, () => location.hash);
  return [path, (to, how) => navigate(to.includes('?') ? to : `${to}?`, how)];
}

/** "Back" to an address with another query is no change of the hash for browsers, but they report it. */
function onReturn(listener: () => void): () => void {
  addEventListener('popstate', listener);
  return () => removeEventListener('popstate', listener);
}

/** Links work in new tabs as well. */
useScreenLocation.hrefs = partsOf;
