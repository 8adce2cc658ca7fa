import type { SignInRule } from '../../../generated/sqlite/client.ts';
import type { Changes, Stop } from '../../../platform/storage/changes/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';

export type CachedRule = Pick<SignInRule, 'projectId' | 'claimPath' | 'pattern' | 'role'>;

/** The rules are read again after this time, because a process may exit between a write and its announcement. */
const FRESH_MS = 60_000;

interface Reading {
  readonly rules: Promise<ReadonlyMap<string, readonly CachedRule[]>>;
  readonly beganAt: number;
}

/**
 * A cache of the rules of all projects, read at the first use and after changes. A part that uses them on a change must
 * subscribe to changes later than this cache.
 */
export class RuleCache {
  readonly #db: Database;
  readonly #stops: readonly Stop[];
  #reading: Reading | null = null;

  constructor({ db, changes }: { readonly db: Database; readonly changes: Changes }) {
    this.#db = db;
    const evict = () => {
      this.#reading = null;
    };
    // A deleted project deletes its rules.
    this.#stops = [changes.on('sign-in-rule', evict), changes.on('project-removed', evict)];
  }

  async of(provider: string): Promise<readonly CachedRule[]> {
    if (this.#reading === null || performance.now() - this.#reading.beganAt > FRESH_MS) {
      this.#reading = { rules: this.#read(), beganAt: performance.now() };
    }
    const reading = this.#reading;
    try {
      return (await reading.rules).get(provider) ?? [];
    } catch (error) {
      if (this.#reading === reading) this.#reading = null;
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
  }

  async #read(): Promise<ReadonlyMap<string, readonly CachedRule[]>> {
    const select = { provider: true, projectId: true, claimPath: true, pattern: true, role: true } as const;
    const rows = await this.#db.signInRule.findMany({ select, orderBy: { id: 'asc' } });
    const providers = new Set(rows.map(({ provider }) => provider));
    return new Map([...providers].map((name) => [name, rows.filter(({ provider }) => provider === name)]));
  }
}
