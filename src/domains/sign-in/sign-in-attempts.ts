import { randomBytes } from 'node:crypto';
import { hashSecret } from '../../platform/auth/secrets.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';

/** Maximum number of pending sign-ins, which need no credentials. Beyond it the oldest ones are deleted. */
const MAX_ATTEMPTS = 10_000;

/** `state`: a sign-in has begun at the provider. `code`: it has succeeded there, and its session is not opened yet. */
type AttemptKind = 'state' | 'code';

const LIFETIME_MS: Readonly<Record<AttemptKind, number>> = { state: 10 * 60_000, code: 60_000 };

interface SignInAttemptsOptions {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly maxAttempts?: number;
}

/** Pending sign-ins in the database, because the browser may return to another process. Each one is used once. */
export class SignInAttempts {
  readonly #db: Database;
  readonly #options: SignInAttemptsOptions;

  constructor(options: SignInAttemptsOptions) {
    this.#db = options.db;
    this.#options = options;
  }

  async store(kind: AttemptKind, provider: string, content: unknown): Promise<string> {
    const secret = randomBytes(32).toString('base64url');
    const secretHash = hashOf(kind, secret);
    const now = Date.now();
    await this.#db.signInAttempt.deleteMany({ where: { expiresAt: { lte: new Date(now) } } });
    if (kind === 'state') await this.#makeRoom(now);
    const sealed = this.#options.sealer.seal(JSON.stringify(content), attemptContext(secretHash));
    const expiresAt = new Date(now + LIFETIME_MS[kind]);
    await this.#db.signInAttempt.create({ data: { secretHash, provider, sealed, expiresAt } });
    return secret;
  }

  /**
   * Returns the content once. `null` if the secret is unknown or expired, or if `isForCaller` is false, which deletes
   * nothing.
   */
  async take<Content>(
    kind: AttemptKind,
    secret: string,
    isForCaller: (content: Content) => boolean = () => true,
  ): Promise<Content | null> {
    const secretHash = hashOf(kind, secret);
    const attempt = await this.#db.signInAttempt.findUnique({ where: { secretHash } });
    if (attempt === null) return null;
    const content = JSON.parse(this.#options.sealer.open(attempt.sealed, attemptContext(secretHash))) as Content;
    if (!isForCaller(content)) return null;
    // Only one of two concurrent calls deletes the row.
    const { count } = await this.#db.signInAttempt.deleteMany({ where: { secretHash } });
    return count === 0 || attempt.expiresAt.getTime() <= Date.now() ? null : content;
  }

  /** Deletes the oldest attempts above the maximum. Codes need a successful sign-in and are not counted. */
  async #makeRoom(now: number): Promise<void> {
    const where = { expiresAt: { gt: new Date(now + LIFETIME_MS.code) } };
    const { maxAttempts = MAX_ATTEMPTS } = this.#options;
    const over = (await this.#db.signInAttempt.count({ where })) - maxAttempts + 1;
    if (over <= 0) return;
    const select = { secretHash: true } as const;
    const first = await this.#db.signInAttempt.findMany({ where, select, orderBy: { expiresAt: 'asc' }, take: over });
    const hashes = first.map(({ secretHash }) => secretHash);
    await this.#db.signInAttempt.deleteMany({ where: { secretHash: { in: hashes } } });
  }
}

const hashOf = (kind: AttemptKind, secret: string): string => hashSecret(`${kind} ${secret}`);
export const attemptContext = (secretHash: string): string => `sign-in attempt ${secretHash}`;
