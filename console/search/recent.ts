import { storedJson } from '../ui/stored-json.ts';
import type { Found } from './found.ts';

const STORED = 'brokergraph-recent';
const MAX_RECENT = 8;

interface Stored {
  /** Who opened the results. */
  readonly person: string;
  readonly found: readonly Found[];
}

/** The results that the person opened last in this browser, the last one first. */
export function recentOf(person: string): readonly Found[] {
  const stored = storedJson<Stored>(localStorage.getItem(STORED));
  return stored?.person === person ? stored.found : [];
}

/** Adds a result, without what verbs would do with it. */
export function addRecent(person: string, { kind, name, of, address }: Found): void {
  const others = recentOf(person).filter((one) => one.address !== address);
  const found = [{ kind, name, of, address }, ...others].slice(0, MAX_RECENT);
  localStorage.setItem(STORED, JSON.stringify({ person, found } satisfies Stored));
}

export const forgetRecent = (): void => localStorage.removeItem(STORED);
