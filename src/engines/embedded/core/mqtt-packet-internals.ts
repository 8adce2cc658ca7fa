import type { Duplex } from 'node:stream';
import mqttPacket, { parser as createParser, type Packet, writeToStream } from 'mqtt-packet';
import type { UserProperties } from '../../../protocol/mqtt/publish-properties.ts';
import type { PacketHeader } from '../packets/packet-rules.ts';
import { ReceivedBytes } from '../packets/received-bytes.ts';
import type { RequestedSubscription } from '../store/subscription.ts';

export interface IncomingPacket {
  readonly cmd: string;
  readonly qos?: number;
  readonly messageId?: number;
  readonly reasonCode?: number;
  readonly subscriptions?: readonly Omit<RequestedSubscription, 'identifier'>[];
  readonly unsubscriptions?: readonly string[];
  readonly topic?: string;
  readonly properties?: {
    sessionExpiryInterval?: number;
    readonly topicAlias?: number;
    readonly subscriptionIdentifier?: number;
  };
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

/** Members of mqtt-packet 9.0.2 that its types do not declare. Only this file uses them, and a test checks each. */
interface ParserInternals extends PacketParser {
  readonly packet: PacketHeader & {
    readonly length: number;
    reasonCode?: number;
    readonly properties?: object;
    readonly will?: { readonly properties?: object };
  };
  readonly settings: { readonly protocolVersion?: number };
  readonly _list: {
    readonly length: number;
    readonly _bufs: readonly Buffer[];
    slice(start?: number, end?: number): Buffer;
    append(bytes: Buffer): void;
    consume(bytes: number): void;
  };
  _newPacket(): boolean;
  _emitError(error: Error): void;
  _parsePayload(): boolean;
  _parseDisconnect(): boolean;
  _resetState(): void;
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

/**
 * `_parsePayload`, `settings`, `_emitError`, `_bufs`: calls `check` with each complete packet before mqtt-packet reads
 * it. `version`: 3, 4 or 5, `undefined` before CONNECT. What `check` throws is emitted as `error`. It returns the user
 * properties of the message in order, which mqtt-packet groups by name.
 */
export function checkEachPacket(
  parser: PacketParser,
  check: (header: PacketHeader, body: Buffer, version: number | undefined) => UserProperties | undefined,
): void {
  const internals = internalsOf(parser);
  const parsePayload = internals._parsePayload;
  internals._parseDisconnect = parseDisconnect;
  internals._parsePayload = () => {
    const { packet, settings, _list: list } = internals;
    if (list.length < packet.length) return false;
    // A packet in several chunks is copied once, into the list: `check` may change it, and mqtt-packet reads it there.
    if (list._bufs.length > 1) list.append(takeUnparsedBytes(parser));
    let userProperties: UserProperties | undefined;
    try {
      userProperties = check(packet, list.slice(0, packet.length), settings.protocolVersion);
    } catch (error) {
      internals._emitError(error as Error);
      return true;
    }
    const isRead = parsePayload.call(parser);
    if (userProperties) Object.assign((packet.will ?? packet).properties ?? {}, { userProperties });
    return isRead;
  };
}

/** Returns whether the stream has room. */
export type WritePacket = (packet: Packet, stream: Duplex, options: { readonly protocolVersion: number }) => boolean;

const writeOriginal: WritePacket = mqttPacket.writeToStream;

/** `writeToStream` of the default export: aedes writes every packet with it. `writer` gets the original function. */
export function replaceWriter(writer: (write: WritePacket, ...args: Parameters<WritePacket>) => boolean): void {
  const writeToStream: WritePacket = (...args) => writer(writeOriginal, ...args);
  Object.assign(mqttPacket, { writeToStream });
}

/** `cacheNumbers`: a table of 65,536 buffers (7 MB) that saves one small allocation per packet, for all writers. */
export function disableNumberCache(): void {
  Object.assign(writeToStream, { cacheNumbers: false });
}

const ORIGINAL = Object.getPrototypeOf(createParser()) as ParserInternals;
const NewPacket = (createParser() as unknown as ParserInternals).packet
  .constructor as new () => ParserInternals['packet'];

/** `_resetState`, `_list`: gives all new parsers lists that need little memory. */
export function useReceivedBytes(): void {
  ORIGINAL._resetState = function () {
    Object.assign(this, { packet: new NewPacket(), error: null, _list: new ReceivedBytes(), _stateCounter: 0 });
  };
}

/**
 * MQTT 5, 3.14.2: DISCONNECT may end before its reason code, or before its properties. mqtt-packet 9.0.2 then reads
 * them from the next packet.
 */
function parseDisconnect(this: ParserInternals): boolean {
  if (this.packet.length > 1) return ORIGINAL._parseDisconnect.call(this);
  this.packet.reasonCode = this.packet.length === 0 ? 0 : (this._list.slice(0, 1)[0] as number);
  return true;
}
