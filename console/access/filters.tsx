import { useAddressValues } from '../ui/address-values.ts';

/** The filters of a list, which are in the address. A changed filter returns to the first page. */
export function useFilters() {
  const { values, set } = useAddressValues();
  return {
    get: (key: string) => values.get(key) ?? '',
    set: (key: string, value: string) =>
      set(key === 'page' ? { page: value } : { [key]: value, page: '' }, key === 'page' ? 'PUSH' : 'REPLACE'),
    page: Math.max(1, Number(values.get('page')) || 1),
  };
}
