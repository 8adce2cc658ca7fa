import type { ReceivedWill } from '../packets/incoming-packet.ts';
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

/** Codes of CONNACK: of MQTT 3.1.1 (3.2.2.3), and of MQTT 5 (3.2.2.2). */
interface Codes {
  readonly returnCode: number;
  readonly reasonCode: number;
}

const NOT_AUTHORIZED: Codes = { returnCode: 5, reasonCode: 0x87 };
const IDENTIFIER_REJECTED: Codes = { returnCode: 2, reasonCode: 0x85 };
/** After it, clients reconnect. */
const SERVER_UNAVAILABLE: Codes = { returnCode: 3, reasonCode: 0x88 };
const CODES: Partial<Record<RefusalReason, Codes>> = {
  credentials: NOT_AUTHORIZED,
  will: NOT_AUTHORIZED,
  client_id: IDENTIFIER_REJECTED,
  session_owner: IDENTIFIER_REJECTED,
  throttled: { ...SERVER_UNAVAILABLE, reasonCode: 0x9f },
  storage: { ...SERVER_UNAVAILABLE, reasonCode: 0x97 },
};
/** Reason code of MQTT 5. */
const TOPIC_NAME_INVALID = 0x90;

/** The code that a client of this version gets. */
export function connackCodeOf(reason: RefusalReason, protocolVersion: number): number {
  const { returnCode, reasonCode } = CODES[reason] ?? SERVER_UNAVAILABLE;
  return protocolVersion < 5 ? returnCode : reasonCode;
}

/** The code for a will that cannot be published. `null` if it can, or there is none. */
export function willRefusal(will: ReceivedWill | null, protocolVersion: number): number | null {
  if (will === null || topicNameProblem(will.topic) === null) return null;
  return protocolVersion < 5 ? NOT_AUTHORIZED.returnCode : TOPIC_NAME_INVALID;
}
