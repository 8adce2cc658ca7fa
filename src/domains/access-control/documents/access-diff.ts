import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type {
  AccessDialect,
  AccessPolicy,
  AccessRole,
  DefaultAcl,
} from '../../../protocol/apis/access-control/access-model.ts';
import { substitutes } from '../../../protocol/apis/access-control/version-rules.ts';
import type {
  AccessChange,
  ChangeOf,
  ClientFields,
  GroupFields,
  PutMode,
  RoleFields,
} from '../writing/access-change.ts';
import { GatewayAccount, heldNames } from '../writing/gateway-account.ts';
import { type AccessDocument, clientIn, documentOf, groupIn, policyOf, roleIn } from './access-document.ts';
import { AccessNotes } from './access-notes.ts';

export interface DiffOptions {
  readonly deleteOthers: boolean;
  readonly passwords: ReadonlyMap<string, string>;
  /** Also for existing accounts. They are always set, because they cannot be compared. */
  readonly setPasswords: boolean;
  readonly gatewayUsername: string | null;
}

export interface AccessDiff {
  /** In the order of execution: each object exists before another one references it. */
  readonly changes: readonly AccessChange[];
  readonly notes: readonly string[];
  /** New accounts without a password, sorted. */
  readonly needPassword: readonly string[];
}

/**
 * The minimum changes that bring a broker to the state of a document. Unsupported values are omitted and noted. The
 * account of this service and its roles and groups never change: Mosquitto names its administrator and role `admin` by
 * default, so the `admin` of one broker would add or remove permissions on another one.
 */
export function* diffAccess(
  policy: AccessPolicy,
  dialect: AccessDialect,
  document: AccessDocument,
  options: DiffOptions,
): SlicedTask<AccessDiff> {
  // Both policies are converted from documents, which have one form for equivalent values.
  const have = yield* policyOf(yield* documentOf(policy));
  const notes = new AccessNotes();
  const want = withoutUnsupported(yield* policyOf(document), have, dialect, notes);
  const { gatewayUsername } = options;
  const held = heldNames(have, gatewayUsername);
  const refusalOf = gatewayGuard(have, dialect, gatewayUsername);
  const needPassword: string[] = [];
  const changes: AccessChange[] = [];

  const put = (change: ChangeOf<'PUT_ROLE' | 'PUT_GROUP'>, isHeld: boolean, name: string) => {
    if (isHeld) notes.add(NOTE.gatewayUnchanged, name);
    else changes.push(change);
  };
  for (const [rolename, role] of want.roles) {
    yield;
    const fields: RoleFields = differences(have.roles.get(rolename) ?? roleIn({ rolename }), role);
    const mode = modeOf(have.roles, rolename, fields);
    if (mode)
      put({ kind: 'PUT_ROLE', roleName: rolename, mode, fields }, held.roles.has(rolename), `role "${rolename}"`);
  }
  for (const [groupname, group] of want.groups) {
    yield;
    const fields: GroupFields = differences(have.groups.get(groupname) ?? groupIn({ groupname }), group);
    const mode = modeOf(have.groups, groupname, fields);
    if (mode)
      put(
        { kind: 'PUT_GROUP', groupName: groupname, mode, fields },
        held.groups.has(groupname),
        `group "${groupname}"`,
      );
  }
  for (const [username, client] of want.clients) {
    yield;
    const fields: ClientFields = differences(have.clients.get(username) ?? clientIn({ username }), client);
    const mode = modeOf(have.clients, username, fields);
    const given = options.passwords.get(username);
    if (username === gatewayUsername) {
      if (mode !== null) notes.add(NOTE.gatewayAccount, `"${username}"`);
      if (given !== undefined) notes.add(NOTE.gatewayPassword, `"${username}"`);
      continue;
    }
    const password = mode === 'CREATE' || options.setPasswords ? given : undefined;
    if (given === undefined && mode === 'CREATE') needPassword.push(username);
    if (given !== undefined && password === undefined) notes.add(NOTE.passwordUnchanged, `"${username}"`);
    if (password !== undefined) {
      changes.push({ kind: 'PUT_CLIENT', username, mode: mode ?? 'UPDATE', fields: { ...fields, password } });
    } else if (mode !== null) changes.push({ kind: 'PUT_CLIENT', username, mode, fields });
  }
  for (const username of options.passwords.keys()) {
    if (!want.clients.has(username)) notes.add(NOTE.passwordUnused, `"${username}"`);
  }

  const acl: Partial<DefaultAcl> = differences(have.defaultAcl, want.defaultAcl);
  if (Object.keys(acl).length > 0) {
    const aclRefusal = refusalOf({ defaultAcl: want.defaultAcl });
    if (aclRefusal === null) changes.push({ kind: 'SET_DEFAULT_ACL', acl });
    else notes.add(unchanged(aclRefusal), 'the default ACL');
  }
  const anonymousGroup = have.anonymousGroup;
  if (want.anonymousGroup !== null && want.anonymousGroup !== anonymousGroup) {
    const groupRefusal = refusalOf({ anonymousGroup: want.anonymousGroup });
    if (groupRefusal === null) changes.push({ kind: 'SET_ANONYMOUS_GROUP', groupName: want.anonymousGroup });
    else notes.add(unchanged(groupRefusal), 'the anonymous group');
  }
  const unwantedGroup = want.anonymousGroup === null ? anonymousGroup : null;
  if (unwantedGroup !== null && (want.groups.has(unwantedGroup) || !options.deleteOthers)) {
    notes.add(NOTE.anonymousGroup, `"${unwantedGroup}"`);
  }

  if (options.deleteOthers) {
    for (const username of have.clients.keys()) {
      if (want.clients.has(username)) continue;
      if (username === gatewayUsername) notes.add(NOTE.gatewayNotDeleted, `account "${username}"`);
      else changes.push({ kind: 'DELETE_CLIENT', username });
    }
    for (const [groupname, { roles }] of have.groups) {
      if (want.groups.has(groupname)) continue;
      if (held.groups.has(groupname)) notes.add(NOTE.gatewayNotDeleted, `group "${groupname}"`);
      else if (groupname !== unwantedGroup) changes.push({ kind: 'DELETE_GROUP', groupName: groupname });
      else {
        notes.add(NOTE.anonymousEmptied, `"${groupname}"`);
        if (roles.length > 0)
          changes.push({ kind: 'PUT_GROUP', groupName: groupname, mode: 'UPDATE', fields: { roles: [] } });
      }
    }
    for (const rolename of have.roles.keys()) {
      if (want.roles.has(rolename)) continue;
      if (held.roles.has(rolename)) notes.add(NOTE.gatewayNotDeleted, `role "${rolename}"`);
      else changes.push({ kind: 'DELETE_ROLE', roleName: rolename });
    }
  }
  return { changes, notes: notes.texts(), needPassword };
}

function differences<T extends object>(have: T, want: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  const entries = Object.entries(want).filter(([key, value]) => !isSame(have[key as keyof T], value));
  return Object.fromEntries(entries) as { [Key in keyof T]?: NonNullable<T[Key]> };
}

/** Avoids the slow deep comparison for texts. */
const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === 'object' && typeof other === 'object' && isDeepStrictEqual(one, other));

function modeOf(objects: ReadonlyMap<string, unknown>, name: string, fields: object): PutMode | null {
  if (!objects.has(name)) return 'CREATE';
  return Object.keys(fields).length > 0 ? 'UPDATE' : null;
}

/** Adds a part of the document to the policy, or returns why not: it would remove permissions of this service. */
function gatewayGuard(policy: AccessPolicy, dialect: AccessDialect, username: string | null) {
  const account = new GatewayAccount(policy, dialect, username);
  let accepted = policy;
  return (part: Partial<AccessPolicy>): string | null => {
    const next = { ...accepted, ...part };
    try {
      account.checkPolicy(next);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'IN_USE') return error.message;
      throw error;
    }
    accepted = next;
    return null;
  };
}

const unchanged = (refusal: string): string => `${refusal}, so these stay unchanged`;

/** Omits new values that the broker does not support, and notes rules that versions of brokers read differently. */
function withoutUnsupported(
  want: AccessPolicy,
  have: AccessPolicy,
  { wildcardFlag, substitution }: AccessDialect,
  notes: AccessNotes,
): AccessPolicy {
  const roles = [...want.roles].map(([rolename, role]): [string, AccessRole] => {
    const existing = have.roles.get(rolename);
    const isDenied = role.allowWildcardSubs === false;
    if (!wildcardFlag && isDenied) notes.add(NOTE.wildcardFlag, `"${rolename}"`);
    const acls = role.acls.filter((rule) => {
      if (!substitutes(rule)) return true;
      const isNew = !existing?.acls.some((other) => isDeepStrictEqual(other, rule));
      const name = `"${rule.topic}" of "${rolename}"`;
      if (!substitution) notes.add(rule.allow ? NOTE.substitution : NOTE.substitutedDenial, name);
      else if (isNew) notes.add(NOTE.newSubstitution, name);
      // An existing rule may stay, because its removal would disconnect the holders of the role.
      return substitution || !isNew;
    });
    const allowWildcardSubs =
      wildcardFlag || !isDenied ? role.allowWildcardSubs : (existing?.allowWildcardSubs ?? true);
    return [rolename, { ...role, acls, allowWildcardSubs }];
  });
  return { ...want, roles: new Map(roles) };
}

const NOTE = {
  gatewayAccount: 'This service connects with this account; it differs from the document and stays unchanged',
  gatewayNotDeleted: 'Not in the document, but required by the connection of this service; not deleted',
  gatewayUnchanged:
    'The connection of this service has its permissions by these objects; they differ from the document and stay unchanged',
  gatewayPassword: 'This service connects with this account; its password stays unchanged',
  passwordUnchanged:
    'Existing accounts keep their password unless existing passwords are replaced (setPasswords, --set-passwords)',
  passwordUnused: 'Passwords of accounts that are not in the document are ignored',
  anonymousGroup: 'No command removes the anonymous group of a broker; it stays',
  anonymousEmptied:
    'No command removes the anonymous group of a broker; it stays without roles, which has the same effect',
  wildcardFlag:
    'WARNING, this may grant access: before Mosquitto 2.1 roles cannot deny wildcard subscriptions; these roles are written without the flag',
  substitution: 'Before Mosquitto 2.1 %c and %u are not replaced; these rules would match nothing and are omitted',
  newSubstitution:
    'This broker replaces %c and %u in these new rules with the client id and the user name of each client; before Mosquitto 2.1 the same rules match only topics with a literal %c or %u',
  substitutedDenial:
    'WARNING, this may grant access: these rules deny access with %c or %u; they are omitted because they match nothing before Mosquitto 2.1',
} as const;
