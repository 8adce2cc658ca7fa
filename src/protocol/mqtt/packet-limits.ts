const MIB = 1_048_576;
/** Bytes for topic and properties in addition to the payload. */
const HEADER = 65_536;

/**
 * Limit of every packet but PUBLISH, on all links. mqtt-packet 9 creates an object for each property and each reason
 * code. A SUBACK has one byte for each requested filter.
 */
export const OTHER_PACKET = 65_536;

export interface PacketLimits {
  /** Limit of PUBLISH. */
  readonly packet: number;
  /** Limit of PUBLISH on topics below `$CONTROL/`. Default: `packet`. */
  readonly control?: number;
}

export const CONTROL_LINK_LIMITS: PacketLimits = { packet: MIB + HEADER, control: 8 * MIB + HEADER };
export const OBSERVER_LIMITS: PacketLimits = { packet: MIB + HEADER };
export const MESSAGE_LINK_LIMITS: PacketLimits = { packet: 16 * MIB + HEADER };

/** The Maximum Packet Size that is sent to the broker (MQTT 5, 3.1.2.11.4). */
export const largestOf = ({ packet, control = packet }: PacketLimits): number => Math.max(packet, control);

/** The connection is closed with the message as the reason. */
export class LinkLimitExceeded extends Error {
  override readonly name = 'LinkLimitExceeded';
}
