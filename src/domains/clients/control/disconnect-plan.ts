import type { ServiceError } from '../../../platform/errors.ts';
import type { ConnectedClientSummary } from '../inspect/inspect-data.ts';
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
  readonly force: boolean;
  /** Sessions may be taken over. */
  readonly takeover: boolean;
}

/**
 * The selected clients by account, where only accounts can be disconnected (those without a user name are one, too): one command
 * for each account, which names all of it that are selected. What it comes to is for the plugin to say, that looks at the
 * account when the command comes. An account that this service uses itself is never disconnected, even with `force`.
 */
export function planByAccount(
  clientIds: readonly string[],
  { connected, isOwn, force, takeover }: AccountFacts,
): DisconnectPlan {
  const usernames = new Map(connected.map(({ clientid, username }) => [clientid, username]));
  const ownAccounts = new Set(connected.filter(({ clientid }) => isOwn(clientid)).map(({ username }) => username));
  const accounts = new Map<string, string[]>();
  const kicks: Kick[] = [];
  const refusals = new Map<string, ServiceError>();
  for (const id of clientIds) {
    const username = usernames.get(id);
    if (isOwn(id)) refusals.set(id, ownConnection(id));
    else if (username !== undefined) push(accounts, username, id);
    // Who is not known may be connected all the same: the answer tells.
    else kicks.push(single({ clientid: id, force, takeover }));
  }
  for (const [username, ids] of accounts) {
    const [clientid = ''] = ids;
    // Where sessions may be taken over, `force` is about one client's.
    const consent = { force: force && (takeover || !ownAccounts.has(username)), takeover };
    // Who comes with the account meanwhile is not meant: the plugin looks again.
    const among = ids.length > 1 ? { among: ids } : {};
    kicks.push({ command: { clientid, ...consent, ...among }, clientIds: ids });
  }
  return { kicks, refusals };
}

const single = (command: DisconnectClient): Kick => ({ command, clientIds: [command.clientid] });

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
