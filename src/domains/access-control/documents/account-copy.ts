import { isDeepStrictEqual } from 'node:util';
import { invalid } from '../../../platform/errors.ts';
import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessPolicy } from '../../../protocol/apis/access-control/access-model.ts';
import { type AccessDocument, documentOf, groupIn, roleIn } from './access-document.ts';
import { AccessNotes } from './access-notes.ts';

/** Accounts of another broker, with its access control. */
export interface CopiedAccounts {
  readonly policy: AccessPolicy;
  readonly usernames: readonly string[];
}

interface AccountCopy {
  /** Has the default access and the anonymous group of the receiving broker, so that these do not change. */
  readonly document: AccessDocument;
  readonly warnings: readonly string[];
}

/**
 * The accounts, and the groups and roles that they hold, as far as the receiving broker does not have objects of these
 * names. Its own objects keep their values: they decide for its other clients. Errors: INVALID for an unknown account.
 */
export function* copyOf({ policy, usernames }: CopiedAccounts, to: AccessPolicy): SlicedTask<AccountCopy> {
  const issues = usernames.flatMap((username, index) =>
    policy.clients.has(username)
      ? []
      : [{ path: `input.usernames.${index}`, reason: 'must be an account of the broker that is copied from' }],
  );
  if (issues.length > 0) throw invalid(issues);
  const from = yield* documentOf(policy);
  const own = yield* documentOf(to);
  const notes = new AccessNotes();
  const wanted = new Set(usernames);
  const clients = from.clients.filter(({ username }) => wanted.has(username));
  const held = namesIn(clients.flatMap(({ groups }) => groups ?? []));
  const groups = from.groups.filter(({ groupname }) => held.has(groupname));
  const needed = namesIn([...clients, ...groups].flatMap(({ roles }) => roles ?? []));
  const roles = from.roles.filter(({ rolename }) => needed.has(rolename));
  yield;
  for (const { username } of clients) {
    if (to.clients.has(username)) notes.add(NOTE.account, `"${username}"`);
  }
  const ownGroups = new Map(own.groups.map((group) => [group.groupname, group]));
  for (const group of groups) {
    const known = ownGroups.get(group.groupname);
    if (known && !isDeepStrictEqual(groupIn(known), groupIn(group))) notes.add(NOTE.group, `"${group.groupname}"`);
    yield;
  }
  const ownRoles = new Map(own.roles.map((role) => [role.rolename, role]));
  for (const role of roles) {
    const known = ownRoles.get(role.rolename);
    if (known && !isDeepStrictEqual(roleIn(known), roleIn(role))) notes.add(NOTE.role, `"${role.rolename}"`);
    yield;
  }
  const differing = Object.entries(from.defaultAcl).filter(
    ([type, allow]) => own.defaultAcl[type as keyof typeof own.defaultAcl] !== allow,
  );
  for (const [type, allow] of differing) notes.add(NOTE.defaultAcl, `${type} (${allow ? 'allowed' : 'denied'} there)`);
  const document: AccessDocument = {
    ...own,
    roles: roles.filter(({ rolename }) => !to.roles.has(rolename)),
    groups: groups.filter(({ groupname }) => !to.groups.has(groupname)),
    clients: clients.filter(({ username }) => !to.clients.has(username)),
  };
  return { document, warnings: notes.texts() };
}

const namesIn = (memberships: readonly { readonly name: string }[]): ReadonlySet<string> =>
  new Set(memberships.map(({ name }) => name));

const NOTE = {
  account: 'The broker has accounts with these names already; they stay unchanged, with their own passwords',
  group: 'The broker has groups with these names and other roles or texts; they stay unchanged and decide',
  role: 'The broker has roles with these names and other rules or texts; they stay unchanged and decide',
  defaultAcl:
    'WARNING, the accounts may do something else than before: where no rule decides, the other broker has a different default',
} as const;
