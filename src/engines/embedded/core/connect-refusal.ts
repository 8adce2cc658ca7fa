import type { Client } from 'aedes';
import { generate } from 'mqtt-packet';

/**
 * Why a CONNECT was refused.
 *
 * - `credentials`: unknown user name, wrong password, disabled account, or no user name where that is refused.
 * - `throttled`: too many wrong passwords from the network.
 * - `busy`: too many passwords wait to be checked.
 * - `client_id`: no client id for a session that stays (MQTT 3).
 * - `will`: the will cannot be published, or is for a topic below `$CONTROL/`.
 * - `connections`, `sessions`: as many as the limits allow.
 * - `closed`: the connection ended meanwhile.
 * - `error`: the broker failed; the log has the reason.
 */
export const REFUSAL_REASONS = [
  'credentials',
  'throttled',
  'busy',
  'client_id',
  'will',
  'connections',
  'sessions',
  'closed',
  'error',
] as const;

export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** CONNACK return codes of MQTT 3.1.1, which aedes translates for MQTT 5. */
const IDENTIFIER_REJECTED = 2;
const SERVER_UNAVAILABLE = 3;
const NOT_AUTHORIZED = 5;
/** Reason code of MQTT 5. */
const CONNECTION_RATE_EXCEEDED = 0x9f;

const RETURN_CODES: Partial<Record<RefusalReason, number>> = {
  credentials: NOT_AUTHORIZED,
  will: NOT_AUTHORIZED,
  client_id: IDENTIFIER_REJECTED,
};

/** The MQTT 3.1.1 code; for most reasons "server unavailable", after which clients connect again. */
export const returnCodeOf = (reason: RefusalReason): number => RETURN_CODES[reason] ?? SERVER_UNAVAILABLE;

/** Refuses a client of MQTT 5 that tries too many passwords. */
export const refuseRate = (client: Client): void => refuseWith(client, 5, CONNECTION_RATE_EXCEEDED);

/**
 * Sends CONNACK with a reason code that aedes 2.0.0-beta.1 cannot send, and closes the connection. MQTT 3 has no such codes: its clients are
 * sent "not authorized".
 */
export function refuseWith(client: Client, protocolVersion: number | undefined, reasonCode: number): void {
  const code = protocolVersion === 5 ? { reasonCode } : { returnCode: NOT_AUTHORIZED };
  const packet = { cmd: 'connack', sessionPresent: false, ...code } as const;
  client.conn.write(generate(packet, { protocolVersion: protocolVersion === 5 ? 5 : 4 }));
  setImmediate(() => client.close());
}
