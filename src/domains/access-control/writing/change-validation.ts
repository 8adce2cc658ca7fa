import type { InputIssue } from '../../../platform/errors.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import { type AclRule, MAX_PRIORITY, type Membership } from '../policy/access-model.ts';
import { nameProblem, passwordProblem, plainTextProblem, textProblem } from '../policy/access-names.ts';
import type { AccessChange } from './access-change.ts';

/**
 * Returns the issues of a change that do not depend on the policy: invalid names, texts, priorities and topics, and
 * duplicate names. Brokers accept some invalid values and store something else: Mosquitto 2.0 and 2.1 skip malformed
 * entries of `acls`. Paths are relative to the change: `roles.0.rolename`.
 */
export function changeIssues(change: AccessChange): readonly InputIssue[] {
  const issues: InputIssue[] = [];
  const check = (path: string, problem: string | null): void => {
    if (problem !== null) issues.push({ path, reason: problem });
  };
  const optional = (path: string, text: string | null | undefined, problem = textProblem): void => {
    if (text != null) check(path, problem(text));
  };
  const memberships = (path: string, nameKey: string, list: readonly Membership[] = []): void => {
    for (const [index, { name, priority }] of list.entries()) {
      check(`${path}.${index}.${nameKey}`, nameProblem(name));
      check(`${path}.${index}.priority`, priorityProblem(priority));
    }
    for (const { at, key } of repeated(list.map(({ name }) => name))) {
      check(`${path}.${at}.${nameKey}`, `is a duplicate: "${key}"`);
    }
  };
  const membership = (nameKey: string, { name, priority }: Membership): void => {
    check(nameKey, nameProblem(name));
    check('priority', priorityProblem(priority));
  };
  const rule = (path: string, { topic, priority }: AclRule): void => {
    check(`${path}.topic`, filterProblem(topic) ?? textProblem(topic));
    check(`${path}.priority`, priorityProblem(priority));
  };

  switch (change.kind) {
    case 'PUT_CLIENT': {
      const { clientId, textName, textDescription, roles, groups, password } = change.fields;
      check('username', nameProblem(change.username));
      // "" clears like null.
      optional('clientId', clientId);
      optional('textName', textName, plainTextProblem);
      optional('textDescription', textDescription, plainTextProblem);
      memberships('roles', 'rolename', roles);
      memberships('groups', 'groupname', groups);
      if (password !== undefined) check('password', passwordProblem(password));
      break;
    }
    case 'PUT_GROUP': {
      const { textName, textDescription, roles, clients } = change.fields;
      check('groupname', nameProblem(change.groupname));
      optional('textName', textName, plainTextProblem);
      optional('textDescription', textDescription, plainTextProblem);
      memberships('roles', 'rolename', roles);
      memberships('clients', 'username', clients);
      break;
    }
    case 'PUT_ROLE': {
      const { textName, textDescription, acls = [] } = change.fields;
      check('rolename', nameProblem(change.rolename));
      optional('textName', textName, plainTextProblem);
      optional('textDescription', textDescription, plainTextProblem);
      for (const [index, acl] of acls.entries()) rule(`acls.${index}`, acl);
      for (const { at } of repeated(acls.map(({ aclType, topic }) => `${aclType}\0${topic}`))) {
        check(`acls.${at}`, 'is a duplicate of a rule with the same aclType and topic');
      }
      break;
    }
    case 'PUT_ROLE_ACL':
      check('rolename', nameProblem(change.rolename));
      rule('acl', change.acl);
      break;
    case 'ADD_CLIENT_ROLE':
      check('username', nameProblem(change.username));
      membership('rolename', change.role);
      break;
    case 'ADD_CLIENT_GROUP':
      check('username', nameProblem(change.username));
      membership('groupname', change.group);
      break;
    case 'ADD_GROUP_ROLE':
      check('groupname', nameProblem(change.groupname));
      membership('rolename', change.role);
      break;
    case 'SET_ANONYMOUS_GROUP':
    case 'DELETE_GROUP':
    case 'REMOVE_GROUP_ROLE':
      check('groupname', nameProblem(change.groupname));
      break;
    case 'DELETE_CLIENT':
    case 'REMOVE_CLIENT_ROLE':
    case 'REMOVE_CLIENT_GROUP':
      check('username', nameProblem(change.username));
      break;
    case 'DELETE_ROLE':
    case 'REMOVE_ROLE_ACL':
      check('rolename', nameProblem(change.rolename));
      break;
    case 'SET_DEFAULT_ACL':
      break;
  }
  return issues;
}

function priorityProblem(priority: number): string | null {
  if (Number.isInteger(priority) && Math.abs(priority) <= MAX_PRIORITY) return null;
  return `must be an integer from -${MAX_PRIORITY} to ${MAX_PRIORITY}`;
}

function repeated(keys: readonly string[]): { readonly at: number; readonly key: string }[] {
  const seen = new Set<string>();
  return keys.flatMap((key, at) => {
    if (seen.has(key)) return [{ at, key }];
    seen.add(key);
    return [];
  });
}
