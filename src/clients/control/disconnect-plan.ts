import { ServiceError } from '../../errors.ts';
import { ANONYMOUS, type ConnectedClientSummary } from '../inspect/inspect-control.ts';
import { ownConnection } from '../own-connections.ts';
import type { DisconnectClient } from './client-control.ts';

/** One command, and those of the selected clients that it is to disconnect. */
export interface Kick {
  readonly command: DisconnectClient;
  readonly clientIds: readonly string[];
}

export interface DisconnectPlan {
  readonly kicks: readonly Kick[];
  /** By client id: why nothing is sent for it. */
  readonly refusals: ReadonlyMap<string, ServiceError>;
}

/** Clients named in a refusal. */
const MAX_NAMED = 100;

/** The selected clients one by one: where the broker itself disconnects, each connection is alone. */
export function planSingly(clientIds: readonly string[], isOwn: (clientId: string) => boolean): DisconnectPlan {
  const refusals = new Map(clientIds.filter(isOwn).map((id) => [id, ownConnection(id)]));
  const kicks = clientIds.filter((id) => !refusals.has(id)).map((clientid) => single({ clientid }));
  return { kicks, refusals };
}

export interface AccountFacts {
  /** All that are known to be connected. */
  readonly connected: readonly ConnectedClientSummary[];
  readonly isOwn: (clientId: string) => boolean;
  /** Others on the accounts of the selected clients may be disconnected too. */
  readonly force: boolean;
  /** Sessions may be taken over, which touches nobody else. */
  readonly takeover: boolean;
  /** Of accounts: nobody uses one who is not known. False where that is not sure. */
  readonly isKnownWhole: (username: string) => boolean;
  /** With `takeover`: this session can be. */
  readonly canTakeOver: (clientId: string) => boolean;
}

/** The selected clients by user name, without connections of this service and those whom nobody knows. */
export function byAccount(
  clientIds: readonly string[],
  { connected, isOwn }: Pick<AccountFacts, 'connected' | 'isOwn'>,
): Map<string, string[]> {
  const usernames = new Map(connected.map(({ clientid, username }) => [clientid, username]));
  const accounts = new Map<string, string[]>();
  for (const id of clientIds) {
    const username = usernames.get(id);
    if (username !== undefined && !isOwn(id)) push(accounts, username, id);
  }
  return accounts;
}

/**
 * The selected clients by account, where only accounts can be disconnected (those without a user name are one, too): one whose
 * connections are all selected is disconnected once. Of others the selected connections are refused with the names of the rest,
 * unless `force`, or taken over one by one. An account that this service itself uses is never disconnected.
 */
export function planByAccount(clientIds: readonly string[], facts: AccountFacts): DisconnectPlan {
  const { connected, isOwn, force, takeover } = facts;
  const selected = new Set(clientIds);
  const ownAccounts = new Set<string>();
  const others = new Map<string, string[]>();
  for (const { clientid, username } of connected) {
    if (isOwn(clientid)) ownAccounts.add(username);
    if (!selected.has(clientid)) push(others, username, clientid);
  }
  const accounts = byAccount(clientIds, facts);
  const grouped = new Set([...accounts.values()].flat());
  const kicks: Kick[] = [];
  const refusals = new Map<string, ServiceError>();
  for (const id of clientIds) {
    if (isOwn(id)) refusals.set(id, ownConnection(id));
    // Who is not known may be connected all the same: the answer tells.
    else if (!grouped.has(id)) kicks.push(single({ clientid: id, force, takeover }));
  }
  for (const [username, ids] of accounts) {
    const sharing = { rest: others.get(username) ?? [], isOwnAccount: ownAccounts.has(username) };
    const isWhole = sharing.rest.length === 0 && facts.isKnownWhole(username);
    if (!sharing.isOwnAccount && (isWhole || force)) {
      const [clientid = ''] = ids;
      // Who comes with the account meanwhile is not meant: the plugin looks again.
      const among = ids.length > 1 ? { among: ids } : {};
      kicks.push({ command: { clientid, force, takeover, ...among }, clientIds: ids });
      continue;
    }
    for (const id of ids) {
      if (takeover && facts.canTakeOver(id)) kicks.push(single({ clientid: id, takeover }));
      else refusals.set(id, sharedAccount(username, sharing));
    }
  }
  return { kicks, refusals };
}

interface Sharing {
  /** Client ids of those who are not selected. */
  readonly rest: readonly string[];
  readonly isOwnAccount: boolean;
}

function sharedAccount(username: string, { rest, isOwnAccount }: Sharing): ServiceError {
  const account = username === ANONYMOUS ? 'clients without a user name' : `the account "${username}"`;
  const reason = isOwnAccount
    ? 'this service itself is among them, and would cut itself off'
    : rest.length > 0
      ? 'others would be disconnected too'
      : 'others may be connected too, because not every connection is known';
  return new ServiceError('IN_USE', `Only ${account} as a whole can be disconnected: ${reason}`, {
    info: {
      username: username === ANONYMOUS ? null : username,
      clients: rest.slice(0, MAX_NAMED),
      count: rest.length,
      isComplete: isOwnAccount || rest.length > 0,
      canForce: !isOwnAccount,
    },
  });
}

const single = (command: DisconnectClient): Kick => ({ command, clientIds: [command.clientid] });

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
