/**
 * Packets of MQTT 3.1, 3.1.1 and 5 as a fuzzer sends them: fields may have values that no client library encodes, and
 * the encoded bytes may be damaged. Every value survives JSON, so that a failed run can print its packets and a
 * regression test can list them.
 */

/** A field of text: as it is, repeated, or bytes that are no UTF-8. */
export type Text =
  | string
  | { readonly repeat: string; readonly times: number; readonly end?: string }
  | { readonly hex: string };

/** A property of MQTT 5 by its identifier; `hex` replaces the encoded value, which may cut it off. */
export interface Property {
  readonly id: number;
  readonly value: number | Text | readonly [Text, Text];
  readonly hex?: string;
}

export interface Will {
  readonly topic: Text;
  readonly payload: Text;
  readonly qos: number;
  readonly retain: boolean;
  readonly properties?: readonly Property[];
}

/** What happens to the bytes of a packet after it is encoded. */
export type Damage =
  /** The last bytes are missing, and the header counts them. */
  | { readonly kind: 'truncated'; readonly bytes: number }
  /** The last bytes are missing, and the header does not count them. */
  | { readonly kind: 'cut'; readonly bytes: number }
  /** Further bytes that the header counts. */
  | { readonly kind: 'grown'; readonly hex: string }
  /** One byte has another value. */
  | { readonly kind: 'changed'; readonly at: number; readonly to: number }
  /** The header states another length. */
  | { readonly kind: 'length'; readonly length: number };

interface Common {
  readonly damage?: Damage;
  readonly properties?: readonly Property[];
}

export interface ConnectPacket extends Common {
  readonly type: 'connect';
  readonly version: number;
  readonly id: Text;
  readonly clean: boolean;
  /** Seconds. */
  readonly keepAlive?: number;
  readonly will?: Will;
  /** Missing: the account of the run. `null`: none. */
  readonly username?: Text | null;
  readonly password?: Text | null;
}

export interface PublishPacket extends Common {
  readonly type: 'publish';
  readonly topic: Text;
  readonly payload: Text;
  readonly qos: number;
  readonly retain?: boolean;
  readonly dup?: boolean;
  readonly packetId?: number;
}

export interface SubscribePacket extends Common {
  readonly type: 'subscribe';
  readonly packetId: number;
  /** `options` is the byte behind the filter: QoS, and in MQTT 5 its options. */
  readonly filters: readonly { readonly filter: Text; readonly options: number }[];
}

interface UnsubscribePacket extends Common {
  readonly type: 'unsubscribe';
  readonly packetId: number;
  readonly filters: readonly Text[];
}

interface AcknowledgementPacket extends Common {
  readonly type: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp';
  readonly packetId: number;
  /** MQTT 5. */
  readonly reason?: number;
}

interface PlainPacket extends Common {
  readonly type: 'pingreq' | 'disconnect' | 'auth';
  /** MQTT 5. */
  readonly reason?: number;
}

/** Any bytes. */
interface RawPacket extends Common {
  readonly type: 'raw';
  readonly hex: string;
}

export type FuzzPacket =
  | ConnectPacket
  | PublishPacket
  | SubscribePacket
  | UnsubscribePacket
  | AcknowledgementPacket
  | PlainPacket
  | RawPacket;

export function bytesOf(text: Text): Buffer {
  if (typeof text === 'string') return Buffer.from(text);
  return 'hex' in text ? Buffer.from(text.hex, 'hex') : Buffer.from(text.repeat.repeat(text.times) + (text.end ?? ''));
}
