import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import type { ControlPlugin } from '../../../protocol/control/plugin.ts';
import { runCommandOf } from '../../../protocol/control/plugin-arguments.ts';

/** The latest time with a year of four digits in ISO 8601: the licence does not expire. */
const NEVER = Date.UTC(9999, 11, 31, 23, 59, 59);

/** `cedalo/license`: the embedded broker needs no licence. Its features are the APIs that it serves. */
export class LicensePlugin implements ControlPlugin {
  readonly api = 'cedalo/license';
  readonly #since: number;
  readonly #features: () => readonly string[];

  constructor(since: number, features: () => readonly string[]) {
    this.#since = since;
    this.#features = features;
  }

  execute(command: ControlCommand): unknown {
    return runCommandOf({ getlicenseinformation: () => this.#information() }, command);
  }

  close(): void {}

  #information(): object {
    return {
      edition: 'embedded',
      plan: 'open-source',
      issuedBy: 'Brokergraph',
      issuedTo: 'everyone',
      validSince: this.#since,
      validUntil: NEVER,
      features: this.#features().map((name) => ({ name })),
    };
  }
}
