/** What a message carries besides, with MQTT 5 [MQTT-3.3.2]; passed on where the other side speaks it. */
export interface MessageProperties {
  readonly contentType?: string;
  readonly responseTopic?: string;
  readonly correlationData?: Buffer;
  readonly payloadFormatIndicator?: boolean;
  /** Seconds that were left when it came. */
  readonly messageExpiryInterval?: number;
  /** In order; a name may come several times. */
  readonly userProperties?: readonly (readonly [name: string, value: string])[];
}

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
