import {
  ACL_TYPES,
  type AccessRole,
  type AclRule,
  type AclType,
  DEFAULT_ACL_PRIORITY,
} from '../../../protocol/apis/access-control/access-model.ts';
import { type Fields, fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';
import type { AccessState } from './access-state.ts';
import { checkName, flagOf, integerOf, isTooLong, modifiedTexts, newTexts, requiredName } from './command-fields.ts';
import { type CommandTable, found, kickHolders, pageOf, withRoom } from './command-table.ts';
import { clampPriority } from './membership-fields.ts';
import { roleResponse } from './object-responses.ts';

/** Commands for roles. Error texts and the order of checks are the same as in Mosquitto 2.1. */
export const ROLE_COMMANDS: CommandTable = {
  createRole(command, { state }) {
    if (requiredText(command, 'rolename') === '') throw new ControlRefusal('Empty rolename');
    const rolename = requiredName(command, 'rolename');
    const texts = newTexts(command);
    const flag = fieldOf(command, 'allowwildcardsubs');
    if (flag !== undefined && typeof flag !== 'boolean') throw new ControlRefusal('Invalid allowwildcardsubs');
    const { roles } = state.policy;
    if (roles.has(rolename)) throw new ControlRefusal('Role already exists');
    if (roles.size >= state.limits.roles) throw new ControlRefusal('Too many roles');
    const acls = aclsOf(command, state) ?? [];
    state.putRole(withRoom(state, { rolename, ...texts, allowWildcardSubs: flag ?? true, acls }));
  },

  deleteRole(command, context) {
    const { rolename } = find(context.state, requiredName(command, 'rolename'));
    kickHolders(rolename, context);
    context.state.removeRole(rolename);
  },

  getRole(command, { state }) {
    return { role: roleResponse(find(state, requiredName(command, 'rolename'))) };
  },

  listRoles(command, { state }) {
    const { roles } = state.policy;
    return { totalCount: roles.size, roles: pageOf(command, state, roles, roleResponse) };
  },

  modifyRole(command, context) {
    const { state } = context;
    const role = state.policy.roles.get(requiredName(command, 'rolename'));
    if (!role) throw new ControlRefusal('Role does not exist');
    const acls = aclsOf(command, state);
    const allowWildcardSubs = flagOf(command, 'allowwildcardsubs', role.allowWildcardSubs ?? true);
    const modified: AccessRole = {
      ...role,
      ...modifiedTexts(command, role),
      allowWildcardSubs,
      acls: acls ?? role.acls,
    };
    state.putRole(withRoom(state, modified, role));
    if (acls || allowWildcardSubs !== role.allowWildcardSubs) kickHolders(role.rolename, context);
  },

  addRoleACL(command, context) {
    const { state } = context;
    const { role, aclType, topic } = roleAndAcl(command, state);
    if (indexOf(role.acls, aclType, topic) >= 0) throw new ControlRefusal('ACL with this topic already exists');
    if (role.acls.length >= state.limits.acls) throw new ControlRefusal('Too many ACLs');
    const acls = sortAcls([...role.acls, ruleOf(command, aclType, topic)]);
    state.putRole(withRoom(state, { ...role, acls }, role));
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

const find = ({ policy }: AccessState, rolename: string): AccessRole => found(policy.roles, rolename, 'Role');

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

/**
 * `undefined` if there is no list. Entries that are no rules, and repeated topics, are skipped. Refuses rules with more
 * levels than a topic can have, unlike Mosquitto: thousands of `%c` would be replaced for each connection.
 */
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
    if (hasTooManyLevels(topic)) throw new ControlRefusal('Invalid ACL topic');
    const key = `${aclType} ${topic}`;
    if (!acls.has(key)) acls.set(key, ruleOf(entry, aclType, topic));
  }
  if (acls.size > state.limits.acls) throw new ControlRefusal('Too many ACLs');
  return sortAcls([...acls.values()]);
}

function roleAndAcl(fields: Fields, state: AccessState) {
  const role = find(state, requiredName(fields, 'rolename'));
  const aclType = TYPES.get(requiredText(fields, 'acltype').toLowerCase());
  if (!aclType) throw new ControlRefusal('Unknown acltype');
  const topic = checkName(requiredText(fields, 'topic'), 'Topic');
  if (!isFilter(topic)) throw new ControlRefusal('Invalid ACL topic');
  return { role, aclType, topic };
}

/** Mosquitto's maximum number of topic levels. */
const MAX_LEVELS = 201;

const hasTooManyLevels = (topic: string): boolean => topic.split('/', MAX_LEVELS + 1).length > MAX_LEVELS;

function isFilter(topic: string): boolean {
  if (topic === '' || hasTooManyLevels(topic)) return false;
  const levels = topic.split('/');
  return levels.every(
    (level, index) => !/[+#]/.test(level) || level === '+' || (level === '#' && index === levels.length - 1),
  );
}
