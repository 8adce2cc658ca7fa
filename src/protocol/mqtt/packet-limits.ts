const MIB = 1_048_576;
/** Room for a topic and properties beside a payload. */
const HEADER = 65_536;

/** Largest packets that a link accepts, in bytes with their headers. */
export interface PacketLimits {
  readonly packet: number;
  /** Of a PUBLISH on a topic below `$CONTROL/`, where it is more than `packet`. */
  readonly control?: number;
}

/** Of links that follow a broker: `$SYS`, control responses. */
export const CONTROL_LINK_LIMITS: PacketLimits = { packet: MIB + HEADER, control: 8 * MIB + HEADER };
/** Of links that observe a broker's messages. */
export const OBSERVER_LIMITS: PacketLimits = { packet: MIB + HEADER };
/** Of links that carry messages: bridges, streams and recorders of topics. */
export const MESSAGE_LINK_LIMITS: PacketLimits = { packet: 16 * MIB + HEADER };

/** What is announced to a broker as Maximum Packet Size (MQTT 5, 3.1.2.11.4). */
export const largestOf = ({ packet, control = packet }: PacketLimits): number => Math.max(packet, control);

/** A bound of this service, not of MQTT: the connection ends with it. The message is shown as the reason. */
export class LinkLimitExceeded extends Error {
  override readonly name = 'LinkLimitExceeded';
}
