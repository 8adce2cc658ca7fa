import { isUtf8 } from 'node:buffer';
import { parser as createParser, writeToStream } from 'mqtt-packet';

export interface IncomingPacket {
  readonly cmd: string;
  readonly qos?: number;
  readonly messageId?: number;
  readonly reasonCode?: number;
  readonly subscriptions?: readonly { readonly topic: string }[];
  readonly unsubscriptions?: readonly string[];
  readonly properties?: { sessionExpiryInterval?: number };
}

export interface PacketParser {
  /** Parses what has arrived, and returns the number of bytes that are not parsed yet. */
  parse(chunk: Buffer): number;
  emit(event: 'error', error: Error): boolean;
  listeners(event: 'packet'): ((packet: IncomingPacket) => void)[];
  removeAllListeners(event: 'packet' | 'error'): void;
  on(event: 'packet', listener: (packet: IncomingPacket) => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
}

type Properties = Readonly<Record<string, unknown>> | false;

/** Members of mqtt-packet 9.0.2 that its types do not declare. Only this file uses them, and a test checks each. */
interface ParserInternals extends PacketParser {
  readonly packet: { readonly length: number; readonly cmd?: string; reasonCode?: number };
  readonly error: Error | null;
  readonly _list: {
    readonly length: number;
    slice(start?: number, end?: number): Buffer;
    consume(bytes: number): void;
  };
  _pos: number;
  _newPacket(): boolean;
  _emitError(error: Error): void;
  _parseString(): string | null;
  _parseVarByteNum(): number | false;
  _parseProperties(): Properties;
  _parseDisconnect(): boolean;
}

const internalsOf = (parser: PacketParser): ParserInternals => parser as ParserInternals;

/** `packet.length`: the Remaining Length of the packet that is being parsed; -1 before its fixed header has arrived. */
export const packetLength = (parser: PacketParser): number => internalsOf(parser).packet.length;

/** `_list`: the bytes that are not parsed yet. Returns how many bytes the current packet needs beyond them. */
export const missingBytes = (parser: PacketParser): number =>
  internalsOf(parser).packet.length - internalsOf(parser)._list.length;

export const hasUnparsedBytes = (parser: PacketParser): boolean => internalsOf(parser)._list.length > 0;

/** `_list`: removes the bytes that are not parsed yet from the parser. */
export function takeUnparsedBytes(parser: PacketParser): Buffer {
  const { _list: list } = internalsOf(parser);
  const bytes = list.slice();
  list.consume(bytes.length);
  return bytes;
}

/** `_pos`: the position up to which fields were read. mqtt-packet reads some fields from what follows the packet. */
export const wasReadBeyondEnd = (parser: PacketParser): boolean =>
  internalsOf(parser)._pos > internalsOf(parser).packet.length;

/** `_newPacket`: emits the packet that was read. `listener` is called after each packet. */
export function afterEachPacket(parser: PacketParser, listener: () => void): void {
  const internals = internalsOf(parser);
  const newPacket = internals._newPacket;
  internals._newPacket = () => {
    newPacket.call(parser);
    listener();
    return true;
  };
}

/** `_parse…`: the parser then emits `error` for malformed packets that mqtt-packet accepts. */
export function refuseMalformedFields(parser: PacketParser): void {
  Object.assign(parser, {
    _parseString: parseString,
    _parseProperties: parseProperties,
    _parseDisconnect: parseDisconnect,
  });
}

/** `cacheNumbers`: a table of 65,536 buffers (7 MB) that saves one small allocation per packet, for all writers. */
export function disableNumberCache(): void {
  Object.assign(writeToStream, { cacheNumbers: false });
}

const ORIGINAL = Object.getPrototypeOf(createParser()) as ParserInternals;

/** [MQTT-1.5.4-1, MQTT-1.5.4-2] Strings are UTF-8 without NUL. mqtt-packet replaces invalid bytes by U+FFFD. */
function parseString(this: ParserInternals): string | null {
  const start = this._pos + 2;
  const text = ORIGINAL._parseString.call(this);
  if (text === null) return null;
  const isReplaced = text.includes('\ufffd') && !isUtf8(this._list.slice(start, this._pos));
  if (!isReplaced && !text.includes('\0')) return text;
  this._emitError(new Error('a string is not valid UTF-8'));
  return null;
}

/** [MQTT-2.2.2-1] Properties end where their length says, and are complete; only a user property may be repeated. */
function parseProperties(this: ParserInternals): Properties {
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
  if (length > 0 && (reached > end || !areComplete(properties))) {
    this._emitError(new Error('a property is incomplete or occurs twice'));
  }
  return properties;
}

/** MQTT 5, 3.14.2.1: DISCONNECT may lack its reason code. mqtt-packet 9.0.2 then reads it from the next packet. */
function parseDisconnect(this: ParserInternals): boolean {
  if (this.packet.length > 0) return ORIGINAL._parseDisconnect.call(this);
  this.packet.reasonCode = 0;
  return true;
}

function areComplete(properties: Readonly<Record<string, unknown>>): boolean {
  // mqtt-packet chooses the names, so `for … in` finds no inherited ones.
  for (const name in properties) if (!isComplete(name, properties[name])) return false;
  return true;
}

/** mqtt-packet returns `null`, -1, `undefined` or `false` for an incomplete property, an array for a repeated one. */
function isComplete(name: string, value: unknown): boolean {
  if (name === 'userProperties') {
    const values = Object.values(value as object).flat();
    return values.every((text) => typeof text === 'string');
  }
  if (typeof value === 'number') return value >= 0;
  if (typeof value === 'boolean') return name !== 'subscriptionIdentifier';
  return typeof value === 'string' || Buffer.isBuffer(value);
}
