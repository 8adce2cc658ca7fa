import { createContext } from 'react';

/** Where the choices of a person for the tables of the page are stored, by the names of the lists. */
export interface ViewStore {
  /** Calls back after a change, also by another page. Returns a function that ends it. */
  readonly subscribe: (onChange: () => void) => () => void;
  readonly read: (name: string) => string | null;
  readonly write: (name: string, view: string) => void;
}

/** `null`: tables have no choices, as in pages of other teams. */
export const ViewStoreContext = createContext<ViewStore | null>(null);
