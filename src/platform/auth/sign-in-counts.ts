import { Counter, type Registry } from 'prom-client';
import { ServiceError } from '../errors.ts';

export class SignInCounts {
  readonly #opened = new Counter({
    name: 'brokergraph_sign_ins_total',
    help: 'Number of opened sessions by sign-in provider',
    labelNames: ['provider'],
    registers: [],
  });
  readonly #refused = new Counter({
    name: 'brokergraph_sign_ins_refused_total',
    help: 'Number of refused or failed sign-ins by error code',
    labelNames: ['code'],
    registers: [],
  });

  constructor() {
    for (const provider of ['password', 'ldap', 'sso']) this.#opened.inc({ provider }, 0);
    for (const code of ['UNAUTHORIZED', 'RATE_LIMITED', 'SIGN_IN_UNAVAILABLE']) this.#refused.inc({ code }, 0);
  }

  opened(provider: string | null): void {
    this.#opened.inc({ provider: provider === 'ldap' || provider === 'sso' ? provider : 'password' });
  }

  refused(error: unknown): void {
    this.#refused.inc({ code: error instanceof ServiceError ? error.code : 'INTERNAL_ERROR' });
  }

  register(registry: Registry): void {
    registry.registerMetric(this.#opened);
    registry.registerMetric(this.#refused);
  }
}
