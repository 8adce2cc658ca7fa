import {
  DEFAULT_MEMBERSHIP_PRIORITY,
  MAX_PRIORITY,
  type Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import { membershipsInOrder } from '../../../protocol/apis/access-control/access-order.ts';
import { type Fields, fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import type { AccessState } from './access-state.ts';
import { integerOf } from './command-fields.ts';
import { found } from './command-table.ts';

export const clampPriority = (priority: number): number => Math.max(-MAX_PRIORITY, Math.min(MAX_PRIORITY, priority));

export const priorityOf = (fields: Fields): number =>
  clampPriority(integerOf(fields, 'priority', DEFAULT_MEMBERSHIP_PRIORITY));

export const sortMemberships = (memberships: Iterable<Membership>): readonly Membership[] =>
  membershipsInOrder([...memberships]);

export const addMembership = (to: readonly Membership[], membership: Membership, state: AccessState) =>
  checkCount(sortMemberships([...to, membership]), state);

export const holds = (memberships: readonly Membership[], name: string): boolean =>
  memberships.some((membership) => membership.name === name);

const BAD_ROLES = "'roles' not an array or missing/invalid rolename";

/** `undefined` if the field is absent. The first entry of a repeated role applies. */
export function rolesOf(fields: Fields, state: AccessState, badList = BAD_ROLES): readonly Membership[] | undefined {
  const list = fieldOf(fields, 'roles');
  if (list === undefined) return undefined;
  if (!Array.isArray(list)) throw new ControlRefusal(badList);
  const roles = new Map<string, Membership>();
  for (const entry of list) {
    const name = isFields(entry) ? fieldOf(entry, 'rolename') : undefined;
    if (typeof name !== 'string') throw new ControlRefusal(badList);
    found(state.policy.roles, name, 'Role');
    if (!roles.has(name)) roles.set(name, { name, priority: priorityOf(entry) });
  }
  return checkCount(sortMemberships(roles.values()), state);
}

/** The objects of a list with their names (`undefined`: no text). `undefined` if the field is no list. */
export function namedEntries(fields: Fields, list: string, key: string) {
  const entries = fieldOf(fields, list);
  if (!Array.isArray(entries)) return undefined;
  return entries.filter(isFields).map((entry) => {
    const name = fieldOf(entry, key);
    return { name: typeof name === 'string' ? name : undefined, priority: priorityOf(entry) };
  });
}

export function checkCount<T extends readonly unknown[]>(memberships: T, { limits }: AccessState): T {
  if (memberships.length > limits.memberships) throw new ControlRefusal('Too many roles or groups');
  return memberships;
}
