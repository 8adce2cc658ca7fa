import type { SignInRule } from '../../../generated/sqlite/client.ts';
import type { Changes, Stop } from '../../../platform/storage/changes.ts';
import type { Database } from '../../../platform/storage/database.ts';

/** What is needed of a rule to see whom it fits. */
export type KnownRule = Pick<SignInRule, 'projectId' | 'claimPath' | 'pattern' | 'role'>;

/** Read again after this, too: a process that dies between its write and telling of it tells nobody. */
const FRESH_MS = 60_000;

interface Reading {
  readonly rules: Promise<ReadonlyMap<string, readonly KnownRule[]>>;
  readonly beganAt: number;
}

/**
 * The rules of all projects, in memory once somebody needs them: each person who signed in elsewhere is held against all of them. What
 * is asked for after a change was told is read after it; so whoever hears of changes to ask here has to listen later than this does.
 */
export class KnownRules {
  readonly #db: Database;
  readonly #stops: readonly Stop[];
  #reading: Reading | null = null;

  constructor({ db, changes }: { readonly db: Database; readonly changes: Changes }) {
    this.#db = db;
    const forget = () => {
      this.#reading = null;
    };
    // Rules go with their project.
    this.#stops = [changes.on('sign-in-rule', forget), changes.on('project-removed', forget)];
  }

  /** For people of this provider, in order of creation. */
  async of(provider: string): Promise<readonly KnownRule[]> {
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

  async #read(): Promise<ReadonlyMap<string, readonly KnownRule[]>> {
    const select = { provider: true, projectId: true, claimPath: true, pattern: true, role: true } as const;
    const rows = await this.#db.signInRule.findMany({ select, orderBy: { id: 'asc' } });
    const byProvider = new Map<string, KnownRule[]>();
    for (const { provider, ...rule } of rows) {
      const known = byProvider.get(provider);
      if (known === undefined) byProvider.set(provider, [rule]);
      else known.push(rule);
    }
    return byProvider;
  }
}
