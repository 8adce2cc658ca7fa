import { timingSafeEqual } from 'node:crypto';
import type { OpenedSession, Sessions } from '../../platform/auth/sessions.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Database } from '../../platform/storage/database.ts';
import { type EndedSignIn, sha256 } from './oidc/oidc-sign-in.ts';
import type { SignInAttempts } from './sign-in-attempts.ts';
import type { SignInChecks } from './sign-in-checks.ts';

interface SignInServiceOptions {
  readonly db: Database;
  readonly attempts: SignInAttempts;
  readonly sessions: Sessions;
  readonly checks: SignInChecks;
  readonly offers: SignInOffers;
}

export interface SignInOffers {
  readonly local: boolean;
  readonly ldap: boolean;
  readonly openIdConnect: boolean;
}

export class SignInService {
  readonly #options: SignInServiceOptions;
  readonly checks: SignInChecks;
  readonly offers: SignInOffers;

  constructor(options: SignInServiceOptions) {
    this.#options = options;
    this.checks = options.checks;
    this.offers = options.offers;
  }

  async complete(
    { code, verifier }: { readonly code: string; readonly verifier?: string | null | undefined },
    address: string,
  ): Promise<OpenedSession> {
    const ended = await this.#options.attempts.take<EndedSignIn>('code', code);
    if (ended === null || !isVerified(ended.challenge, verifier ?? null)) throw unknownCode();
    const user = await this.#options.db.user.findUnique({ where: { id: ended.userId }, select: { ssoType: true } });
    if (user?.ssoType !== 'sso') throw unknownCode();
    return this.#options.sessions.open(ended.userId, { provider: 'sso', address });
  }
}

/** A verifier without a challenge is also refused (RFC 9700 4.8.2): the code belongs to another sign-in. */
function isVerified(challenge: string | null, verifier: string | null): boolean {
  if (challenge === null || verifier === null) return challenge === verifier;
  return timingSafeEqual(Buffer.from(challenge), Buffer.from(sha256(verifier)));
}

const unknownCode = () => new ServiceError('UNAUTHORIZED', 'The code is unknown, was used before, or has expired');
