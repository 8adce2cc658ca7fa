import { useAddressValues } from './address-values.ts';

/** Whether a form is open. It is in the address, as in `?new=token`, so that links can open it. */
export function useOpened(form: string): readonly [boolean, (isOpen: boolean) => void] {
  const { values, set } = useAddressValues();
  return [values.get('new') === form, (isOpen) => set({ new: isOpen ? form : '' })];
}
