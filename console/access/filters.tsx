import { useAddressValues } from '../ui/address-values.ts';

/** The filters of a list, which are in the address. A changed filter returns to the first page. */
export function useFilters() {
  const { values, set } = useAddressValues();
  return {
    get: (key: string) => values.get(key) ?? '',
    set: (key: string, value: string) => set({ [key]: value, page: '' }),
  };
}
