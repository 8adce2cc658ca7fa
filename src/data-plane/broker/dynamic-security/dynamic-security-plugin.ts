import {
  DEFAULT_ACL_TYPES,
  type DefaultAcl,
  type DefaultAclType,
} from '../../../protocol/apis/access-control/access-model.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import type { AccessStore } from './access-store.ts';
import { CLIENT_COMMANDS } from './client-commands.ts';
import { isTooLong } from './command-fields.ts';
import type { CommandContext, CommandTable, Run } from './command-table.ts';
import { GROUP_COMMANDS } from './group-commands.ts';
import { ACCOUNT_COST, hashPassword } from './password-check.ts';
import { ROLE_COMMANDS } from './role-commands.ts';

/** Passwords that are hashed in parallel. Each uses a thread of the pool that connecting clients need, too. */
const PARALLEL_HASHES = 3;

const TYPES: ReadonlyMap<string, DefaultAclType> = new Map(DEFAULT_ACL_TYPES.map((type) => [type.toLowerCase(), type]));

const DEFAULT_COMMANDS: CommandTable = {
  /** Entries with an unknown type or without `allow` are skipped. */
  setDefaultACLAccess(command, { state }) {
    const entries = fieldOf(command, 'acls');
    if (!Array.isArray(entries)) throw new ControlRefusal('Missing/invalid actions array');
    const defaultAcl: { -readonly [type in DefaultAclType]: DefaultAcl[type] } = { ...state.policy.defaultAcl };
    for (const entry of entries) {
      if (!isFields(entry)) continue;
      const type = fieldOf(entry, 'acltype');
      const allow = fieldOf(entry, 'allow');
      const aclType = typeof type === 'string' ? TYPES.get(type.toLowerCase()) : undefined;
      if (aclType && typeof allow === 'boolean') defaultAcl[aclType] = allow;
    }
    state.putSettings({ defaultAcl });
  },

  getDefaultACLAccess(_command, { state }) {
    const { defaultAcl } = state.policy;
    return { acls: DEFAULT_ACL_TYPES.map((acltype) => ({ acltype, allow: defaultAcl[acltype] })) };
  },

  getDetails(_command, { state }) {
    const { clients, groups, roles } = state.policy;
    const { changeIndex } = state.settings;
    return { clientCount: clients.size, groupCount: groups.size, roleCount: roles.size, changeIndex };
  },
};

const COMMANDS: ReadonlyMap<string, { readonly name: string; readonly run: Run }> = new Map(
  Object.entries({ ...CLIENT_COMMANDS, ...GROUP_COMMANDS, ...ROLE_COMMANDS, ...DEFAULT_COMMANDS }).map(
    ([name, run]) => [name.toLowerCase(), { name, run }],
  ),
);

const WITH_PASSWORD: ReadonlySet<string> = new Set(['createclient', 'modifyclient', 'setclientpassword']);

/**
 * `dynamic-security` of Mosquitto 2.1. Changes are on disk before the response; clients are disconnected after it.
 * Unlike in Mosquitto, a refused command changes nothing, and an empty password is no password.
 */
export class DynamicSecurityPlugin implements ControlPlugin {
  readonly api = 'dynamic-security';
  readonly #store: AccessStore;
  readonly #kick: (usernames: ReadonlySet<string | null>) => void;
  readonly #context: CommandContext;
  #hashes = new Map<ControlCommand, string>();
  #kicks = new Set<string | null>();

  /** `kick` disconnects these accounts; sessions stay. `null`: clients without a user name. */
  constructor(
    store: AccessStore,
    kick: (usernames: ReadonlySet<string | null>) => void,
    addresses: CommandContext['addresses'],
  ) {
    this.#store = store;
    this.#kick = kick;
    this.#context = {
      state: store.state,
      passwordHash: (command) => this.#hashes.get(command) ?? null,
      kick: (username) => void this.#kicks.add(username),
      addresses,
    };
  }

  nameOf(command: string): string | undefined {
    return COMMANDS.get(command.toLowerCase())?.name;
  }

  async prepare(commands: readonly ControlCommand[]): Promise<void> {
    const waiting = commands.filter((command) => WITH_PASSWORD.has(command.command.toLowerCase())).values();
    const work = async () => {
      for (const command of waiting) {
        const password = fieldOf(command, 'password');
        // Invalid UTF-8 was decoded to lone surrogates. No client could send such a password.
        if (typeof password !== 'string' || password === '' || isTooLong(password) || /\p{Cs}/u.test(password))
          continue;
        this.#hashes.set(command, await hashPassword(password, ACCOUNT_COST));
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_HASHES }, work));
  }

  execute(command: ControlCommand): unknown {
    const run = COMMANDS.get(command.command.toLowerCase())?.run;
    if (!run) throw new ControlRefusal('Unknown command');
    if (!/^(?:get|list)/i.test(command.command)) this.#store.requireDisk();
    const data = run(command, this.#context);
    if (!data) this.#store.state.countWrite();
    return data;
  }

  async settle(): Promise<void> {
    this.#hashes = new Map();
    await this.#store.save();
  }

  afterAnswer(): (() => void) | null {
    const kicks = this.#kicks;
    if (kicks.size === 0) return null;
    this.#kicks = new Set();
    return () => this.#kick(kicks);
  }

  close(): void {}
}
