import { useMemo } from 'react';
import { useSearch } from 'wouter';

interface AddressValues {
  readonly values: URLSearchParams;
  /** Replaces values; an empty one is removed. */
  readonly set: (changes: Readonly<Record<string, string>>) => void;
}

/**
 * The query of the address. wouter 3.13 decodes it twice, and does not remove its last value, so it is read and written
 * here.
 */
export function useAddressValues(): AddressValues {
  const search = useSearch();
  const values = useMemo(() => new URLSearchParams(location.search), [search]);
  const set = (changes: Readonly<Record<string, string>>) => {
    const address = new URL(location.href);
    for (const [name, value] of Object.entries(changes)) {
      if (value === '') address.searchParams.delete(name);
      else address.searchParams.set(name, value);
    }
    history.replaceState(history.state, '', address);
  };
  return { values, set };
}
