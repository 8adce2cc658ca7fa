import type { MessageProperties } from '../store/message-properties.ts';
/** A property of a will: its name in Mosquitto (for example `content-type`) and its value as text. */
export interface WillProperty {
  readonly identifier: string;
  readonly name?: string;
  /** Numbers are decimal; `correlation-data` is Base64. */
  readonly value: string;
}

/** The will properties of CONNECT (MQTT 5, 3.1.3.2). */
export interface SentWillProperties extends Omit<MessageProperties, 'correlationData' | 'userProperties'> {
  readonly willDelayInterval?: number | undefined;
  readonly correlationData?: Uint8Array | undefined;
  readonly userProperties?: object | undefined;
}

/** All properties except the delay, which inspection reports separately. */
export function willProperties(sent: SentWillProperties | undefined): WillProperty[] {
  if (!sent) return [];
  const properties: WillProperty[] = [];
  const add = (identifier: string, value: string | undefined) => {
    if (value !== undefined) properties.push({ identifier, value });
  };
  const { payloadFormatIndicator: isText, messageExpiryInterval: expiry, correlationData, userProperties } = sent;
  add('payload-format-indicator', isText === undefined ? undefined : String(Number(isText)));
  add('message-expiry-interval', expiry?.toString());
  add('content-type', sent.contentType);
  add('response-topic', sent.responseTopic);
  add('correlation-data', correlationData && Buffer.from(correlationData).toString('base64'));
  for (const [name, values] of Object.entries(userProperties ?? {})) {
    for (const value of [values].flat()) properties.push({ identifier: 'user-property', name, value: String(value) });
  }
  return properties;
}
