import { nullOn } from '../../../platform/errors.ts';
import { INSPECT_API } from '../../../protocol/apis/clients/inspect-control.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { AccountUse } from './account-index.ts';

/**
 * Extension commands of the gateway plugin that follows Mosquitto's log, for other gateway plugins: which clients use
 * an account, and whether a connection has ended. Brokers do not serve these commands.
 */
export interface FollowedClient extends AccountUse {
  /** Number of connections that the log did not report; `null` if that number is unknown. */
  readonly unknownConnections: number | null;
  /** Whether the broker had no connections shortly before following began, and has published no count since. */
  readonly wasEmpty: boolean;
  /** Epoch milliseconds since when clients are followed. */
  readonly since: number;
  /** Number of connections that an administrator has ended; an argument of `kickedSince`. */
  readonly kickCount: number;
}

/** `timeoutMs`: wait for the first count. Errors: NOT_SUPPORTED_BY_BROKER (no followed log), BROKER_UNREACHABLE. */
export async function followedClient(
  caller: ControlCaller,
  clientid: string,
  timeoutMs = 0,
): Promise<FollowedClient | null> {
  return caller
    .call<FollowedClient>(INSPECT_API, 'describeConnection', { clientid, patienceMs: timeoutMs })
    .catch(nullOn('NOT_FOUND'));
}

/** Resolves when the log reports the end of the connection and of a takeover of its session, or at timeout. */
export async function whenEnded(
  caller: ControlCaller,
  { clientid, connection }: { readonly clientid: string; readonly connection: number },
  timeoutMs: number,
): Promise<void> {
  await caller.call(INSPECT_API, 'awaitEnd', { clientid, connection, patienceMs: timeoutMs });
}

/** Ids of the clients of an account that an administrator has disconnected since `kickCount` was read. */
export function kickedSince(
  caller: ControlCaller,
  { username, kickCount }: Pick<FollowedClient, 'username' | 'kickCount'>,
): Promise<readonly string[]> {
  return caller.call(INSPECT_API, 'listKicked', { username, after: kickCount });
}

/** Call before and after a session takeover: in between, log lines about the client are about this service. */
export async function announceTakeover(
  caller: ControlCaller,
  clientid: string,
  phase: 'BEFORE' | 'AFTER',
): Promise<void> {
  await caller.call(INSPECT_API, phase === 'BEFORE' ? 'borrowSession' : 'returnSession', { clientid });
}
