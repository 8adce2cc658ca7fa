import { randomBytes } from 'node:crypto';
import { hashSecret } from '../../platform/auth/secrets.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';

/** More than these and the ones that began first are dropped: anybody may begin one. */
const MAX_ATTEMPTS = 10_000;

/** `state`: a sign-in has begun at the provider; `code`: one has ended there and waits for its session. */
export type AttemptKind = 'state' | 'code';

const LIFETIME_MS: Readonly<Record<AttemptKind, number>> = { state: 10 * 60_000, code: 60_000 };

export interface SignInAttemptsOptions {
  readonly db: Database;
  readonly sealer: Sealer;
  /** Under way at the provider at once. */
  readonly most?: number;
}

/** Sign-ins under way, in the database: the browser may come back to another process. Each is taken once. */
export class SignInAttempts {
  readonly #db: Database;
  readonly #sealer: Sealer;
  readonly #most: number;

  constructor({ db, sealer, most = MAX_ATTEMPTS }: SignInAttemptsOptions) {
    this.#db = db;
    this.#sealer = sealer;
    this.#most = most;
  }

  /** The secret that it is taken with. `content` is JSON. */
  async keep(kind: AttemptKind, provider: string, content: unknown): Promise<string> {
    const secret = randomBytes(32).toString('base64url');
    const secretHash = hashOf(kind, secret);
    const now = Date.now();
    await this.#db.signInAttempt.deleteMany({ where: { expiresAt: { lte: new Date(now) } } });
    if (kind === 'state') await this.#makeRoom(now);
    const sealed = this.#sealer.seal(JSON.stringify(content), attemptContext(secretHash));
    const expiresAt = new Date(now + LIFETIME_MS[kind]);
    await this.#db.signInAttempt.create({ data: { secretHash, provider, sealed, expiresAt } });
    return secret;
  }

  /** What was kept, once; null: there is no such secret, it is too late, or it is not for the caller, which takes nothing away. */
  async take<Content>(
    kind: AttemptKind,
    secret: string,
    isForCaller: (content: Content) => boolean = () => true,
  ): Promise<Content | null> {
    const secretHash = hashOf(kind, secret);
    const attempt = await this.#db.signInAttempt.findUnique({ where: { secretHash } });
    if (attempt === null) return null;
    const content = JSON.parse(this.#sealer.open(attempt.sealed, attemptContext(secretHash))) as Content;
    if (!isForCaller(content)) return null;
    // Of two who come at once, one takes it.
    const { count } = await this.#db.signInAttempt.deleteMany({ where: { secretHash } });
    return count === 0 || attempt.expiresAt.getTime() <= Date.now() ? null : content;
  }

  /** Whoever has a code is known; those who end within its time are about to go anyway. */
  async #makeRoom(now: number): Promise<void> {
    const where = { expiresAt: { gt: new Date(now + LIFETIME_MS.code) } };
    const over = (await this.#db.signInAttempt.count({ where })) - this.#most + 1;
    if (over <= 0) return;
    const select = { secretHash: true } as const;
    const first = await this.#db.signInAttempt.findMany({ where, select, orderBy: { expiresAt: 'asc' }, take: over });
    const hashes = first.map(({ secretHash }) => secretHash);
    await this.#db.signInAttempt.deleteMany({ where: { secretHash: { in: hashes } } });
  }
}

const hashOf = (kind: AttemptKind, secret: string): string => hashSecret(`${kind} ${secret}`);
export const attemptContext = (secretHash: string): string => `sign-in attempt ${secretHash}`;
