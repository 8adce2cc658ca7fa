import type { AccessGroup, AccessRole, Account } from '../../../protocol/apis/access-control/access-model.ts';
import type { AccessLimits } from '../limits.ts';
import type { Journal } from '../store/journal.ts';
import { AccessState, type Settings } from './access-state.ts';

/** The defaults of `mosquitto_ctrl dynsec init`. */
const FIRST_SETTINGS: Settings = {
  defaultAcl: { publishClientSend: false, publishClientReceive: true, subscribe: false, unsubscribe: true },
  anonymousGroup: null,
  changeIndex: 0,
};

const SETTINGS = 'accessControl';

/** Stores access control in the journal: one row for each client, group and role, and one row for the settings. */
export class AccessStore {
  readonly state: AccessState;
  readonly isNew: boolean;
  readonly #journal: Journal;

  constructor(journal: Journal, limits: AccessLimits) {
    this.#journal = journal;
    const settings = journal.setting<Settings>(SETTINGS);
    this.isNew = settings === undefined;
    this.state = new AccessState(settings ?? FIRST_SETTINGS, limits);
    this.#load();
  }

  #load(): void {
    const { state } = this;
    const parsed = <T>(table: string) =>
      this.#journal.rows<{ about: string }>(`SELECT about FROM ${table}`).map(({ about }) => JSON.parse(about) as T);
    for (const role of parsed<AccessRole>('access_role')) state.putRole(role);
    for (const group of parsed<AccessGroup>('access_group')) state.putGroup(group);
    type ClientRow = { about: string; password_hash: string | null };
    for (const { about, password_hash } of this.#journal.rows<ClientRow>(
      'SELECT about, password_hash FROM access_client',
    )) {
      const client = JSON.parse(about) as Account;
      state.putClient(client);
      if (password_hash !== null) state.putPasswordHash(client.username, password_hash);
    }
    state.takeChanges();
  }

  /** Errors: ControlRefusal if changes cannot be stored. */
  requireDisk(): void {
    this.#journal.requireDisk();
  }

  /** Writes all changes in one transaction. Resolves when they are on disk. */
  async save(): Promise<void> {
    const { state } = this;
    const { clients, groups, roles, settings } = state.takeChanges();
    if (!settings && clients.size + groups.size + roles.size === 0) return;
    for (const username of clients) {
      const client = state.policy.clients.get(username);
      if (client) {
        const sql = 'INSERT OR REPLACE INTO access_client (username, about, password_hash) VALUES (?, ?, ?)';
        this.#journal.add(sql, username, JSON.stringify(client), state.passwordHash(username));
      } else this.#journal.add('DELETE FROM access_client WHERE username = ?', username);
    }
    for (const groupname of groups) this.#put('access_group', 'groupname', groupname, state.policy.groups);
    for (const rolename of roles) this.#put('access_role', 'rolename', rolename, state.policy.roles);
    if (settings) this.#journal.putSetting(SETTINGS, state.settings);
    await this.#journal.commit();
  }

  #put(table: string, key: string, name: string, from: ReadonlyMap<string, object>): void {
    const object = from.get(name);
    if (!object) this.#journal.add(`DELETE FROM ${table} WHERE ${key} = ?`, name);
    else
      this.#journal.add(`INSERT OR REPLACE INTO ${table} (${key}, about) VALUES (?, ?)`, name, JSON.stringify(object));
  }
}
