import type { PublishProperties, UserProperties } from '../../../protocol/mqtt/publish-properties.ts';

/** MQTT 5 properties of a message that are forwarded to its subscribers. The expiry interval is as published. */
export interface MessageProperties extends PublishProperties {
  readonly expiresAt?: number | undefined;
}

/** Returns the properties that are forwarded to subscribers; `undefined` if there are none. */
export function forwardable(properties: MessageProperties | undefined): MessageProperties | undefined {
  if (!properties) return undefined;
  const forwarded: Record<string, unknown> & { correlationData?: Buffer } = {};
  for (const name of FORWARDED) if (properties[name] !== undefined) forwarded[name] = properties[name];
  if (properties.correlationData) forwarded.correlationData = copyOf(properties.correlationData);
  return Object.keys(forwarded).length > 0 ? forwarded : undefined;
}

/** Returns the forwardable properties of a message that is accepted now, with the time of its expiry. */
export function withExpiry(properties: MessageProperties | undefined, now: number): MessageProperties | undefined {
  const forwarded = forwardable(properties);
  if (forwarded?.messageExpiryInterval === undefined) return forwarded;
  return { ...forwarded, expiresAt: now + forwarded.messageExpiryInterval * 1000 };
}

export function isExpired(properties: MessageProperties | undefined, now: number): boolean {
  return properties?.expiresAt !== undefined && properties.expiresAt <= now;
}

/** [MQTT-3.3.2-6] Returns the properties for a packet, with the remaining expiry interval of at least a second. */
export function outgoing(properties: MessageProperties, now: number): MessageProperties {
  const { expiresAt, ...rest } = properties;
  if (expiresAt === undefined) return rest;
  return { ...rest, messageExpiryInterval: Math.max(1, Math.ceil((expiresAt - now) / 1000)) };
}

/** JSON for the journal; `null` if there are no properties. Its length counts as bytes of the message. */
export function toText(properties: MessageProperties | undefined): string | null {
  if (!properties) return null;
  const { correlationData, ...rest } = properties;
  return JSON.stringify(correlationData ? { ...rest, correlationData: correlationData.toString('base64') } : rest);
}

export function fromText(text: string | null): MessageProperties | undefined {
  if (text === null) return undefined;
  const { correlationData, userProperties, ...rest } = JSON.parse(text) as Record<string, unknown>;
  return {
    ...rest,
    ...(typeof correlationData === 'string' ? { correlationData: Buffer.from(correlationData, 'base64') } : {}),
    ...(userProperties ? { userProperties: pairsOf(userProperties) } : {}),
  };
}

/** In older records, user properties are an object, with an array for a name that repeats. */
function pairsOf(stored: object): UserProperties {
  if (Array.isArray(stored)) return stored;
  return Object.entries(stored).flatMap(([name, values]) => [values].flat().map((value) => [name, value] as const));
}

const FORWARDED = [
  'payloadFormatIndicator',
  'messageExpiryInterval',
  'contentType',
  'responseTopic',
  'userProperties',
] as const;

/** A stored value must not keep the buffer of the socket in memory. */
export function copyOf(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}
