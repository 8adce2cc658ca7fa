import type { ServiceError } from '../../../platform/errors.ts';
import type { DisconnectClient } from '../../../protocol/apis/clients/client-control.ts';
import type { ConnectedClientSummary } from '../../../protocol/apis/clients/inspect-data.ts';
import { ownConnection } from '../own-connections.ts';

/** One command, and the selected clients that it should disconnect. */
export interface Kick {
  readonly command: DisconnectClient;
  readonly clientIds: readonly string[];
}

export interface DisconnectPlan {
  readonly kicks: readonly Kick[];
  readonly refusals: ReadonlyMap<string, ServiceError>;
}

export function planSingly(
  clientIds: readonly string[],
  isOwn: (clientId: string) => boolean,
  consent: Consent,
): DisconnectPlan {
  const refusals = new Map(clientIds.filter(isOwn).map((id) => [id, ownConnection(id)]));
  const kicks = clientIds.filter((id) => !refusals.has(id)).map((clientid) => single({ clientid, ...consent }));
  return { kicks, refusals };
}

type Consent = Pick<DisconnectClient, 'force' | 'takeover' | 'discardWill'>;

interface AccountFacts extends Consent {
  readonly connected: readonly ConnectedClientSummary[];
  readonly isOwn: (clientId: string) => boolean;
}

/**
 * Plans one command per account, with all selected clients of that account, for brokers that disconnect whole accounts.
 * Clients without a user name are one account. The plugin checks the account when it receives the command. The account
 * of this service is never disconnected, even with `force`.
 */
export function planByAccount(
  clientIds: readonly string[],
  { connected, isOwn, ...given }: AccountFacts,
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
    // An unknown client may be connected; the plugin decides.
    else kicks.push(single({ clientid: id, ...given }));
  }
  for (const [username, ids] of accounts) {
    const [clientid = ''] = ids;
    // With takeovers, `force` affects only the session of one client.
    const force = given.force === true && (given.takeover === true || !ownAccounts.has(username));
    // Clients that connect with the account meanwhile are not selected; the plugin checks again.
    const among = ids.length > 1 ? { among: ids } : {};
    kicks.push({ command: { clientid, ...given, force, ...among }, clientIds: ids });
  }
  return { kicks, refusals };
}

const single = (command: DisconnectClient): Kick => ({ command, clientIds: [command.clientid] });

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
