import { ServiceError } from '../../../platform/errors.ts';
import { DYNSEC_API, getClient } from '../../../protocol/control/dynamic-security.ts';
import { type Fields, isFields } from '../../../protocol/control/fields.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import { type FollowedClient, followedClient } from '../inspect/followed-account.ts';

/** Who else is connected with the account of a client. */
export interface AccountCompany {
  readonly client: FollowedClient;
  /** Client ids, without the client's own. */
  readonly others: readonly string[];
  /** False: there may be more, because some connections are unknown. */
  readonly isComplete: boolean;
}

/** How long the broker has to tell its first count. */
const COUNT_PATIENCE_MS = 2_000;

/**
 * Who else would lose its connection if the account of a client was disconnected. Null: the client is not in the list.
 *
 * Everybody who came since the log is followed is known, with the user name that the log tells. Whoever came before is not, and may
 * use any account. That nobody unknown uses this one is taken from the first of these that says so:
 *
 *   1. The broker's last count of connections, told since, is that of the known ones, less those that were seen to go after it.
 *   2. Dynamic security has bound the account to this client id (2.0 and later): nobody else can log in with it.
 *   3. Mosquitto 2.1 tells the sessions of an account (`connections`), offline ones among them. There are no more than the known
 *      ones, so there is no unknown one.
 *   4. No count was told yet, and the last one before we first came was zero: the broker was empty then. This is no proof. Who came
 *      within the seconds between that count (`sys_interval`) and the beginning is overlooked, until the next count.
 *   5. A count that comes within COUNT_PATIENCE_MS, as in 1.
 *
 * Without any of them the account counts as shared with somebody. Two errors remain: a line that the broker dropped (2.0 drops them
 * when thousands come at once) can hide a client until a count disagrees; and a user name may be a guess (`isAmbiguous`).
 */
export async function companyOf(caller: ControlCaller, clientid: string): Promise<AccountCompany | null> {
  const client = await followedClient(caller, clientid);
  if (client === null) return null;
  if (client.unknownConnections === 0) return company(clientid, client, true);
  const isBound = await isKnownToDynsec(caller, clientid, client);
  if (isBound || client.wasEmpty || client.unknownConnections !== null) {
    return company(clientid, client, isBound || client.wasEmpty);
  }
  const later = await followedClient(caller, clientid, COUNT_PATIENCE_MS);
  return later && company(clientid, later, later.unknownConnections === 0);
}

const company = (clientid: string, client: FollowedClient, isComplete: boolean): AccountCompany => ({
  client,
  others: client.connectedIds.filter((id) => id !== clientid),
  isComplete,
});

/** 2 and 3 of the above. */
async function isKnownToDynsec(
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
    return Array.isArray(account.connections) && account.connections.length <= sessionCount;
  } catch (error) {
    // No such account, or nobody to ask: both say nothing of others, and the attempt itself will tell.
    if (error instanceof ServiceError) return false;
    throw error;
  }
}
