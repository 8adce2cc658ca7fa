import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type {
  AccessClient,
  AccessDialect,
  AccessGroup,
  AccessPolicy,
  AccessRole,
  AclRule,
  DefaultAcl,
} from '../policy/access-model.ts';
import { substitutionOf } from '../policy/acl-filter.ts';
import type { AccessChange, ClientFields, GroupFields, PutMode, RoleFields } from '../writing/access-change.ts';
import { ownAccess } from '../writing/own-access.ts';
import { OwnAccount } from '../writing/own-account.ts';
import { type AccessDocument, documentOf, policyOf } from './access-document.ts';
import { AccessNotes } from './access-notes.ts';

export interface DiffOptions {
  /** Delete what the document does not name. The account, groups and roles of this service's own connection stay. */
  readonly deleteOthers: boolean;
  /** By user name, for accounts that are made. */
  readonly passwords: ReadonlyMap<string, string>;
  /** Give them to accounts that are there too: each time, since a password cannot be compared. */
  readonly setPasswords: boolean;
  /** The account of this service's own connection; null: it connects without user name. */
  readonly gatewayUsername: string | null;
}

export interface AccessDiff {
  /**
   * In the order in which they must be written: roles, groups, clients, default ACL, anonymous group, then deletions, clients
   * before groups before roles, so that nothing is named before it is there. Names never change, so that nothing has to be
   * deleted first. Empty: the broker has it all.
   */
  readonly changes: readonly AccessChange[];
  /** What will not be as the document says, and why; for people. At most one for each reason. */
  readonly notes: readonly string[];
  /** Accounts that will be made without password, sorted: nobody can connect as them before one is set. */
  readonly needPassword: readonly string[];
}

/**
 * The fewest changes after which a broker holds what the document says. An object of the document is brought to exactly what it
 * says there; others stay or are deleted, as the options say. What the broker cannot hold is left out and noted. The account of
 * this service's own connection is never touched, nor are the roles and groups that give it its rights: every Mosquitto calls
 * them `admin`, and one broker's would take rights from another's, or widen them. Pure.
 */
export function* changesTowards(
  policy: AccessPolicy,
  dialect: AccessDialect,
  document: AccessDocument,
  options: DiffOptions,
): SlicedTask<AccessDiff> {
  // Both in the form of documents, in which what means the same is the same.
  const have = yield* policyOf(yield* documentOf(policy));
  const notes = new AccessNotes();
  const want = holdable(yield* policyOf(document), have, dialect, notes);
  const { gatewayUsername } = options;
  const own = ownAccess(have, gatewayUsername);
  const guard = new OwnGuard(have, dialect, gatewayUsername);
  const needPassword: string[] = [];
  const changes: AccessChange[] = [];

  for (const role of want.roles.values()) {
    yield;
    const { rolename } = role;
    const fields: RoleFields = differences(have.roles.get(rolename) ?? NEW_ROLE, role, ROLE_KEYS);
    const mode = modeOf(have.roles, rolename, fields);
    if (mode === null) continue;
    if (own.roles.has(rolename)) notes.add(NOTE.ownStays, `role "${rolename}"`);
    else changes.push({ kind: 'PUT_ROLE', rolename, mode, fields });
  }
  for (const group of want.groups.values()) {
    yield;
    const { groupname } = group;
    const fields: GroupFields = differences(have.groups.get(groupname) ?? NEW_GROUP, group, GROUP_KEYS);
    const mode = modeOf(have.groups, groupname, fields);
    if (mode === null) continue;
    if (own.groups.has(groupname)) notes.add(NOTE.ownStays, `group "${groupname}"`);
    else changes.push({ kind: 'PUT_GROUP', groupname, mode, fields });
  }
  for (const client of want.clients.values()) {
    yield;
    const { username } = client;
    const fields: ClientFields = differences(have.clients.get(username) ?? NEW_CLIENT, client, CLIENT_KEYS);
    const mode = modeOf(have.clients, username, fields);
    const given = options.passwords.get(username);
    if (username === gatewayUsername) {
      if (mode !== null) notes.add(NOTE.ownAccount, `"${username}"`);
      if (given !== undefined) notes.add(NOTE.ownPassword, `"${username}"`);
      continue;
    }
    const password = mode === 'CREATE' || options.setPasswords ? given : undefined;
    if (given === undefined && mode === 'CREATE') needPassword.push(username);
    if (given !== undefined && password === undefined) notes.add(NOTE.passwordStays, `"${username}"`);
    if (password !== undefined) {
      changes.push({ kind: 'PUT_CLIENT', username, mode: mode ?? 'UPDATE', fields: { ...fields, password } });
    } else if (mode !== null) changes.push({ kind: 'PUT_CLIENT', username, mode, fields });
  }
  for (const username of options.passwords.keys()) {
    if (!want.clients.has(username)) notes.add(NOTE.passwordUnused, `"${username}"`);
  }

  const acl: Partial<DefaultAcl> = differences(have.defaultAcl, want.defaultAcl, DEFAULT_ACL_KEYS);
  if (Object.keys(acl).length > 0) {
    const aclRefusal = guard.refusal({ defaultAcl: want.defaultAcl });
    if (aclRefusal === null) changes.push({ kind: 'SET_DEFAULT_ACL', acl });
    else notes.add(staying(aclRefusal), 'the default ACL');
  }
  const anonymousGroup = have.anonymousGroup;
  if (want.anonymousGroup !== null && want.anonymousGroup !== anonymousGroup) {
    const groupRefusal = guard.refusal({ anonymousGroup: want.anonymousGroup });
    if (groupRefusal === null) changes.push({ kind: 'SET_ANONYMOUS_GROUP', groupname: want.anonymousGroup });
    else notes.add(staying(groupRefusal), 'the anonymous group');
  }
  /** A broker can name another group for connections without user name, and never none. */
  const unsettable = want.anonymousGroup === null ? anonymousGroup : null;
  if (unsettable !== null && (want.groups.has(unsettable) || !options.deleteOthers)) {
    notes.add(NOTE.anonymousGroup, `"${unsettable}"`);
  }

  if (options.deleteOthers) {
    for (const username of have.clients.keys()) {
      if (want.clients.has(username)) continue;
      if (username === gatewayUsername) notes.add(NOTE.ownKept, `account "${username}"`);
      else changes.push({ kind: 'DELETE_CLIENT', username });
    }
    for (const [groupname, { roles }] of have.groups) {
      if (want.groups.has(groupname)) continue;
      if (own.groups.has(groupname)) notes.add(NOTE.ownKept, `group "${groupname}"`);
      else if (groupname !== unsettable) changes.push({ kind: 'DELETE_GROUP', groupname });
      else {
        notes.add(NOTE.anonymousEmptied, `"${groupname}"`);
        if (roles.length > 0) changes.push({ kind: 'PUT_GROUP', groupname, mode: 'UPDATE', fields: { roles: [] } });
      }
    }
    for (const rolename of have.roles.keys()) {
      if (want.roles.has(rolename)) continue;
      if (own.roles.has(rolename)) notes.add(NOTE.ownKept, `role "${rolename}"`);
      else changes.push({ kind: 'DELETE_ROLE', rolename });
    }
  }
  return { changes, notes: notes.texts(), needPassword };
}

const TEXT_KEYS = ['textName', 'textDescription'] as const;
const ROLE_KEYS = [...TEXT_KEYS, 'allowWildcardSubs', 'acls'] as const;
const GROUP_KEYS = [...TEXT_KEYS, 'roles'] as const;
const CLIENT_KEYS = ['clientId', ...TEXT_KEYS, 'disabled', 'roles', 'groups'] as const;
const DEFAULT_ACL_KEYS = ['publishClientSend', 'publishClientReceive', 'subscribe', 'unsubscribe'] as const;

/** What an object is that was made by its name alone. */
const NEW_ROLE: Omit<AccessRole, 'rolename'> = {
  textName: null,
  textDescription: null,
  allowWildcardSubs: true,
  acls: [],
};
const NEW_GROUP: Omit<AccessGroup, 'groupname'> = { textName: null, textDescription: null, roles: [] };
const NEW_CLIENT: Omit<AccessClient, 'username'> = {
  clientId: null,
  textName: null,
  textDescription: null,
  disabled: false,
  roles: [],
  groups: [],
};

/** The keys that differ, with what is wanted. */
function differences<K extends string, T extends Readonly<Record<K, unknown>>>(
  have: Readonly<Record<K, unknown>>,
  want: T,
  keys: readonly K[],
): { [key in K]?: NonNullable<T[key]> } {
  return Object.fromEntries(keys.filter((key) => !isSame(have[key], want[key])).map((key) => [key, want[key]])) as {
    [key in K]?: NonNullable<T[key]>;
  };
}

/** Most are texts and empty lists, for which the deep comparison is slow. */
const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === 'object' && typeof other === 'object' && isDeepStrictEqual(one, other));

/** Null: it is there as it should be. */
function modeOf(objects: ReadonlyMap<string, unknown>, name: string, fields: object): PutMode | null {
  if (!objects.has(name)) return 'CREATE';
  return Object.keys(fields).length > 0 ? 'UPDATE' : null;
}

/** Why something cannot become as it is wanted: the connection of this service would lose rights by it. */
class OwnGuard {
  readonly #account: OwnAccount;
  /** With what was found to be possible. */
  #policy: AccessPolicy;

  constructor(policy: AccessPolicy, dialect: AccessDialect, username: string | null) {
    this.#account = new OwnAccount(policy, dialect, username);
    this.#policy = policy;
  }

  /** Null: `part` can become so; what is asked next is asked of the policy with it. */
  refusal(part: Partial<AccessPolicy>): string | null {
    const policy = { ...this.#policy, ...part };
    try {
      this.#account.checkPolicy(policy);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'IN_USE') return error.message;
      throw error;
    }
    this.#policy = policy;
    return null;
  }
}

const staying = (refusal: string): string => `${refusal}, so that these stay as they are`;

/** What of it this broker can hold; the rest is noted. */
function holdable(want: AccessPolicy, have: AccessPolicy, dialect: AccessDialect, notes: AccessNotes): AccessPolicy {
  if (dialect.wildcardFlag && dialect.substitution) return want;
  const roles = [...want.roles].map(([rolename, role]): [string, AccessRole] => {
    if (!dialect.wildcardFlag && role.allowWildcardSubs === false) notes.add(NOTE.wildcardFlag, `"${rolename}"`);
    const held = have.roles.get(rolename)?.acls ?? [];
    const acls = role.acls.filter((rule) => {
      if (dialect.substitution || !substitutes(rule)) return true;
      notes.add(rule.allow ? NOTE.substitution : NOTE.substitutedDenial, `"${rule.topic}" of "${rolename}"`);
      // One that is there may stay: it matches nothing, and taking it out would disconnect its holders.
      return held.some((known) => isDeepStrictEqual(known, rule));
    });
    return [rolename, { ...role, acls, allowWildcardSubs: dialect.wildcardFlag ? role.allowWildcardSubs : true }];
  });
  return { ...want, roles: new Map(roles) };
}

/** Literal rules are compared as they are everywhere. */
function substitutes({ aclType, topic }: AclRule): boolean {
  return !aclType.endsWith('Literal') && substitutionOf(topic) !== null;
}

const NOTE = {
  ownAccount: 'This service connects with an account that the document describes otherwise; it stays as it is',
  ownKept: 'Not in the document and kept, because the connection of this service needs it',
  ownStays: 'The connection of this service has its rights by what the document describes otherwise; it stays as it is',
  ownPassword: 'This service connects with this account, so that it keeps its password',
  passwordStays:
    'A password is given for an account that is there; it keeps its own, unless passwords are to be set (setPasswords, --set-passwords)',
  passwordUnused: 'A password is given for an account that the document does not have',
  anonymousGroup: 'A broker cannot be told to have no anonymous group; it stays',
  anonymousEmptied:
    'A broker cannot be told to have no anonymous group; it stays without roles, which has the same effect',
  wildcardFlag:
    'This broker cannot forbid wildcard subscriptions by a role (Mosquitto 2.1 can); the roles are made without',
  substitution:
    'This broker takes %c and %u literally (Mosquitto 2.1 replaces them); these rules would match nothing and are left out',
  substitutedDenial:
    'ATTENTION, this may open access: these rules deny, and are left out because this broker takes %c and %u literally (Mosquitto 2.1 replaces them), so that they would match nothing',
} as const;
