import { useMemo } from 'react';
import { useSearch } from 'wouter';

interface AddressValues {
  readonly values: URLSearchParams;
  /** Changes values; an empty one is removed. `how`: whether "back" returns to the values before. Default: no. */
  readonly set: (changes: Readonly<Record<string, string>>, how?: 'REPLACE' | 'PUSH') => void;
}

/**
 * The query of the address. wouter 3.13 decodes it twice, and does not remove its last value, so it is read and written
 * here.
 */
export function useAddressValues(): AddressValues {
  const search = useSearch();
  const values = useMemo(() => new URLSearchParams(location.search), [search]);
  const set: AddressValues['set'] = (changes, how = 'REPLACE') => {
    const address = new URL(location.href);
    for (const [name, value] of Object.entries(changes)) {
      if (value === '') address.searchParams.delete(name);
      else address.searchParams.set(name, value);
    }
    if (how === 'PUSH') history.pushState(history.state, '', address);
    else history.replaceState(history.state, '', address);
  };
  return { values, set };
}
