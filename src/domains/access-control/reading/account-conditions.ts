import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { Account } from '../../../protocol/apis/access-control/access-model.ts';

/** An account must match all conditions. `null` and an empty `search` are no conditions. */
export interface AccountConditions {
  /** Part of the user name, client id, display name or note, in any case. */
  readonly search?: string | null | undefined;
  readonly enabled?: boolean | null | undefined;
  /** A group of the account. */
  readonly groupName?: string | null | undefined;
  /** A role that the account holds directly. */
  readonly roleName?: string | null | undefined;
}

/** Returns `null` if there is no condition. */
export function matcherOf(conditions: AccountConditions): ((account: Account) => boolean) | null {
  const { search = null, enabled = null, groupName = null, roleName = null } = conditions;
  const matchers: ((account: Account) => boolean)[] = [];
  if (enabled !== null) matchers.push(({ disabled }) => disabled !== enabled);
  if (groupName !== null) matchers.push(({ groups }) => groups.some(({ name }) => name === groupName));
  if (roleName !== null) matchers.push(({ roles }) => roles.some(({ name }) => name === roleName));
  if (search !== null && search !== '') matchers.push(searched(search));
  return matchers.length === 0 ? null : (account) => matchers.every((matches) => matches(account));
}

function searched(search: string): (account: Account) => boolean {
  // Without copies of all texts in lower case.
  const pattern = new RegExp(search.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu');
  return ({ username, clientId, textName, textDescription }) =>
    pattern.test(username) ||
    (clientId !== null && pattern.test(clientId)) ||
    (textName !== null && pattern.test(textName)) ||
    (textDescription !== null && pattern.test(textDescription));
}

export function* matching<T>(list: readonly T[], matches: (entry: T) => boolean): SlicedTask<readonly T[]> {
  const found: T[] = [];
  for (const entry of list) {
    if (matches(entry)) found.push(entry);
    yield;
  }
  return found;
}
