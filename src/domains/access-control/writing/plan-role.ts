import { type InputIssue, invalid, notFound, ServiceError } from '../../../platform/errors.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import type { AccessDialect, AccessRole, AclRule } from '../policy/access-model.ts';
import type { AccessChange } from './access-change.ts';
import type { AclEntry, DynsecWrite } from './dynsec-writes.ts';
import { existing, roleOf, textFields } from './plan-references.ts';
import { type PolicyDraft, rulesInOrder } from './policy-draft.ts';

type Change<Kind extends AccessChange['kind']> = Extract<AccessChange, { readonly kind: Kind }>;

/** Errors: as the mode says; INVALID and NOT_SUPPORTED_BY_BROKER for what the broker would not understand. */
export function putRole(
  draft: PolicyDraft,
  dialect: AccessDialect,
  { rolename, mode, fields }: Change<'PUT_ROLE'>,
): DynsecWrite[] {
  const role = existing(draft.roles, rolename, mode, 'role');
  const { allowWildcardSubs, acls } = fields;
  if (allowWildcardSubs !== undefined && !dialect.wildcardFlag) {
    throw new ServiceError('NOT_SUPPORTED_BY_BROKER', 'Roles of this broker have no flag for wildcard subscriptions', {
      info: { needs: 'Mosquitto 2.1' },
    });
  }
  checkSubstitution(dialect, role, acls ?? [], (index) => `acls.${index}.topic`);
  if (!role) {
    // Said even where it is the default, so that what was made can be compared.
    const flag = dialect.wildcardFlag ? { allowwildcardsubs: allowWildcardSubs ?? true } : {};
    const rules = acls && acls.length > 0 ? { acls: rulesInOrder(acls).map(aclEntry) } : {};
    return [{ command: 'createRole', fields: { rolename, ...textFields(null, fields), ...flag, ...rules } }];
  }
  const changed = {
    ...textFields(role, fields),
    ...(allowWildcardSubs === undefined || allowWildcardSubs === role.allowWildcardSubs
      ? {}
      : { allowwildcardsubs: allowWildcardSubs }),
    ...(acls === undefined || isSameRules(role.acls, acls) ? {} : { acls: rulesInOrder(acls).map(aclEntry) }),
  };
  return Object.keys(changed).length === 0 ? [] : [{ command: 'modifyRole', fields: { rolename, ...changed } }];
}

/**
 * The holders give it back first: of those who got it by `roles` in `createClient` the broker knows nothing at the role, and
 * deleting it would leave them a dangling reference (crash of 2.0.11).
 */
export function deleteRole(draft: PolicyDraft, { rolename }: Change<'DELETE_ROLE'>): DynsecWrite[] {
  roleOf(draft, rolename);
  return [
    ...draft
      .clientsWith(rolename)
      .map((username) => ({ command: 'removeClientRole', fields: { username, rolename } }) as const),
    ...draft
      .groupsWith(rolename)
      .map((groupname) => ({ command: 'removeGroupRole', fields: { groupname, rolename } }) as const),
    { command: 'deleteRole', fields: { rolename } },
  ];
}

/**
 * A rule that is there already is changed where it stands, by the whole list in one command: there is no moment without it,
 * and it keeps its place among equals. Mosquitto 2.0 disconnects nobody then; subscriptions that exist live on.
 */
export function putRoleAcl(
  draft: PolicyDraft,
  dialect: AccessDialect,
  { rolename, acl }: Change<'PUT_ROLE_ACL'>,
): DynsecWrite[] {
  const role = roleOf(draft, rolename);
  checkSubstitution(dialect, role, [acl], () => 'acl.topic');
  const there = role.acls.find((rule) => isSamePlace(rule, acl));
  if (!there) return [{ command: 'addRoleACL', fields: { rolename, ...aclEntry(acl) } }];
  if (there.priority === acl.priority && there.allow === acl.allow) return [];
  return [
    rulesOf(
      rolename,
      role.acls.map((rule) => (isSamePlace(rule, acl) ? acl : rule)),
    ),
  ];
}

/** Errors: NOT_FOUND. */
export function removeRoleAcl(
  draft: PolicyDraft,
  { rolename, aclType, topic }: Change<'REMOVE_ROLE_ACL'>,
): DynsecWrite[] {
  const { acls } = roleOf(draft, rolename);
  const rest = acls.filter((rule) => !isSamePlace(rule, { aclType, topic }));
  if (rest.length === acls.length) throw notFound(`rule ${aclType} in the role "${rolename}" for`, topic);
  // modifyRole of other tools can have stored a filter that removeRoleACL refuses to know.
  if (filterProblem(topic) !== null) return [rulesOf(rolename, rest)];
  return [{ command: 'removeRoleACL', fields: { rolename, acltype: aclType, topic } }];
}

/** Mosquitto before 2.1 stores `%c` and `%u` and matches them with nothing but themselves. What is there already may stay. */
function checkSubstitution(
  dialect: AccessDialect,
  role: AccessRole | null,
  acls: readonly AclRule[],
  pathOf: (index: number) => string,
): void {
  if (dialect.substitution) return;
  const issues: InputIssue[] = [];
  for (const [index, acl] of acls.entries()) {
    if (acl.aclType.endsWith('Literal') || !acl.topic.split('/').some(isPlaceholder)) continue;
    if (role?.acls.some((rule) => isSamePlace(rule, acl))) continue;
    const reason = `"${acl.topic}": this broker puts nothing in for %c and %u; that came with Mosquitto 2.1`;
    issues.push({ path: pathOf(index), reason });
  }
  if (issues.length > 0) throw invalid(issues);
}

const isPlaceholder = (level: string): boolean => level === '%c' || level === '%u';

const isSamePlace = (one: Pick<AclRule, 'aclType' | 'topic'>, other: Pick<AclRule, 'aclType' | 'topic'>): boolean =>
  one.aclType === other.aclType && one.topic === other.topic;

function isSameRules(before: readonly AclRule[], after: readonly AclRule[]): boolean {
  if (before.length !== after.length) return false;
  const wish = rulesInOrder(after);
  return rulesInOrder(before).every((rule, index) => {
    const other = wish[index];
    return other && isSamePlace(rule, other) && rule.priority === other.priority && rule.allow === other.allow;
  });
}

const rulesOf = (rolename: string, acls: readonly AclRule[]): DynsecWrite => ({
  command: 'modifyRole',
  fields: { rolename, acls: rulesInOrder(acls).map(aclEntry) },
});

const aclEntry = ({ aclType, topic, priority, allow }: AclRule): AclEntry => ({
  acltype: aclType,
  topic,
  priority,
  allow,
});
