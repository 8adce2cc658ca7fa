import { isUtf8 } from 'node:buffer';
import type { Client } from 'aedes';
import { parser as createParser } from 'mqtt-packet';
import { type Connection, type DisconnectReason, MALFORMED_PACKET } from './connection.ts';
import type { Faults } from './faults.ts';
import type { IncomingPacket } from './packet-meter.ts';

type Properties = Readonly<Record<string, unknown>> | false;

/** mqtt-packet 9.0.2, as far as it is used here. */
interface MqttParser {
  readonly packet: { readonly length: number; readonly cmd?: string; reasonCode?: number };
  readonly _list: { slice(start: number, end: number): Buffer };
  readonly error: Error | null;
  _pos: number;
  parse(chunk: Buffer): number;
  _emitError(error: Error): void;
  _parseString(): string | null;
  _parseVarByteNum(): number | false;
  _parseProperties(): Properties;
  _parseDisconnect(): boolean;
  listeners(event: 'packet'): ((packet: IncomingPacket) => void)[];
  removeAllListeners(event: 'packet' | 'error'): void;
  on(event: 'packet', listener: (packet: IncomingPacket) => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
}

interface AedesClient {
  readonly _parser?: MqttParser;
  readonly closed: boolean;
}

export interface PacketBorderOptions {
  readonly faults: Faults;
  /** Called for each packet before aedes handles it. Returns the reason to end the connection instead; `null`: none. */
  readonly before: (packet: IncomingPacket) => DisconnectReason | null;
}

/**
 * The border that everything passes which aedes reads of one connection. A packet that is malformed, or that `before` refuses, ends the
 * connection, with DISCONNECT where MQTT 5 has it. So does an exception while a packet is parsed or handled, which is reported as a fault.
 * After that nothing more of the connection is read. Call it before anything else listens to the client's parser.
 *
 * mqtt-packet reads a field that is cut off as null, -1 or undefined, or reads on behind the property, and aedes uses such values.
 */
export function guardPackets(client: Client, connection: Connection, { faults, before }: PacketBorderOptions): void {
  const aedes = client as unknown as AedesClient;
  const { _parser: parser } = aedes;
  if (!parser) return;
  let isOver = false;
  const refuse = (reason: DisconnectReason) => {
    if (isOver) return;
    isOver = true;
    void connection.end(reason);
  };
  const failed = (text: string, error: unknown, reason?: DisconnectReason) => {
    isOver = true;
    faults.ofConnection(connection, text, error, reason);
  };

  const [handle] = parser.listeners('packet');
  parser.removeAllListeners('packet');
  parser.on('packet', (packet) => {
    if (isOver || aedes.closed) return;
    // A field that the packet has no room for was read from what follows it, or is -1.
    if (parser._pos > parser.packet.length || (packet.messageId ?? 0) < 0) {
      refuse(MALFORMED_PACKET);
      return;
    }
    try {
      const reason = before(packet);
      if (reason !== null) {
        refuse(reason);
        return;
      }
      handle?.call(parser, packet);
    } catch (error) {
      failed(`a client's ${packet.cmd} could not be handled`, error);
    }
  });
  parser.removeAllListeners('error');
  parser.on('error', () => refuse(MALFORMED_PACKET));

  Object.assign(parser, {
    _parseString: parseString,
    _parseProperties: parseProperties,
    _parseDisconnect: parseDisconnect,
  });
  const parse = parser.parse;
  parser.parse = (chunk) => {
    if (isOver) return 0;
    try {
      return parse.call(parser, chunk);
    } catch (error) {
      failed("a client's packet could not be read", error, MALFORMED_PACKET);
      return 0;
    }
  };
}

const ORIGINAL = Object.getPrototypeOf(createParser()) as MqttParser;

/** [MQTT-1.5.4-1, MQTT-1.5.4-2] Strings are well-formed UTF-8 without NUL. mqtt-packet replaces what is not, which may make them longer. */
function parseString(this: MqttParser): string | null {
  const start = this._pos + 2;
  const text = ORIGINAL._parseString.call(this);
  if (text === null) return null;
  const isReplaced = text.includes('\ufffd') && !isUtf8(this._list.slice(start, this._pos));
  if (!isReplaced && !text.includes('\0')) return text;
  this._emitError(new Error('a string is not valid UTF-8'));
  return null;
}

/** [MQTT-2.2.2-1] Properties end where their length says, each is whole, and only a user property may come more than once. */
function parseProperties(this: MqttParser): Properties {
  const start = this._pos;
  // MQTT 5, 3.14.2.2.1: a DISCONNECT may end after its reason code.
  if (this.packet.cmd === 'disconnect' && start >= this.packet.length) return {};
  const properties = ORIGINAL._parseProperties.call(this);
  const reached = this._pos;
  if (properties === false || this.error) return properties;
  this._pos = start;
  const length = this._parseVarByteNum() || 0;
  const end = this._pos + length;
  this._pos = reached;
  if (length > 0 && (reached > end || !areWhole(properties))) {
    this._emitError(new Error('properties are cut off, or one of them comes twice'));
  }
  return properties;
}

/** MQTT 5, 3.14.2.1: a DISCONNECT without a reason code is a normal one. mqtt-packet 9.0.2 reads the code from the packet behind it. */
function parseDisconnect(this: MqttParser): boolean {
  if (this.packet.length > 0) return ORIGINAL._parseDisconnect.call(this);
  this.packet.reasonCode = 0;
  return true;
}

function areWhole(properties: Readonly<Record<string, unknown>>): boolean {
  // mqtt-packet names the properties, so the object inherits none of them.
  for (const name in properties) if (!isWhole(name, properties[name])) return false;
  return true;
}

function isWhole(name: string, value: unknown): boolean {
  if (name === 'userProperties') {
    const values = Object.values(value as object).flat();
    return values.every((text) => typeof text === 'string');
  }
  if (typeof value === 'number') return value >= 0;
  // A variable byte integer that is cut off is false, too.
  if (typeof value === 'boolean') return name !== 'subscriptionIdentifier';
  return typeof value === 'string' || Buffer.isBuffer(value);
}
