import { isFields } from '../../../protocol/control/fields.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';

/**
 * The `cedalo/client-control` control API: what an administrator does to single clients.
 *
 * Commands: `disconnectClient`, `subscribeClient`, `unsubscribeClient`; each answers `{}`, or `Client not found`. Where a plugin of
 * ours serves the API beside a plain Mosquitto it knows more fields (`force`, `among`, `takeover`), answers what it did (`method`,
 * `disconnected`), and FORESEE; nobody else is sent them.
 */
export const CLIENT_CONTROL_API = 'cedalo/client-control';

/** Plugin of ours only: answers what `disconnectClient` with the same fields would, and does nothing. */
export const FORESEE = 'foreseeDisconnect';

/** When the broker sends retained messages for the new subscription (MQTT 5, 3.8.3.1: Retain Handling 0, 1, 2). */
export const SEND_RETAIN = ['always', 'new', 'never'] as const;
export type SendRetain = (typeof SEND_RETAIN)[number];

export interface DisconnectClient {
  readonly clientid: string;
  /** Plugin of ours only: other connections of the same account may be disconnected too. */
  readonly force?: boolean;
  /** Plugin of ours only: those of the same account that may be disconnected too, where nobody else uses it. */
  readonly among?: readonly string[];
  /** Plugin of ours only: the client's session may be taken over for a moment; with `force` also one that ends by that. */
  readonly takeover?: boolean;
}

export interface SubscribeClient {
  readonly clientid: string;
  /** Topic filter. */
  readonly topic: string;
  readonly qos: 0 | 1 | 2;
  readonly subscription_identifier?: number;
  readonly options?: {
    readonly no_local?: boolean;
    readonly retain_as_published?: boolean;
    readonly send_retain?: SendRetain;
  };
  /** Plugin of ours only: the client's session may be taken over for a moment. */
  readonly takeover?: boolean;
}

export interface UnsubscribeClient {
  readonly clientid: string;
  readonly topic: string;
  /** Plugin of ours only: the client's session may be taken over for a moment. */
  readonly takeover?: boolean;
}

/** BROKER: that connection alone. ACCOUNT: every connection of its account. TAKEOVER: its session, by a connection in its place. */
const DISCONNECT_METHODS = ['BROKER', 'ACCOUNT', 'TAKEOVER'] as const;
export type DisconnectMethod = (typeof DISCONNECT_METHODS)[number];

export interface Disconnected {
  readonly method: DisconnectMethod;
  /** Client ids of all that were disconnected, as far as they are known. */
  readonly clientids: readonly string[];
}

/**
 * Errors beside the caller's own: NOT_FOUND (no such client, or not connected); IN_USE (others use the account, or may;
 * `info.clients` names them, at most 100, `info.isComplete` false: there may be more).
 */
export async function disconnectClient(caller: ControlCaller, command: DisconnectClient): Promise<Disconnected> {
  const data = await caller.call(CLIENT_CONTROL_API, 'disconnectClient', { ...command });
  return parseDisconnected(data, command);
}

/** What an answer to `disconnectClient` says; one that says nothing is about that client alone. */
export function parseDisconnected(data: unknown, { clientid }: DisconnectClient): Disconnected {
  const { method, disconnected } = isFields(data) ? data : {};
  return {
    method: DISCONNECT_METHODS.find((known) => known === method) ?? 'BROKER',
    clientids: Array.isArray(disconnected)
      ? disconnected.filter((id): id is string => typeof id === 'string')
      : [clientid],
  };
}

/** Errors beside the caller's own: NOT_FOUND, NOT_SUPPORTED_BY_BROKER (a plain Mosquitto, without consent to a takeover). */
export async function subscribeClient(caller: ControlCaller, command: SubscribeClient): Promise<void> {
  await caller.call(CLIENT_CONTROL_API, 'subscribeClient', { ...command });
}

/** Errors: as `subscribeClient`. */
export async function unsubscribeClient(caller: ControlCaller, command: UnsubscribeClient): Promise<void> {
  await caller.call(CLIENT_CONTROL_API, 'unsubscribeClient', { ...command });
}
