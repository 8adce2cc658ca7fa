import {
  type AccessPolicy,
  DEFAULT_MEMBERSHIP_PRIORITY,
  type Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import type { AccessChange, RequestedMembership, ResolvedChange } from './access-change.ts';

/** Replaces missing priorities with those that the policy has. */
export function withPriorities(change: AccessChange, { clients, groups }: AccessPolicy): ResolvedChange {
  switch (change.kind) {
    case 'PUT_CLIENT': {
      const { roles, groups: joined, ...fields } = change.fields;
      const client = clients.get(change.username);
      const lists = {
        ...(roles && { roles: allResolved(roles, client?.roles) }),
        ...(joined && { groups: allResolved(joined, client?.groups) }),
      };
      return { ...change, fields: { ...fields, ...lists } };
    }
    case 'PUT_GROUP': {
      const { roles, members, ...fields } = change.fields;
      const { groupName } = change;
      const member = (entry: RequestedMembership) => ({
        ...entry,
        priority: resolved({ ...entry, name: groupName }, clients.get(entry.name)?.groups).priority,
      });
      const lists = {
        ...(roles && { roles: allResolved(roles, groups.get(groupName)?.roles) }),
        ...(members && { members: members.map(member) }),
      };
      return { ...change, fields: { ...fields, ...lists } };
    }
    case 'ADD_CLIENT_ROLE':
      return { ...change, role: resolved(change.role, clients.get(change.username)?.roles) };
    case 'ADD_CLIENT_GROUP':
      return { ...change, group: resolved(change.group, clients.get(change.username)?.groups) };
    case 'ADD_GROUP_ROLE':
      return { ...change, role: resolved(change.role, groups.get(change.groupName)?.roles) };
    default:
      return change;
  }
}

const allResolved = (list: readonly RequestedMembership[], current: readonly Membership[] | undefined) =>
  list.map((entry) => resolved(entry, current));

const resolved = ({ name, priority }: RequestedMembership, current: readonly Membership[] = []): Membership => ({
  name,
  priority: priority ?? current.find((other) => other.name === name)?.priority ?? DEFAULT_MEMBERSHIP_PRIORITY,
});
