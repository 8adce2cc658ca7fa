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
export function planSingly(
  clientIds: readonly string[],
  isOwn: (clientId: string) => boolean,
  consent: { readonly takeover?: boolean } = {},
): DisconnectPlan {
  const refusals = new Map(clientIds.filter(isOwn).map((id) => [id, ownConnection(id)]));
  const kicks = clientIds.filter((id) => !refusals.has(id)).map((clientid) => single({ clientid, ...consent }));
  return { kicks, refusals };
}

export interface AccountFacts {
  readonly connected: readonly ConnectedClientSummary[];
  /** False: others may be connected that nobody can tell of. */
  readonly isComplete: boolean;
  readonly isOwn: (clientId: string) => boolean;
  /** The account that this service uses there; null: none. */
  readonly ownUsername: string | null;
  /** Others on the accounts of the selected clients may be disconnected too. */
  readonly force: boolean;
  /** Sessions may be taken over, which touches nobody else. */
  readonly takeover: boolean;
}

/**
 * The selected clients by account, where only accounts can be disconnected: one whose connections are all selected is disconnected
 * once. Of others the selected connections are refused with the names of the rest, unless `force`, or taken over one by one. An
 * account that this service itself uses is never disconnected.
 */
export function planByAccount(clientIds: readonly string[], facts: AccountFacts): DisconnectPlan {
  const { connected, isComplete, isOwn, ownUsername, force, takeover } = facts;
  const selected = new Set(clientIds);
  const usernames = new Map<string, string>();
  const ownAccounts = new Set(ownUsername === null ? [] : [ownUsername]);
  const others = new Map<string, string[]>();
  for (const { clientid, username } of connected) {
    usernames.set(clientid, username);
    if (isOwn(clientid)) ownAccounts.add(username);
    if (!selected.has(clientid)) push(others, username, clientid);
  }

  const accounts = new Map<string, string[]>();
  const kicks: Kick[] = [];
  const refusals = new Map<string, ServiceError>();
  for (const id of clientIds) {
    const username = usernames.get(id);
    if (isOwn(id)) refusals.set(id, ownConnection(id));
    // Without a user name there is no account, and who is not known may be connected all the same: the plugin decides.
    else if (username === undefined || username === ANONYMOUS) kicks.push(single({ clientid: id, force, takeover }));
    else push(accounts, username, id);
  }
  for (const [username, ids] of accounts) {
    const rest = others.get(username) ?? [];
    const isOwnAccount = ownAccounts.has(username);
    const isWhole = rest.length === 0 && isComplete;
    if (!isOwnAccount && (isWhole || force)) {
      const [clientid = '', ...more] = ids;
      // Consent to all of its connections, each of which is selected or meant by the caller's own `force`.
      kicks.push({ command: { clientid, force: more.length > 0 || force, takeover }, clientIds: ids });
    } else if (takeover) {
      for (const clientid of ids) kicks.push(single({ clientid, takeover }));
    } else {
      const error = sharedAccount(username, { rest, isOwnAccount, isComplete });
      for (const id of ids) refusals.set(id, error);
    }
  }
  return { kicks, refusals };
}

interface Sharing {
  readonly rest: readonly string[];
  readonly isOwnAccount: boolean;
  readonly isComplete: boolean;
}

function sharedAccount(username: string, { rest, isOwnAccount, isComplete }: Sharing): ServiceError {
  const reason = isOwnAccount
    ? 'this service itself is connected with that account, and would be disconnected too'
    : rest.length > 0
      ? 'others use that account and would be disconnected too'
      : 'others may use that account, because not every connection is known';
  return new ServiceError('IN_USE', `Only the whole account "${username}" can be disconnected: ${reason}`, {
    info: { clients: rest.slice(0, MAX_NAMED), isComplete },
  });
}

const single = (command: DisconnectClient): Kick => ({ command, clientIds: [command.clientid] });

function push(lists: Map<string, string[]>, key: string, value: string): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
