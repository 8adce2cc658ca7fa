/** A property of a will, under Mosquitto's name for it (as `content-type`), its value as text. */
export interface WillProperty {
  readonly identifier: string;
  /** Of a `user-property`. */
  readonly name?: string;
  /** Numbers in decimal; `correlation-data` in Base64. */
  readonly value: string;
}

/** What CONNECT may say of a will (MQTT 5, 3.1.3.2). */
export interface SentWillProperties {
  readonly willDelayInterval?: number | undefined;
  readonly payloadFormatIndicator?: boolean | undefined;
  readonly messageExpiryInterval?: number | undefined;
  readonly contentType?: string | undefined;
  readonly responseTopic?: string | undefined;
  readonly correlationData?: Uint8Array | undefined;
  readonly userProperties?: object | undefined;
}

/** All but the delay, which inspection tells by itself. A user property that came several times is told as often. */
export function willProperties(sent: SentWillProperties | undefined): WillProperty[] {
  if (!sent) return [];
  const told: WillProperty[] = [];
  const tell = (identifier: string, value: string | undefined) => {
    if (value !== undefined) told.push({ identifier, value });
  };
  const { payloadFormatIndicator: isText, messageExpiryInterval: expiry, correlationData, userProperties } = sent;
  tell('payload-format-indicator', isText === undefined ? undefined : String(Number(isText)));
  tell('message-expiry-interval', expiry?.toString());
  tell('content-type', sent.contentType);
  tell('response-topic', sent.responseTopic);
  tell('correlation-data', correlationData && Buffer.from(correlationData).toString('base64'));
  for (const [name, values] of Object.entries(userProperties ?? {})) {
    for (const value of [values].flat()) told.push({ identifier: 'user-property', name, value: String(value) });
  }
  return told;
}
