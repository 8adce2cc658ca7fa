import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { AccountUse } from './account-index.ts';
import { INSPECT_API } from './inspect-control.ts';

/**
 * Extension commands of the plugin that follows Mosquitto's log, for other plugins beside it: who uses an account, and what
 * becomes of a connection. Nobody else serves them.
 */
export interface FollowedClient extends AccountUse {
  /** Connections that nobody can tell of; null: unknown how many. */
  readonly unknownConnections: number | null;
  /** The broker has told no count since clients are followed, and had nobody connected shortly before. */
  readonly wasEmpty: boolean;
  /** Epoch milliseconds since when clients are followed. */
  readonly since: number;
  /** Connections that an administrator has ended so far; for `kickedSince`. */
  readonly kickCount: number;
}

/**
 * Null: not in the list. Waits so long for the broker's count of connections where it has told none yet.
 * Errors: NOT_SUPPORTED_BY_BROKER (the log is not followed), BROKER_UNREACHABLE.
 */
export async function followedClient(
  caller: ControlCaller,
  clientid: string,
  patienceMs = 0,
): Promise<FollowedClient | null> {
  try {
    return await caller.call<FollowedClient>(INSPECT_API, 'describeConnection', { clientid, patienceMs });
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
}

/** Resolves when the log has told the end of this connection, and of ours to its session; or when the time is over. */
export async function whenEnded(
  caller: ControlCaller,
  { clientid, connection }: { readonly clientid: string; readonly connection: number },
  patienceMs: number,
): Promise<void> {
  await caller.call(INSPECT_API, 'awaitEnd', { clientid, connection, patienceMs });
}

/** Ids of the clients of an account that an administrator has disconnected since its `kickCount` was this. */
export function kickedSince(
  caller: ControlCaller,
  { username, kickCount }: Pick<FollowedClient, 'username' | 'kickCount'>,
): Promise<readonly string[]> {
  return caller.call(INSPECT_API, 'listKicked', { username, after: kickCount });
}

/** Before and after a session is taken over: the lines about it are then about us. */
export async function announceTakeover(caller: ControlCaller, clientid: string, isComing: boolean): Promise<void> {
  await caller.call(INSPECT_API, isComing ? 'borrowSession' : 'returnSession', { clientid });
}
