import type { IterationBatch } from '../../platform/scheduling/iteration-batch.ts';
import type { BrokerAddress } from './connect-options.ts';
import { MESSAGE_LINK_LIMITS, type PacketLimits } from './packet-limits.ts';
import type { ReadingLimits } from './reading-limits.ts';

export interface BrokerLinkOptions extends BrokerAddress {
  readonly id: string;
  /** Links of different groups have equal turns to connect, such as those of projects. Default: one group. */
  readonly group?: string;
  /** Longest wait for CONNACK, SUBACK or PUBACK, see LoopClock. */
  readonly timeoutMs: number;
  /** Default: `brokergraph-<id>-<random>`. */
  readonly clientId?: string;
  /** Whether the link replaces a client id that was taken over. Default: whether `clientId` is absent. */
  readonly changesClientId?: boolean;
  /** Default: 15. A lost broker is noticed within one and a half times the keepalive. */
  readonly keepaliveSeconds?: number;
  /** MQTT 5. Default: 60. 0: the session ends with the connection. */
  readonly sessionExpirySeconds?: number;
  /**
   * Whether the link resumes the session of an earlier process and acknowledges messages when they are released
   * (`BrokerMessage.hold`); others are sent again. With MQTT 3.1.1 the broker decides how long the session lasts.
   * Default: false.
   */
  readonly isLasting?: boolean;
  /** MQTT 5. Default: 65,535. */
  readonly receiveMaximum?: number;
  /** Whether queued messages of unsubscribed filters are delivered to matching filters. Default: false. */
  readonly isClaimedByTopic?: boolean;
  /** Filters of an earlier process. They are unsubscribed after the current ones were subscribed. */
  readonly leftOver?: readonly string[];
  /** Time that messages for filters of an earlier process wait for a subscriber. Default: 10,000. */
  readonly claimMs?: number;
  /** Largest accepted packets; sent as Maximum Packet Size (MQTT 5). Default: CONTROL_LINK_LIMITS. */
  readonly limits?: PacketLimits;
  /** Shared by the links of a thread. Default: a separate one. */
  readonly readingLimits?: ReadingLimits;
  readonly isBoundedByCaller?: boolean;
  /** Shared by the links whose packets are written together. Default: a separate one. */
  readonly iterationBatch?: IterationBatch;
  /** MQTT version of the first attempt: 5, or 4 for 3.1.1. Default: 5. */
  readonly version?: 4 | 5;
  readonly onFault?: (error: unknown) => void;
}

/**
 * Options of a link that reads messages in a lasting session. They wait for a day while this service is not connected
 * (MQTT 5; with 3.1.1 the broker decides). Beyond the Receive Maximum a broker queues messages of QoS 1 and 2; by
 * default Mosquitto queues 1,000 and then drops them.
 */
export const LASTING_LINK = {
  isLasting: true,
  sessionExpirySeconds: 24 * 60 * 60,
  receiveMaximum: 4_000,
  limits: MESSAGE_LINK_LIMITS,
} as const satisfies Partial<BrokerLinkOptions>;

const KEEPALIVE_SECONDS = 15;

export const keepaliveOf = ({ keepaliveSeconds = KEEPALIVE_SECONDS }: BrokerLinkOptions): number => keepaliveSeconds;
