/** Reason codes of MQTT 5 (2.4). */
export const MALFORMED_PACKET = 0x81;
export const PROTOCOL_ERROR = 0x82;
export const CLIENT_ID_REJECTED = 0x85;
export const BAD_AUTHENTICATION_METHOD = 0x8c;
export const TOPIC_ALIAS_INVALID = 0x94;
const TOPIC_FILTER_INVALID = 0x8f;
export const PACKET_TOO_LARGE = 0x95;
export const QUOTA_EXCEEDED = 0x97;
export const CONNECT_TIMEOUT = 0xa0;

interface RefusedPacketOptions {
  readonly connack?: Buffer | null;
  readonly topic?: string | null;
}

/** A packet that MQTT forbids. The message has the rule, by section or statement of MQTT 5 unless it says otherwise. */
export class RefusedPacket extends Error {
  override readonly name = 'RefusedPacket';
  readonly reasonCode: number;
  /** CONNACK for a CONNECT. `null` if the connection is closed without one, as MQTT 3 does for malformed packets. */
  readonly connack: Buffer | null;
  /** The topic name or filter that is not valid. `null` if something else is not. */
  readonly topic: string | null;

  constructor(reasonCode: number, rule: string, { connack = null, topic = null }: RefusedPacketOptions = {}) {
    super(rule);
    this.reasonCode = reasonCode;
    this.connack = connack;
    this.topic = topic;
  }
}

export const malformed = (rule: string): RefusedPacket => new RefusedPacket(MALFORMED_PACKET, rule);
export const tooMany = (what: string): RefusedPacket => new RefusedPacket(QUOTA_EXCEEDED, what);
export const invalidName = (rule: string, topic: string): RefusedPacket =>
  new RefusedPacket(MALFORMED_PACKET, rule, { topic });
export const invalidFilter = (rule: string, topic: string): RefusedPacket =>
  new RefusedPacket(TOPIC_FILTER_INVALID, rule, { topic });
export const protocolError = (rule: string): RefusedPacket => new RefusedPacket(PROTOCOL_ERROR, rule);
