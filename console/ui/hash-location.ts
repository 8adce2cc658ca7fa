import { navigate, useHashLocation } from 'wouter/use-hash-location';

type Location = ReturnType<typeof useHashLocation>;

/**
 * The address of a screen is behind `#`, and its filters are in the query. That of wouter 3.13 keeps the query of the
 * previous screen if the new address has none, and its links put the query behind `#`, where nothing reads it.
 */
export function useScreenLocation(options?: Parameters<typeof useHashLocation>[0]): Location {
  const [path] = useHashLocation(options);
  return [path, (to, how) => navigate(to.includes('?') ? to : `${to}?`, how)];
}

/** Links work in new tabs as well. */
useScreenLocation.hrefs = (href: string): string => {
  const [path, query = ''] = href.split('?');
  return `?${query}#${path}`;
};
