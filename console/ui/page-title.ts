import { useEffect, useSyncExternalStore } from 'react';

/** From the whole to its parts: `OBJECT · SCREEN · PLACE – Brokergraph`. */
const LEVELS = ['OBJECT', 'SCREEN', 'PLACE'] as const;
type Level = (typeof LEVELS)[number];

const PRODUCT = 'Brokergraph';
const shown = new Map<Level, string>();
let alerts = 0;
const listeners = new Set<() => void>();

/**
 * A part of the title of the page while the caller is shown; none if it is empty. Tabs, bookmarks and the history of a
 * browser have it.
 */
export function usePageTitle(level: Level, text: string): void {
  useEffect(() => {
    if (text === '') return;
    shown.set(level, text);
    changed();
    return () => {
      // The next screen may have set its own already.
      if (shown.get(level) === text) shown.delete(level);
      changed();
    };
  }, [level, text]);
}

/** A number before the title while the caller is shown, which tabs in the background show as well; none if it is 0. */
export function usePageAlerts(count: number): void {
  useEffect(() => {
    alerts = count;
    changed();
    return () => {
      alerts = 0;
      changed();
    };
  }, [count]);
}

function changed(): void {
  const parts = LEVELS.map((level) => shown.get(level)).filter((part) => part !== undefined);
  const title = parts.length === 0 ? PRODUCT : `${parts.join(' · ')} – ${PRODUCT}`;
  document.title = alerts === 0 ? title : `(${alerts}) ${title}`;
  for (const listener of listeners) listener();
}

/** The title of the page, for those who do not see that another screen is shown. */
export const useShownTitle = (): string => useSyncExternalStore(subscribe, () => document.title);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
