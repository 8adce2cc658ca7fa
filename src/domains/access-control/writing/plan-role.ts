import { type InputIssue, invalid, notFound, ServiceError } from '../../../platform/errors.ts';
import {
  type AccessDialect,
  type AccessRole,
  type AclRule,
  DEFAULT_ACL_TYPES,
} from '../../../protocol/apis/access-control/access-model.ts';
import { rulesInOrder } from '../../../protocol/apis/access-control/access-order.ts';
import { isSameRule, substitutes } from '../../../protocol/apis/access-control/version-rules.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import { aclEntry, type DynsecWrite } from './dynsec-writes.ts';
import { existing, type Plans, roleOf, textFields } from './plan-references.ts';

export const ROLE_PLANS: Plans<'PUT_ROLE' | 'DELETE_ROLE' | 'PUT_ROLE_ACL' | 'REMOVE_ROLE_ACL' | 'SET_DEFAULT_ACL'> = {
  /** Errors: also INVALID and NOT_SUPPORTED_BY_BROKER for features that the broker lacks. */
  PUT_ROLE(draft, { roleName: rolename, mode, fields }, dialect) {
    const role = existing(draft.roles, rolename, mode, 'role');
    const { allowWildcardSubs, acls } = fields;
    if (allowWildcardSubs === false && !dialect.wildcardFlag) {
      throw new ServiceError('NOT_SUPPORTED_BY_BROKER', 'This broker does not support allowWildcardSubs of roles', {
        info: { needs: 'Mosquitto 2.1' },
      });
    }
    checkSubstitution(dialect, role, acls ?? [], (index) => `acls.${index}.topic`);
    if (!role) {
      // The flag is sent even if it has the default value, so that the created role can be compared.
      const flag = dialect.wildcardFlag ? { allowwildcardsubs: allowWildcardSubs ?? true } : {};
      const rules = acls && acls.length > 0 ? { acls: rulesInOrder(acls).map(aclEntry) } : {};
      return [{ command: 'createRole', fields: { rolename, ...textFields(null, fields), ...flag, ...rules } }];
    }
    const changed = {
      ...textFields(role, fields),
      ...(allowWildcardSubs === undefined || !dialect.wildcardFlag || allowWildcardSubs === role.allowWildcardSubs
        ? {}
        : { allowwildcardsubs: allowWildcardSubs }),
      ...(acls === undefined || isSameRules(role.acls, acls) ? {} : { acls: rulesInOrder(acls).map(aclEntry) }),
    };
    return Object.keys(changed).length === 0 ? [] : [{ command: 'modifyRole', fields: { rolename, ...changed } }];
  },
  /**
   * Removes the role from its holders first: clients created with `roles` would keep a dangling reference (crash of
   * 2.0.11).
   */
  DELETE_ROLE(draft, { roleName: rolename }) {
    roleOf(draft, rolename);
    const fromClient = (username: string) => ({ command: 'removeClientRole', fields: { username, rolename } }) as const;
    const fromGroup = (groupname: string) => ({ command: 'removeGroupRole', fields: { groupname, rolename } }) as const;
    return [
      ...draft.clientsWith(rolename).map(fromClient),
      ...draft.groupsWith(rolename).map(fromGroup),
      { command: 'deleteRole', fields: { rolename } },
    ];
  },
  /** Replaces the whole list in one command, so that the rule is never missing and keeps its position. */
  PUT_ROLE_ACL(draft, { roleName: rolename, acl }, dialect) {
    const role = roleOf(draft, rolename);
    checkSubstitution(dialect, role, [acl], () => 'acl.topic');
    const existingRule = role.acls.find((rule) => isSameRule(rule, acl));
    if (!existingRule) return [{ command: 'addRoleACL', fields: { rolename, ...aclEntry(acl) } }];
    if (existingRule.priority === acl.priority && existingRule.allow === acl.allow) return [];
    const acls = role.acls.map((rule) => (isSameRule(rule, acl) ? acl : rule));
    return [replaceRules(rolename, acls)];
  },
  REMOVE_ROLE_ACL(draft, { roleName: rolename, aclType, topic }) {
    const { acls } = roleOf(draft, rolename);
    const rest = acls.filter((rule) => !isSameRule(rule, { aclType, topic }));
    if (rest.length === acls.length) throw notFound(`rule ${aclType} in the role "${rolename}" for`, topic);
    // Another tool may have stored an invalid filter with modifyRole, which removeRoleACL does not accept.
    if (filterProblem(topic) !== null) return [replaceRules(rolename, rest)];
    return [{ command: 'removeRoleACL', fields: { rolename, acltype: aclType, topic } }];
  },
  SET_DEFAULT_ACL(draft, { acl }) {
    const acls = DEFAULT_ACL_TYPES.flatMap((type) => {
      const allow = acl[type];
      return allow === undefined || allow === draft.defaultAcl[type] ? [] : [{ acltype: type, allow }];
    });
    return acls.length === 0 ? [] : [{ command: 'setDefaultACLAccess', fields: { acls } }];
  },
};

/** Mosquitto before 2.1 does not replace `%c` and `%u`. Existing rules with them may stay. Errors: INVALID. */
function checkSubstitution(
  dialect: AccessDialect,
  role: AccessRole | null,
  acls: readonly AclRule[],
  pathOf: (index: number) => string,
): void {
  if (dialect.substitution) return;
  const issues: InputIssue[] = [];
  for (const [index, acl] of acls.entries()) {
    if (!substitutes(acl) || role?.acls.some((rule) => isSameRule(rule, acl))) continue;
    const reason = `"${acl.topic}": this broker does not replace %c and %u; Mosquitto 2.1 or newer is required`;
    issues.push({ path: pathOf(index), reason });
  }
  if (issues.length > 0) throw invalid(issues);
}

function isSameRules(before: readonly AclRule[], after: readonly AclRule[]): boolean {
  if (before.length !== after.length) return false;
  const others = rulesInOrder(after);
  return rulesInOrder(before).every((rule, index) => {
    const other = others[index];
    return other && isSameRule(rule, other) && rule.priority === other.priority && rule.allow === other.allow;
  });
}

const replaceRules = (rolename: string, acls: readonly AclRule[]): DynsecWrite => ({
  command: 'modifyRole',
  fields: { rolename, acls: rulesInOrder(acls).map(aclEntry) },
});
