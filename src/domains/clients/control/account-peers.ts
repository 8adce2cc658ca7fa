import { ServiceError } from '../../../platform/errors.ts';
import { DYNSEC_API, getClient, parseConnections } from '../../../protocol/control/dynamic-security.ts';
import { type Fields, isFields } from '../../../protocol/control/fields.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import { type FollowedClient, followedClient } from '../inspect/followed-account.ts';

export interface AccountPeers {
  readonly client: FollowedClient;
  /** Client ids, without the client's own. */
  readonly others: readonly string[];
  /** `false` if there may be more, because some connections are unknown. */
  readonly isComplete: boolean;
}

const COUNT_TIMEOUT_MS = 2_000;

/**
 * The clients that would lose their connection if the account of this client was disconnected; `null` if the client is
 * not in the list.
 *
 * Clients that connected after this service followed the log are known by user name. An earlier client is unknown, and
 * may use any account. The first of these facts proves that no unknown client uses this account:
 *
 *   1. The last count of connections equals the number of known connections, minus those that disconnected since.
 *   2. Dynamic security has bound the account to this client id (2.0 and later), so other clients cannot use it.
 *   3. Mosquitto 2.1 reports the sessions of an account (`connections`), including offline ones. If there are no more
 *      of them than known ones, none is unknown.
 *   4. No count has arrived yet, and the last count before this service connected was zero. A client that connected
 *      between that count (`sys_interval`) and the start of following is missed until the next count.
 *   5. A count arrives within COUNT_TIMEOUT_MS, as in 1.
 *
 * Otherwise the account counts as shared. If the broker drops a log line (2.0 does when thousands of clients connect
 * together), a client is missed until a count differs.
 */
export async function peersOf(caller: ControlCaller, clientid: string): Promise<AccountPeers | null> {
  const client = await followedClient(caller, clientid);
  if (client === null) return null;
  if (client.unknownConnections === 0) return peers(clientid, client, true);
  const isBound = await isExclusive(caller, clientid, client);
  if (isBound || client.wasEmpty || client.unknownConnections !== null) {
    return peers(clientid, client, isBound || client.wasEmpty);
  }
  const later = await followedClient(caller, clientid, COUNT_TIMEOUT_MS);
  return later && peers(clientid, later, later.unknownConnections === 0);
}

const peers = (clientid: string, client: FollowedClient, isComplete: boolean): AccountPeers => ({
  client,
  others: client.connectedIds.filter((id) => id !== clientid),
  isComplete,
});

/** Facts 2 and 3. */
async function isExclusive(
  caller: ControlCaller,
  clientid: string,
  { username, sessionCount }: FollowedClient,
): Promise<boolean> {
  if (username === null) return false;
  const { command, fields } = getClient(username);
  try {
    const data = await caller.call<Fields>(DYNSEC_API, command, fields);
    const account = isFields(data?.client) ? data.client : {};
    if (account.clientid === clientid) return true;
    return (parseConnections(data)?.length ?? Number.POSITIVE_INFINITY) <= sessionCount;
  } catch (error) {
    // No such account, or no dynamic security: disconnecting will fail.
    if (error instanceof ServiceError) return false;
    throw error;
  }
}
