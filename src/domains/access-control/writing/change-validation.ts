import type { InputIssue } from '../../../platform/errors.ts';
import { type AclRule, MAX_PRIORITY } from '../../../protocol/apis/access-control/access-model.ts';
import {
  nameProblem,
  passwordProblem,
  plainTextProblem,
  textProblem,
} from '../../../protocol/apis/access-control/access-names.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import type { AccessChange, ClientFields, GroupFields, RequestedMembership, RoleFields } from './access-change.ts';

const NAME_KEYS = ['username', 'groupName', 'roleName'] as const;

/** Issues that do not depend on the policy. Mosquitto 2.0 and 2.1 skip malformed entries of `acls` without an error. */
export function changeIssues(change: AccessChange): readonly InputIssue[] {
  const issues: InputIssue[] = [];
  const check = (path: string, problem: string | null): void => {
    if (problem !== null) issues.push({ path, reason: problem });
  };
  const optional = (path: string, text: string | null | undefined, problem = textProblem): void => {
    if (text != null) check(path, problem(text));
  };
  const membership = (prefix: string, key: string, { name, priority }: RequestedMembership): void => {
    check(`${prefix}${key}`, nameProblem(name));
    if (priority !== null) check(`${prefix}priority`, priorityProblem(priority));
  };
  const memberships = (path: string, key: string, list: readonly RequestedMembership[] = []): void => {
    for (const [index, entry] of list.entries()) membership(`${path}.${index}.`, key, entry);
    for (const { at, key: name } of repeated(list.map((entry) => entry.name))) {
      check(`${path}.${at}.${key}`, `is a duplicate: "${name}"`);
    }
  };
  const rule = (path: string, { topic, priority }: AclRule): void => {
    check(`${path}.topic`, filterProblem(topic) ?? textProblem(topic));
    check(`${path}.priority`, priorityProblem(priority));
  };

  // The first name is the object that changes. Other names are references, which must exist anyway.
  const nameKey = NAME_KEYS.find((key) => key in change);
  if (nameKey !== undefined)
    check(nameKey, nameProblem((change as Partial<Record<typeof nameKey, string>>)[nameKey] ?? ''));
  if ('role' in change) membership('', 'roleName', change.role);
  if ('group' in change) membership('', 'groupName', change.group);
  if (change.kind === 'PUT_ROLE_ACL') rule('acl', change.acl);
  const fields: ClientFields<RequestedMembership> & GroupFields<RequestedMembership> & RoleFields =
    'fields' in change ? change.fields : {};
  // "" clears like null.
  optional('clientId', fields.clientId);
  optional('textName', fields.textName, plainTextProblem);
  optional('textDescription', fields.textDescription, plainTextProblem);
  memberships('roles', 'roleName', fields.roles);
  memberships('groups', 'groupName', fields.groups);
  memberships('members', 'username', fields.members);
  optional('password', fields.password, passwordProblem);
  for (const [index, acl] of (fields.acls ?? []).entries()) rule(`acls.${index}`, acl);
  for (const { at } of repeated((fields.acls ?? []).map(({ aclType, topic }) => `${aclType}\0${topic}`))) {
    check(`acls.${at}`, 'is a duplicate of a rule with the same aclType and topic');
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
