const MIB = 1_048_576;
/** Bytes for topic and properties in addition to the payload. */
const HEADER = 65_536;

/** Largest packets that a link accepts, in bytes with their headers. */
export interface PacketLimits {
  readonly packet: number;
  /** Limit of PUBLISH on topics below `$CONTROL/`. Default: `packet`. */
  readonly control?: number;
}

/** For links that read `$SYS` and control responses. */
export const CONTROL_LINK_LIMITS: PacketLimits = { packet: MIB + HEADER, control: 8 * MIB + HEADER };
export const OBSERVER_LIMITS: PacketLimits = { packet: MIB + HEADER };
/** For links that carry messages: bridges, streams and topic recorders. */
export const MESSAGE_LINK_LIMITS: PacketLimits = { packet: 16 * MIB + HEADER };

/** The Maximum Packet Size that is sent to the broker (MQTT 5, 3.1.2.11.4). */
export const largestOf = ({ packet, control = packet }: PacketLimits): number => Math.max(packet, control);

/** The connection is closed with the message as the reason. */
export class LinkLimitExceeded extends Error {
  override readonly name = 'LinkLimitExceeded';
}
