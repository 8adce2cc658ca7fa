import { useContext, useMemo } from 'react';
import { useRouter } from 'wouter';
import { PlaceContext } from './place.ts';

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
  const router = useRouter();
  const search = router.searchHook(router);
  const place = useContext(PlaceContext);
  const values = useMemo(() => new URLSearchParams(search), [search]);
  const set: AddressValues['set'] = (changes, how = 'REPLACE') => {
    const query = new URLSearchParams(place.query());
    for (const [name, value] of Object.entries(changes)) {
      if (value === '') query.delete(name);
      else query.set(name, value);
    }
    place.setQuery(query, how);
  };
  return { values, set };
}
