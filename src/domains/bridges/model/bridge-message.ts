import type { PublishProperties } from '../../../protocol/mqtt/publish-properties.ts';

/** What a message carries besides, with MQTT 5, as it came; passed on where the other side speaks it. */
export type MessageProperties = PublishProperties;

/** A message on its way through a bridge. */
export interface BridgeMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Null: none, as always with MQTT 3.1.1. */
  readonly properties: MessageProperties | null;
  /** Epoch milliseconds when it came to the bridge. */
  readonly receivedAt: number;
}
