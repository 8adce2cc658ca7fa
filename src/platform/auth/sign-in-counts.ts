import { Counter, type Registry } from 'prom-client';
import { ServiceError } from '../errors.ts';

type SignInMethod = 'password' | 'ldap' | 'sso';

export class SignInCounts {
  readonly #opened: Record<SignInMethod, number> = { password: 0, ldap: 0, sso: 0 };
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
      help: 'Number of opened sessions by sign-in provider',
      labelNames: ['provider'],
      registers,
      collect() {
        this.reset();
        for (const [provider, count] of Object.entries(opened)) this.inc({ provider }, count);
      },
    });
    new Counter({
      name: 'brokergraph_sign_ins_refused_total',
      help: 'Number of refused or failed sign-ins by error code',
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
