import { ServiceError } from '../../../platform/errors.ts';
import type { AccessRole, DefaultAcl, Membership } from '../../../protocol/apis/access-control/access-model.ts';
import { rolesInOrder } from '../../../protocol/apis/access-control/access-order.ts';
import { patternsOf } from '../../../protocol/apis/access-control/acl-evaluation.ts';
import {
  parseClient,
  parseDefaultAcl,
  parseGroup,
  parseRole,
} from '../../../protocol/apis/access-control/dynsec-control.ts';
import {
  DYNSEC_API,
  getClient,
  getGroup,
  getRole,
  parseAnonymousGroup,
} from '../../../protocol/control/dynamic-security.ts';
import type { ControlCall, ControlCaller } from '../../../protocol/control/plugin.ts';
import { filterCovers, filtersOverlap } from '../../../protocol/mqtt/filter-match.ts';

/** Maximum number of groups, and of roles, of an account. Accounts with more are not examined. */
const MAX_NAMES = 100;

/**
 * Returns the filters that the account may subscribe to, but of which the broker's access control withholds all
 * messages. Mosquitto reports no error in this case. Returns none if this cannot be determined. `username` is `null`
 * for clients without a user name.
 */
export async function withheldFilters(
  caller: ControlCaller,
  username: string | null,
  filters: readonly string[],
): Promise<readonly string[]> {
  try {
    if ((await caller.capability(DYNSEC_API)).provider !== 'BROKER') return [];
    const roles = await rolesOf(caller, username);
    const defaultAcl = parseDefaultAcl(await caller.call(DYNSEC_API, 'getDefaultACLAccess'));
    return roles === null ? [] : filters.filter((filter) => isWithheld(filter, roles, defaultAcl));
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
}

export function missingReceiveRight(filters: readonly string[], username: string | null): string {
  const patterns = filters.map((filter) => `"${filter}"`).join(', ');
  const role = username === null ? 'a role of the group of anonymous clients' : `a role of "${username}"`;
  return (
    `The broker lets this service subscribe to ${patterns}, but sends it none of the messages: ${role} needs an ACL of type ` +
    'publishClientReceive that allows the recorded topics.'
  );
}

/** The first rule that covers the whole filter decides, unless an earlier rule allows a part of it. */
function isWithheld(filter: string, roles: readonly AccessRole[], defaultAcl: DefaultAcl): boolean {
  const levels = filter.split('/');
  for (const role of roles) {
    for (const { topic, allow } of patternsOf(role, 'RECEIVE')) {
      // `%c` and `%u` may stand for any level here.
      const isBound = !/(^|\/)%[cu](\/|$)/.test(topic);
      if (allow && (!isBound || filtersOverlap(topic.split('/'), levels))) return false;
      if (!allow && isBound && filterCovers(topic, filter)) return true;
    }
  }
  return !defaultAcl.publishClientReceive;
}

/** Returns the roles in the order of evaluation. `null` if there are too many or they cannot be read. */
async function rolesOf(caller: ControlCaller, username: string | null): Promise<AccessRole[] | null> {
  const account = await readAccount(caller, username);
  if (account === null || account.groups.length > MAX_NAMES) return null;
  const groupCalls = account.groups.map(({ name }) => getGroup(name));
  const groups = await callAll(caller, groupCalls, parseGroup);
  if (groups === null) return null;
  const rolesOfGroup = (name: string): readonly Membership[] =>
    groups.find(({ groupname }) => groupname === name)?.roles ?? [];
  const names = rolesInOrder(account.roles, account.groups, rolesOfGroup).map(({ rolename }) => rolename);
  return names.length > MAX_NAMES ? null : callAll(caller, names.map(getRole), parseRole);
}

async function readAccount(caller: ControlCaller, username: string | null) {
  if (username !== null) {
    const { command, fields } = getClient(username);
    return parseClient(await caller.call(DYNSEC_API, command, fields));
  }
  const groupname = parseAnonymousGroup(await caller.call(DYNSEC_API, 'getAnonymousGroup'));
  return { roles: [], groups: groupname === null ? [] : [{ name: groupname, priority: 0 }] };
}

async function callAll<T>(caller: ControlCaller, calls: readonly ControlCall[], parse: (data: unknown) => T | null) {
  if (calls.length === 0) return [];
  const results = await caller.callAll(DYNSEC_API, calls);
  const parsed = results.map((result) => (result.status === 'fulfilled' ? parse(result.value) : null));
  const found = parsed.filter((one) => one !== null);
  return found.length === calls.length ? found : null;
}
