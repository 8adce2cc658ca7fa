import { createContext, useContext, useSyncExternalStore } from 'react';

/** Where the choices of a person for the tables and parts of the page are stored, by their names. */
export interface ViewStore {
  /** Calls back after a change, also by another page. Returns a function that ends it. */
  readonly subscribe: (onChange: () => void) => () => void;
  readonly read: (name: string) => string | null;
  readonly write: (name: string, view: string) => void;
}

/** `null`: tables have no choices, as in pages of other teams. */
export const ViewStoreContext = createContext<ViewStore | null>(null);

/** The stored choice, and what stores another one. Both are `null` without a store or a name. */
export function useStored(name: string | undefined): readonly [string | null, ((choice: string) => void) | null] {
  const store = useContext(ViewStoreContext);
  const stored = useSyncExternalStore(store?.subscribe ?? never, () => store?.read(name ?? '') ?? null);
  return store === null || name === undefined ? [null, null] : [stored, (choice) => store.write(name, choice)];
}

const never = () => () => undefined;
