import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import { includesText, isLongPart } from '../../../platform/text/text-search.ts';
import type { Account } from '../../../protocol/apis/access-control/access-model.ts';

/** An account must match all conditions. `null` and an empty `search` are no conditions. */
export interface AccountConditions {
  /** Part of the user name, client id, display name or note, in any case. */
  readonly search?: string | null | undefined;
  readonly enabled?: boolean | null | undefined;
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
  const fits = isLongPart(search) ? longPattern(search) : shortPattern(search);
  return ({ username, clientId, textName, textDescription }) =>
    fits(username) || [clientId, textName, textDescription].some((text) => text !== null && fits(text));
}

/** Without copies of all texts in lower case. */
function shortPattern(search: string): (text: string) => boolean {
  const pattern = new RegExp(search.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu');
  return (text) => pattern.test(text);
}

/** A pattern of many characters is refused, and its time is not linear. */
function longPattern(search: string): (text: string) => boolean {
  const part = search.toLowerCase();
  return (text) => includesText(text.toLowerCase(), part);
}

export function* matching<T>(list: readonly T[], matches: (entry: T) => boolean): SlicedTask<readonly T[]> {
  const found: T[] = [];
  for (const entry of list) {
    if (matches(entry)) found.push(entry);
    yield;
  }
  return found;
}
