import { fieldsOf } from '../../control/fields.ts';
import type { ControlCaller } from '../../control/plugin.ts';

/**
 * The `cedalo/client-control` control API: commands of an administrator on single clients.
 *
 * Commands: `disconnectClient`, `subscribeClient`, `unsubscribeClient`; the response is `{}` or `Client not found`. The
 * gateway plugin for plain Mosquitto accepts further fields (`force`, `among`, `takeover`), reports the result
 * (`method`, `disconnected`), and serves PREVIEW_DISCONNECT. Other providers never receive these. It and the embedded
 * broker accept `discardWill`.
 */
export const CLIENT_CONTROL_API = 'cedalo/client-control';

/** Gateway plugin only: returns the result of `disconnectClient` with the same fields, without disconnecting. */
export const PREVIEW_DISCONNECT = 'foreseeDisconnect';

/** Embedded broker only: deletes the session of an offline client. */
export const DELETE_SESSION = 'deleteSession';

/** When the broker sends retained messages for the new subscription (MQTT 5, 3.8.3.1: Retain Handling 0, 1, 2). */
export const SEND_RETAIN = ['always', 'new', 'never'] as const;
export type SendRetain = (typeof SEND_RETAIN)[number];

export interface DisconnectClient {
  readonly clientid: string;
  /** Gateway plugin only: whether other connections of the same account may be disconnected, too. */
  readonly force?: boolean;
  /** Gateway plugin only: clients of the same account that may be disconnected, too. */
  readonly among?: readonly string[];
  /** Gateway plugin only: whether the session may be taken over; with `force` even a clean session, which ends. */
  readonly takeover?: boolean;
  /** Gateway plugin and embedded broker only. Default: the broker publishes the will as it does for this command. */
  readonly discardWill?: boolean;
}

interface UnsubscribeClient {
  readonly clientid: string;
  readonly topic: string;
  readonly takeover?: boolean;
}

interface SubscribeClient extends UnsubscribeClient {
  readonly qos: 0 | 1 | 2;
  readonly subscription_identifier?: number;
  readonly options?: {
    readonly no_local?: boolean;
    readonly retain_as_published?: boolean;
    readonly send_retain?: SendRetain;
  };
}

/** BROKER: only that connection. ACCOUNT: every connection of its account. TAKEOVER: a session takeover. */
const DISCONNECT_METHODS = ['BROKER', 'ACCOUNT', 'TAKEOVER'] as const;
export type DisconnectMethod = (typeof DISCONNECT_METHODS)[number];

export interface Disconnected {
  readonly method: DisconnectMethod;
  readonly clientids: readonly string[];
}

/**
 * Errors: as `ControlCaller`; NOT_FOUND (no such client, or not connected); IN_USE (other clients use the account, or
 * may use it: `info.clients` lists at most 100 of them, `info.isComplete` is false if there may be more).
 */
export async function disconnectClient(caller: ControlCaller, command: DisconnectClient): Promise<Disconnected> {
  const data = await caller.call(CLIENT_CONTROL_API, 'disconnectClient', { ...command });
  return parseDisconnected(data, command);
}

/** Parses the response to `disconnectClient`. An empty response is about the client of the command. */
export function parseDisconnected(data: unknown, { clientid }: DisconnectClient): Disconnected {
  const { method, disconnected } = fieldsOf(data);
  return {
    method: DISCONNECT_METHODS.find((known) => known === method) ?? 'BROKER',
    clientids: Array.isArray(disconnected)
      ? disconnected.filter((id): id is string => typeof id === 'string')
      : [clientid],
  };
}

/** Errors: as `ControlCaller`; NOT_FOUND; NOT_SUPPORTED_BY_BROKER (plain Mosquitto without `takeover`). */
export async function subscribeClient(caller: ControlCaller, command: SubscribeClient): Promise<void> {
  await caller.call(CLIENT_CONTROL_API, 'subscribeClient', { ...command });
}

export async function unsubscribeClient(caller: ControlCaller, command: UnsubscribeClient): Promise<void> {
  await caller.call(CLIENT_CONTROL_API, 'unsubscribeClient', { ...command });
}
