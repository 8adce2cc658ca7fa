import { Counter, type Registry } from 'prom-client';
import { ServiceError } from '../errors.ts';

/** `password`: here. */
type Way = 'password' | 'ldap' | 'sso';

/** Sign-ins since the service began. */
export class SignInCounts {
  readonly #opened: Record<Way, number> = { password: 0, ldap: 0, sso: 0 };
  readonly #refused = new Map<string, number>();

  opened(provider: string | null): void {
    this.#opened[provider === 'ldap' || provider === 'sso' ? provider : 'password'] += 1;
  }

  refused(error: unknown): void {
    const code = error instanceof ServiceError ? error.code : 'INTERNAL_ERROR';
    this.#refused.set(code, (this.#refused.get(code) ?? 0) + 1);
  }

  register(registry: Registry): void {
    const registers = [registry];
    const opened = this.#opened;
    const refused = this.#refused;
    new Counter({
      name: 'brokergraph_sign_ins_total',
      help: 'Sessions that were opened, by where people signed in',
      labelNames: ['provider'],
      registers,
      collect() {
        this.reset();
        for (const [provider, count] of Object.entries(opened)) this.inc({ provider }, count);
      },
    });
    new Counter({
      name: 'brokergraph_sign_ins_refused_total',
      help: 'Attempts to sign in that were refused or failed, by error code',
      labelNames: ['code'],
      registers,
      collect() {
        this.reset();
        for (const code of ['UNAUTHORIZED', 'RATE_LIMITED']) this.inc({ code }, 0);
        for (const [code, count] of refused) this.inc({ code }, count);
      },
    });
  }
}
