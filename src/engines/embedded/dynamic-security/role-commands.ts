import {
  ACL_TYPES,
  type AccessRole,
  type AclRule,
  type AclType,
  DEFAULT_ACL_PRIORITY,
} from '../../../domains/access-control/policy/access-model.ts';
import { type Fields, fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';
import type { AccessState } from './access-state.ts';
import {
  checkName,
  flagOf,
  integerOf,
  isTooLong,
  lenientText,
  optionalText,
  pageOf,
  requiredRolename,
} from './command-fields.ts';
import { type CommandTable, kickHolders, requireRoom } from './command-table.ts';
import { clampPriority } from './membership-fields.ts';
import { roleResponse } from './object-responses.ts';

/** Commands for roles. Error texts and the order of checks are the same as in Mosquitto 2.1. */
export const ROLE_COMMANDS: CommandTable = {
  createRole(command, { state }) {
    if (requiredText(command, 'rolename') === '') throw new ControlRefusal('Empty rolename');
    const rolename = requiredRolename(command);
    const textName = optionalText(command, 'textname') ?? null;
    const textDescription = optionalText(command, 'textdescription') ?? null;
    const flag = fieldOf(command, 'allowwildcardsubs');
    if (flag !== undefined && typeof flag !== 'boolean') throw new ControlRefusal('Invalid allowwildcardsubs');
    const { roles } = state.policy;
    if (roles.has(rolename)) throw new ControlRefusal('Role already exists');
    if (roles.size >= state.limits.roles) throw new ControlRefusal('Too many roles');
    const acls = aclsOf(command, state) ?? [];
    const role: AccessRole = { rolename, textName, textDescription, allowWildcardSubs: flag ?? true, acls };
    requireRoom(state, role);
    state.putRole(role);
  },

  deleteRole(command, context) {
    const { rolename } = find(context.state, requiredRolename(command));
    kickHolders(rolename, context);
    context.state.removeRole(rolename);
  },

  getRole(command, { state }) {
    return { role: roleResponse(find(state, requiredRolename(command))) };
  },

  listRoles(command, { state }) {
    const { verbose, offset, end } = pageOf(command);
    const { roles } = state.policy;
    const names = state.names(roles).slice(offset, end);
    const listed = verbose ? names.map((name) => roleResponse(find(state, name))) : names;
    return { totalCount: roles.size, roles: listed };
  },

  modifyRole(command, context) {
    const { state } = context;
    const role = state.policy.roles.get(requiredRolename(command));
    if (!role) throw new ControlRefusal('Role does not exist');
    const acls = aclsOf(command, state);
    const allowWildcardSubs = flagOf(command, 'allowwildcardsubs', role.allowWildcardSubs ?? true);
    const modified: AccessRole = {
      ...role,
      textName: lenientText(command, 'textname') ?? role.textName,
      textDescription: lenientText(command, 'textdescription') ?? role.textDescription,
      allowWildcardSubs,
      acls: acls ?? role.acls,
    };
    requireRoom(state, modified, role);
    state.putRole(modified);
    if (acls || allowWildcardSubs !== role.allowWildcardSubs) kickHolders(role.rolename, context);
  },

  addRoleACL(command, context) {
    const { state } = context;
    const { role, aclType, topic } = roleAndAcl(command, state);
    if (indexOf(role.acls, aclType, topic) >= 0) throw new ControlRefusal('ACL with this topic already exists');
    if (role.acls.length >= state.limits.acls) throw new ControlRefusal('Too many ACLs');
    const changed = { ...role, acls: sortAcls([...role.acls, ruleOf(command, aclType, topic)]) };
    requireRoom(state, changed, role);
    state.putRole(changed);
    kickHolders(role.rolename, context);
  },

  removeRoleACL(command, context) {
    const { role, aclType, topic } = roleAndAcl(command, context.state);
    const index = indexOf(role.acls, aclType, topic);
    if (index < 0) throw new ControlRefusal('ACL not found');
    context.state.putRole({ ...role, acls: role.acls.toSpliced(index, 1) });
    kickHolders(role.rolename, context);
  },
};

function find({ policy }: AccessState, rolename: string): AccessRole {
  const role = policy.roles.get(rolename);
  if (!role) throw new ControlRefusal('Role not found');
  return role;
}

const TYPES: ReadonlyMap<string, AclType> = new Map(ACL_TYPES.map((type) => [type.toLowerCase(), type]));
const RANKS: Readonly<Record<string, number>> = Object.fromEntries(ACL_TYPES.map((type, rank) => [type, rank]));

/** Sorts by type and descending priority. Equal rules stay in the order in which they were added. */
export function sortAcls(acls: readonly AclRule[]): AclRule[] {
  return acls.toSorted((a, b) => (RANKS[a.aclType] ?? 0) - (RANKS[b.aclType] ?? 0) || b.priority - a.priority);
}

const indexOf = (acls: readonly AclRule[], aclType: AclType, topic: string): number =>
  acls.findIndex((rule) => rule.aclType === aclType && rule.topic === topic);

const ruleOf = (fields: Fields, aclType: AclType, topic: string): AclRule => ({
  aclType,
  topic,
  priority: clampPriority(integerOf(fields, 'priority', DEFAULT_ACL_PRIORITY)),
  allow: flagOf(fields, 'allow', false),
});

/** `undefined` if there is no list. Entries that are no rules, and repeated topics, are skipped. */
function aclsOf(fields: Fields, state: AccessState): AclRule[] | undefined {
  const entries = fieldOf(fields, 'acls');
  if (!Array.isArray(entries)) return undefined;
  const acls = new Map<string, AclRule>();
  for (const entry of entries) {
    if (!isFields(entry)) continue;
    const type = fieldOf(entry, 'acltype');
    const topic = fieldOf(entry, 'topic');
    const aclType = typeof type === 'string' ? TYPES.get(type.toLowerCase()) : undefined;
    if (!aclType || typeof topic !== 'string' || topic === '' || isTooLong(topic) || /\p{Cs}/u.test(topic)) continue;
    const key = `${aclType} ${topic}`;
    if (!acls.has(key)) acls.set(key, ruleOf(entry, aclType, topic));
  }
  if (acls.size > state.limits.acls) throw new ControlRefusal('Too many ACLs');
  return sortAcls([...acls.values()]);
}

function roleAndAcl(fields: Fields, state: AccessState) {
  const role = find(state, requiredRolename(fields));
  const aclType = TYPES.get(requiredText(fields, 'acltype').toLowerCase());
  if (!aclType) throw new ControlRefusal('Unknown acltype');
  const topic = checkName(requiredText(fields, 'topic'), 'Topic');
  if (!isFilter(topic)) throw new ControlRefusal('Invalid ACL topic');
  return { role, aclType, topic };
}

/** Mosquitto's maximum number of topic levels. */
const MAX_LEVELS = 201;

/** Whether each wildcard is a level of its own, and `#` is the last level. */
function isFilter(topic: string): boolean {
  const levels = topic.split('/');
  if (levels.length > MAX_LEVELS) return false;
  return levels.every(
    (level, index) => !/[+#]/.test(level) || level === '+' || (level === '#' && index === levels.length - 1),
  );
}
