import type { ConnectPacket } from 'aedes';
import { generate } from 'mqtt-packet';
import type { BrokerClient } from '../clients/broker-client.ts';
import { acceptsPacket } from '../packets/packet-writer.ts';
import { topicNameProblem } from './topic-rules.ts';

/**
 * Why a CONNECT was refused. `credentials` includes a disabled account and a missing user name, `client_id` is a
 * missing one for a persistent session (MQTT 3) or one of this service, `session_owner` one of another account, and
 * `will` one that cannot be published or is below `$CONTROL/`.
 * `throttled` is for a network, `busy` for all, `storage` for sessions that have to be stored while the disk cannot be
 * written, and `error` is a failure of the broker.
 */
export const REFUSAL_REASONS = [
  'credentials',
  'throttled',
  'busy',
  'client_id',
  'session_owner',
  'will',
  'connections',
  'sessions',
  'storage',
  'closed',
  'error',
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** A refused CONNECT. */
export interface RefusedConnect {
  readonly reason: RefusalReason;
  readonly clientId: string;
  readonly username: string | null;
  readonly hasPassword: boolean;
  /** The topic of the will, if it is the reason. Otherwise `null`. */
  readonly willTopic: string | null;
  /** The code of CONNACK. */
  readonly reasonCode: number;
}

/** CONNACK return codes of MQTT 3.1.1, which aedes translates for MQTT 5. */
const IDENTIFIER_REJECTED = 2;
const SERVER_UNAVAILABLE = 3;
const NOT_AUTHORIZED = 5;
const RETURN_CODES: Partial<Record<RefusalReason, number>> = {
  credentials: NOT_AUTHORIZED,
  will: NOT_AUTHORIZED,
  client_id: IDENTIFIER_REJECTED,
  session_owner: IDENTIFIER_REJECTED,
};
/** Reason codes of CONNACK (MQTT 5, 3.2.2.2). */
const TOPIC_NAME_INVALID = 0x90;
const CONNECTION_RATE_EXCEEDED = 0x9f;
const QUOTA_EXCEEDED = 0x97;
/** Those that aedes cannot send. */
export const OWN_CODES: Partial<Record<RefusalReason, number>> = {
  throttled: CONNECTION_RATE_EXCEEDED,
  storage: QUOTA_EXCEEDED,
};

/** The return code of MQTT 3.1.1. Default: "server unavailable", after which clients reconnect. */
export const returnCodeOf = (reason: RefusalReason): number => RETURN_CODES[reason] ?? SERVER_UNAVAILABLE;

/** Reason codes of CONNACK in MQTT 5 by return codes of MQTT 3.1.1, as aedes translates them. */
const REASON_CODES: ReadonlyMap<number, number> = new Map([
  [IDENTIFIER_REJECTED, 0x85],
  [SERVER_UNAVAILABLE, 0x88],
  [NOT_AUTHORIZED, 0x87],
]);

/** The code that a client of this version gets. */
export function connackCodeOf(reason: RefusalReason, protocolVersion: number): number {
  const returnCode = returnCodeOf(reason);
  if (protocolVersion < 5) return returnCode;
  return OWN_CODES[reason] ?? REASON_CODES.get(returnCode) ?? returnCode;
}

/** Sends CONNACK with a reason code that aedes 2.0.0-beta.1 cannot send; MQTT 3 clients get "not authorized". */
export function refuseWith(client: BrokerClient, protocolVersion: number | undefined, reasonCode: number): void {
  const code = protocolVersion === 5 ? { reasonCode } : { returnCode: NOT_AUTHORIZED };
  const packet = { cmd: 'connack', sessionPresent: false, ...code } as const;
  closeWith(client, generate(packet, { protocolVersion: protocolVersion === 5 ? 5 : 4 }));
}

export function closeWith(client: BrokerClient, connack: Buffer): void {
  if (acceptsPacket(client.conn, connack.length)) client.conn.write(connack);
  setImmediate(() => client.close());
}

/** Returns the reason code of MQTT 5 for a will that cannot be published. `null` if it can, or there is none. */
export function willRefusal({ will }: ConnectPacket): number | null {
  if (!will) return null;
  return topicNameProblem(will.topic) === null ? null : TOPIC_NAME_INVALID;
}
