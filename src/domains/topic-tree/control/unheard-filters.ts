import { ServiceError } from '../../../platform/errors.ts';
import { DYNSEC_API, getClient, getGroup, getRole } from '../../../protocol/control/dynamic-security.ts';
import { type Fields, isFields } from '../../../protocol/control/fields.ts';
import type { ControlCall, ControlCaller } from '../../../protocol/control/plugin.ts';
import { filterCovers, filtersOverlap } from '../../../protocol/mqtt/filter-match.ts';
import type { AccessRole, DefaultAcl, Membership } from '../../access-control/policy/access-model.ts';
import { rolesInOrder } from '../../access-control/policy/access-order.ts';
import { patternsOf } from '../../access-control/policy/acl-evaluation.ts';
import { parseClient, parseDefaultAcl, parseGroup, parseRole } from '../../access-control/reading/dynsec-control.ts';

/** Maximum number of groups, and of roles, of an account. If there are more, nothing is determined. */
const MAX_NAMES = 100;

/**
 * Returns the filters of which the broker's access control withholds all messages, although the account may subscribe
 * to them. Mosquitto reports no error in this case, and no messages arrive.
 *
 * Returns no filters if this cannot be determined: the broker has no dynamic security, or this service may not read it.
 * `username` is `null` for clients without a user name.
 */
export async function unheardFilters(
  caller: ControlCaller,
  username: string | null,
  filters: readonly string[],
): Promise<readonly string[]> {
  try {
    if ((await caller.capability(DYNSEC_API)).provider !== 'BROKER') return [];
    const roles = await rolesOf(caller, username);
    const defaultAcl = parseDefaultAcl(await caller.call(DYNSEC_API, 'getDefaultACLAccess'));
    return roles === null ? [] : filters.filter((filter) => isUnheard(filter, roles, defaultAcl));
  } catch (error) {
    if (error instanceof ServiceError) return [];
    throw error;
  }
}

/** Describes the missing permission in terms of Mosquitto's dynamic security. */
export function missingReceiveRight(filters: readonly string[], username: string | null): string {
  const patterns = filters.map((filter) => `"${filter}"`).join(', ');
  const role = username === null ? 'a role of the group of anonymous clients' : `a role of "${username}"`;
  return (
    `The broker lets this service subscribe to ${patterns}, but gives it none of the messages: ${role} needs an ACL of type ` +
    'publishClientReceive that allows the topics that are to be recorded.'
  );
}

/** The first rule that covers the whole filter decides, unless an earlier rule allows a part of it. */
function isUnheard(filter: string, roles: readonly AccessRole[], defaultAcl: DefaultAcl): boolean {
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
  const held =
    username === null ? await anonymousHoldings(caller) : parseClient(await ask(caller, getClient(username)));
  if (held === null || held.groups.length > MAX_NAMES) return null;
  const groups = await askAll(
    caller,
    held.groups.map(({ name }) => getGroup(name)),
    parseGroup,
  );
  if (groups === null) return null;
  const rolesOfGroup = (name: string): readonly Membership[] =>
    groups.find(({ groupname }) => groupname === name)?.roles ?? [];
  const names = [...new Set(rolesInOrder(held.roles, held.groups, rolesOfGroup).map(({ rolename }) => rolename))];
  return names.length > MAX_NAMES ? null : askAll(caller, names.map(getRole), parseRole);
}

async function anonymousHoldings(caller: ControlCaller) {
  const data = fieldsOf(await caller.call(DYNSEC_API, 'getAnonymousGroup'));
  const { groupname } = fieldsOf(data.group);
  const isGroup = typeof groupname === 'string' && groupname !== '';
  return { roles: [], groups: isGroup ? [{ name: groupname, priority: 0 }] : [] };
}

const ask = (caller: ControlCaller, { command, fields }: ControlCall) => caller.call(DYNSEC_API, command, fields);

/** Returns `null` if not all responses could be read. */
async function askAll<T>(caller: ControlCaller, calls: readonly ControlCall[], parse: (data: unknown) => T | null) {
  if (calls.length === 0) return [];
  const answers = await caller.callAll(DYNSEC_API, calls);
  const read = answers.map((answer) => (answer.status === 'fulfilled' ? parse(answer.value) : null));
  const found = read.filter((one) => one !== null);
  return found.length === calls.length ? found : null;
}

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
