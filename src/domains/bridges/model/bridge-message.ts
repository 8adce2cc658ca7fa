import type { PublishProperties } from '../../../protocol/mqtt/publish-properties.ts';

/** The MQTT 5 properties of a message, forwarded if the other side supports them. */
export type MessageProperties = PublishProperties;

export interface BridgeMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** `null` if there are none, and always with MQTT 3.1.1. */
  readonly properties: MessageProperties | null;
  /** Epoch milliseconds of its arrival at the bridge. */
  readonly receivedAt: number;
}
