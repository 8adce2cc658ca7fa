import type { ViewStore } from './view-store.ts';

const keyOf = (name: string) => `brokergraph-table-${name}`;

/** Stored in the browser. */
export const storedViews: ViewStore = {
  subscribe(onChange) {
    addEventListener('storage', onChange);
    return () => removeEventListener('storage', onChange);
  },
  read: (name) => localStorage.getItem(keyOf(name)),
  write(name, view) {
    localStorage.setItem(keyOf(name), view);
    // Browsers send it to other pages only.
    dispatchEvent(new StorageEvent('storage', { key: keyOf(name) }));
  },
};
