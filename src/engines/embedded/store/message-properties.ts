/** MQTT 5 properties that belong to a message and reach everyone who receives it (MQTT 5, 3.3.2.3). */
export interface MessageProperties {
  readonly payloadFormatIndicator?: boolean | undefined;
  /** Seconds, as published. */
  readonly messageExpiryInterval?: number | undefined;
  readonly contentType?: string | undefined;
  readonly responseTopic?: string | undefined;
  readonly correlationData?: Buffer | undefined;
  readonly userProperties?: Readonly<Record<string, string | string[]>> | undefined;
  /** Epoch milliseconds. Set when the message was taken in with an expiry. */
  readonly expiresAt?: number | undefined;
}

/** What of a packet's properties goes on to others; undefined: nothing. The rest is about one connection. */
export function forwardable(properties: MessageProperties | undefined): MessageProperties | undefined {
  if (!properties) return undefined;
  const kept: Record<string, unknown> & { correlationData?: Buffer } = {};
  for (const name of FORWARDED) if (properties[name] !== undefined) kept[name] = properties[name];
  if (properties.correlationData) kept.correlationData = copyOf(properties.correlationData);
  return Object.keys(kept).length > 0 ? kept : undefined;
}

/** The same for a message that is taken in now: its expiry begins. */
export function withExpiry(properties: MessageProperties | undefined, now: number): MessageProperties | undefined {
  const kept = forwardable(properties);
  if (kept?.messageExpiryInterval === undefined) return kept;
  return { ...kept, expiresAt: now + kept.messageExpiryInterval * 1000 };
}

export function isExpired(properties: MessageProperties | undefined, now: number): boolean {
  return properties?.expiresAt !== undefined && properties.expiresAt <= now;
}

/** As a packet carries them: with what is left of the expiry [MQTT-3.3.2-6]. A message that was sent before is never without any. */
export function outgoing(properties: MessageProperties, now: number): MessageProperties {
  const { expiresAt, ...rest } = properties;
  if (expiresAt === undefined) return rest;
  return { ...rest, messageExpiryInterval: Math.max(1, Math.ceil((expiresAt - now) / 1000)) };
}

/** For the journal; null: none. Its length counts as bytes of the message. */
export function toText(properties: MessageProperties | undefined): string | null {
  if (!properties) return null;
  const { correlationData, ...rest } = properties;
  return JSON.stringify(correlationData ? { ...rest, correlationData: correlationData.toString('base64') } : rest);
}

export function fromText(text: string | null): MessageProperties | undefined {
  if (text === null) return undefined;
  // Written by `toText`.
  const { correlationData, ...rest } = JSON.parse(text) as Record<string, unknown>;
  return typeof correlationData === 'string'
    ? { ...rest, correlationData: Buffer.from(correlationData, 'base64') }
    : rest;
}

const FORWARDED = [
  'payloadFormatIndicator',
  'messageExpiryInterval',
  'contentType',
  'responseTopic',
  'userProperties',
] as const;

/** What is kept must not hold on to the socket buffer it was read in. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
