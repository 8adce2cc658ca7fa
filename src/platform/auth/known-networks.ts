import { LRUCache } from 'lru-cache';
import type { KnownNetwork } from '../../generated/sqlite/client.ts';
import { entryLimit } from '../limits/entry-limit.ts';
import { networkOf } from '../limits/network.ts';
import type { Database } from '../storage/database.ts';
import { accountKey } from './login-throttle.ts';

const DAY_MS = 24 * 60 * 60_000;
const KNOWN_MS = 30 * DAY_MS;
/** Of one user. Beyond it the network unused for longest is deleted. */
const MAX_NETWORKS = 16;
const MAX_READ = 1_000;

/** Networks from which accounts signed in with a password in the last 30 days. They are deleted with the user. */
export class KnownNetworks {
  readonly #db: Database;
  /** What `isKnown` has read just before a sign-in, so that `add` does not read it again. */
  readonly #read = new LRUCache<string, KnownNetwork>(entryLimit(MAX_READ));

  constructor(db: Database) {
    this.#db = db;
  }

  async isKnown(account: string, address: string): Promise<boolean> {
    const where = keyOf(account, address);
    const known = await this.#db.knownNetwork.findUnique({ where });
    if (known === null) this.#read.delete(textOf(where));
    else this.#read.set(textOf(where), known);
    return known !== null && Date.now() - known.signedInAt.getTime() < KNOWN_MS;
  }

  /** Records a sign-in; writes at most once a day for each network. */
  async add(userId: string, account: string, address: string): Promise<void> {
    const where = keyOf(account, address);
    const now = Date.now();
    const known = this.#read.get(textOf(where));
    if (known !== undefined && known.userId === userId && now - known.signedInAt.getTime() < DAY_MS) return;
    const entry = { userId, signedInAt: new Date(now) };
    this.#read.delete(textOf(where));
    await this.#db.knownNetwork.upsert({ where, create: { ...where.account_network, ...entry }, update: entry });
    const latest = await this.#db.knownNetwork.findMany({
      where: { userId, signedInAt: { gt: new Date(now - KNOWN_MS) } },
      orderBy: [{ signedInAt: 'desc' }, { network: 'asc' }],
      take: MAX_NETWORKS,
    });
    const oldest = latest.at(-1)?.signedInAt ?? entry.signedInAt;
    await this.#db.knownNetwork.deleteMany({ where: { userId, signedInAt: { lt: oldest } } });
  }

  async accountsOf(userId: string): Promise<readonly string[]> {
    const found = await this.#db.knownNetwork.findMany({ where: { userId }, distinct: ['account'] });
    return found.map(({ account }) => account);
  }
}

const textOf = ({ account_network: { account, network } }: ReturnType<typeof keyOf>) => `${network} ${account}`;

const keyOf = (account: string, address: string) => ({
  account_network: { account: accountKey(account), network: networkOf(address) },
});
