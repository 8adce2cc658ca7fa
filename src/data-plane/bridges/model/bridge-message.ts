import type { PublishProperties } from '../../../protocol/mqtt/publish-properties.ts';

export type MessageProperties = PublishProperties;

export interface BridgeMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** `null` if there are none, and always with MQTT 3.1.1. */
  readonly properties: MessageProperties | null;
  readonly receivedAt: number;
}
