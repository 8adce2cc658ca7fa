import { MalformedPacket, PropertyReader } from './packet-properties.ts';

/** MQTT 5, 3.3.2.3: all but topic alias and identifiers. */
export interface PublishProperties {
  readonly contentType?: string | undefined;
  readonly responseTopic?: string | undefined;
  readonly correlationData?: Buffer | undefined;
  readonly payloadFormatIndicator?: boolean | undefined;
  /** Seconds. */
  readonly messageExpiryInterval?: number | undefined;
  readonly userProperties?: UserProperties | undefined;
}

/** In order; names may repeat. */
export type UserProperties = readonly (readonly [name: string, value: string])[];

const PAYLOAD_FORMAT = 0x01;
const MESSAGE_EXPIRY = 0x02;
const CONTENT_TYPE = 0x03;
const RESPONSE_TOPIC = 0x08;
const CORRELATION_DATA = 0x09;
const SUBSCRIPTION_IDENTIFIER = 0x0b;
const USER_PROPERTY = 0x26;
/** MQTT 5, 1.5.4, 1.5.6. */
const MAX_BYTES = 65_535;

/** Decodes properties from `bytes`, which start with their length. Errors: MalformedPacket. */
export function readPublishProperties(bytes: Buffer): PublishProperties {
  const reader = new PropertyReader(bytes, 0, bytes.length);
  const found: { -readonly [Name in keyof PublishProperties]: PublishProperties[Name] } = {};
  const users: [string, string][] = [];
  while (!reader.isAtEnd) {
    const property = reader.byte();
    if (property === USER_PROPERTY) users.push([reader.string(), reader.string()]);
    else if (property === PAYLOAD_FORMAT) found.payloadFormatIndicator = reader.byte() === 1;
    else if (property === MESSAGE_EXPIRY) found.messageExpiryInterval = reader.uint32();
    else if (property === CONTENT_TYPE) found.contentType = reader.string();
    else if (property === RESPONSE_TOPIC) found.responseTopic = reader.string();
    else if (property === CORRELATION_DATA) found.correlationData = Buffer.from(reader.binary());
    else if (property === SUBSCRIPTION_IDENTIFIER) reader.number();
    else throw new MalformedPacket('A PUBLISH has a property that is not allowed');
  }
  if (users.length > 0) found.userProperties = users;
  return found;
}

/**
 * Encodes properties with their length. `identifiers`: the subscription identifiers. Errors: RangeError if a value
 * exceeds 65,535 bytes.
 */
export function writePublishProperties(properties: PublishProperties, identifiers: readonly number[] = []): Buffer {
  const { payloadFormatIndicator, messageExpiryInterval, contentType, responseTopic, correlationData } = properties;
  const parts: Buffer[] = [];
  if (payloadFormatIndicator !== undefined) parts.push(Buffer.from([PAYLOAD_FORMAT, payloadFormatIndicator ? 1 : 0]));
  if (messageExpiryInterval !== undefined) {
    const expiry = Buffer.alloc(5);
    expiry[0] = MESSAGE_EXPIRY;
    expiry.writeUInt32BE(messageExpiryInterval, 1);
    parts.push(expiry);
  }
  if (contentType !== undefined) parts.push(Buffer.from([CONTENT_TYPE]), ...lengthPrefixed(contentType));
  if (responseTopic !== undefined) parts.push(Buffer.from([RESPONSE_TOPIC]), ...lengthPrefixed(responseTopic));
  if (correlationData !== undefined) parts.push(Buffer.from([CORRELATION_DATA]), ...lengthPrefixed(correlationData));
  for (const [name, value] of properties.userProperties ?? [])
    parts.push(Buffer.from([USER_PROPERTY]), ...lengthPrefixed(name), ...lengthPrefixed(value));
  for (const identifier of identifiers) parts.push(Buffer.from([SUBSCRIPTION_IDENTIFIER, ...variable(identifier)]));
  const length = variable(parts.reduce((sum, part) => sum + part.length, 0));
  return Buffer.concat([Buffer.from(length), ...parts]);
}

/** Variable byte integer (1.5.5). */
function variable(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push(rest > 127 ? (rest & 127) | 128 : rest);
    rest >>= 7;
  } while (rest > 0);
  return bytes;
}

function lengthPrefixed(value: string | Buffer): [Buffer, Buffer] {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value;
  if (bytes.length > MAX_BYTES)
    throw new RangeError(`A property has ${bytes.length} bytes; at most ${MAX_BYTES} are possible`);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return [length, bytes];
}
