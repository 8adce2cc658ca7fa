import type { ControlCommand } from '../../control/envelope.ts';
import { fieldOf } from '../../control/fields.ts';
import { type ControlPlugin, ControlRefusal } from '../../control/plugin.ts';
import { requiredText, runCommandOf } from '../../control/plugin-arguments.ts';
import type { AccessStore } from '../dynamic-security/access-store.ts';
import type { Journal } from '../store/journal.ts';
import { forgetCopy, isChanged, keepCopy } from './kept-copy.ts';
import { openHashes, sealHashes } from './sealed-passwords.ts';

export const MEMBERSHIP_API = 'brokergraph/membership';

export interface MembershipPluginOptions {
  readonly journal: Journal;
  readonly access: AccessStore;
  readonly administratorPassword: string;
  readonly isNode: boolean;
  readonly kick: (usernames: ReadonlySet<string>) => void;
  /** The broker has to begin anew. */
  readonly onRestart: (reason: string) => void;
  /** How long a copy is kept for a cluster that it does not become a node of. Default 15 minutes. */
  readonly keepMs?: number;
}

/**
 * `brokergraph/membership`, which all embedded brokers have: what the service needs to make them nodes of clusters.
 *
 * - `keepCopy` (`isSeed`): keeps what the broker has, until `forgetCopy`, or until it is by itself again and takes it back. What nobody
 *   asks for within 15 minutes is forgotten. `bringBack`: begins anew with it, where its access control is another one by now.
 * - `getPasswords` (`usernames`), `putPasswords` (`passwords`): hashes of accounts, sealed (sealed-passwords.ts). Accounts that it has not
 *   are left out.
 */
export class MembershipPlugin implements ControlPlugin {
  readonly api = MEMBERSHIP_API;
  readonly #options: MembershipPluginOptions;
  #afterwards: (() => void) | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: MembershipPluginOptions) {
    this.#options = options;
  }

  execute(command: ControlCommand): unknown {
    return runCommandOf(
      {
        keepcopy: () => this.#keep(fieldOf(command, 'isSeed') === true),
        forgetcopy: () => this.#forget(),
        bringback: () => this.#bringBack(),
        getpasswords: () => this.#passwords(command),
        putpasswords: () => this.#take(command),
      },
      command,
    );
  }

  afterAnswer(): (() => void) | null {
    const afterwards = this.#afterwards;
    this.#afterwards = null;
    return afterwards;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  async #keep(isSeed: boolean): Promise<object> {
    const { journal, isNode, keepMs = 900_000 } = this.#options;
    if (isNode) throw new ControlRefusal('The broker is a node of a cluster');
    await keepCopy(journal, { isSeed });
    clearTimeout(this.#timer);
    // A failure of the journal ends the broker.
    this.#timer = setTimeout(() => void forgetCopy(journal).catch(() => undefined), keepMs).unref();
    return {};
  }

  async #forget(): Promise<object> {
    clearTimeout(this.#timer);
    await forgetCopy(this.#options.journal);
    return {};
  }

  /** A node does so by itself, when it is none any more. */
  async #bringBack(): Promise<object> {
    const { journal, isNode, onRestart } = this.#options;
    if (isNode) return {};
    if (!isChanged(journal)) return this.#forget();
    this.#afterwards = () => onRestart('it begins anew with what it had before it was to be a node of a cluster');
    return {};
  }

  #passwords(command: ControlCommand): object {
    const { access, administratorPassword } = this.#options;
    const usernames = fieldOf(command, 'usernames');
    if (!Array.isArray(usernames)) throw new ControlRefusal('Invalid/missing usernames');
    const { state } = access;
    const known = usernames.filter((username): username is string => state.policy.clients.has(username));
    const hashes = new Map(known.map((username) => [username, state.passwordHash(username)]));
    return { passwords: sealHashes(hashes, administratorPassword, 'GIVEN') };
  }

  async #take(command: ControlCommand): Promise<object> {
    const { access, administratorPassword, kick } = this.#options;
    const hashes = openHashes(requiredText(command, 'passwords'), administratorPassword, 'TO_TAKE');
    if (hashes === null) throw new ControlRefusal('Invalid passwords');
    const { state } = access;
    const changed = new Set<string>();
    for (const [username, hash] of hashes) {
      if (!state.policy.clients.has(username) || state.passwordHash(username) === hash) continue;
      state.putPasswordHash(username, hash);
      changed.add(username);
    }
    await access.save();
    if (changed.size > 0) this.#afterwards = () => kick(changed);
    return {};
  }
}
