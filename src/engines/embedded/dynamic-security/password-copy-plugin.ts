import { openHashes, sealHashes } from '../../../domains/clusters/dynsec/sealed-hashes.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { fieldOf } from '../../../protocol/control/fields.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText, runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { AccessStore } from './access-store.ts';

/**
 * Control API `brokergraph/password-copies`: the service copies passwords between the embedded brokers of a cluster
 * with it.
 *
 * - `getPasswords` (`usernames`): encrypted password hashes of these accounts, see `sealed-hashes.ts`. Unknown accounts
 *   are skipped.
 * - `putPasswords` (`passwords`): stores these hashes, and disconnects the accounts whose password changed. Unknown
 *   accounts are skipped.
 */
export class PasswordCopyPlugin implements ControlPlugin {
  readonly api = 'brokergraph/password-copies';
  readonly #access: AccessStore;
  readonly #administratorPassword: string;
  readonly #kick: (usernames: ReadonlySet<string>) => void;
  #afterwards: (() => void) | null = null;

  constructor(access: AccessStore, administratorPassword: string, kick: (usernames: ReadonlySet<string>) => void) {
    this.#access = access;
    this.#administratorPassword = administratorPassword;
    this.#kick = kick;
  }

  execute(command: ControlCommand): unknown {
    return runCommandOf({ getpasswords: () => this.#get(command), putpasswords: () => this.#put(command) }, command);
  }

  afterAnswer(): (() => void) | null {
    const afterwards = this.#afterwards;
    this.#afterwards = null;
    return afterwards;
  }

  close(): void {}

  #get(command: ControlCommand): object {
    const usernames = fieldOf(command, 'usernames');
    if (!Array.isArray(usernames)) throw new ControlRefusal('Invalid/missing usernames');
    const { state } = this.#access;
    const known = usernames.filter((username): username is string => state.policy.clients.has(username));
    const hashes = new Map(known.map((username) => [username, state.passwordHash(username)]));
    return { passwords: sealHashes(hashes, this.#administratorPassword, 'GIVEN') };
  }

  async #put(command: ControlCommand): Promise<object> {
    const hashes = openHashes(requiredText(command, 'passwords'), this.#administratorPassword, 'TO_TAKE');
    if (hashes === null) throw new ControlRefusal('Invalid passwords');
    const { state } = this.#access;
    const changed = new Set<string>();
    for (const [username, hash] of hashes) {
      if (!state.policy.clients.has(username) || state.passwordHash(username) === hash) continue;
      state.putPasswordHash(username, hash);
      changed.add(username);
    }
    await this.#access.save();
    if (changed.size > 0) this.#afterwards = () => this.#kick(changed);
    return {};
  }
}
