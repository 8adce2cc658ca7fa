import type { Duplex } from 'node:stream';
import mqttPacket, { parser as createParser, type Packet, writeToStream } from 'mqtt-packet';
import type { UserProperties } from '../../../protocol/mqtt/publish-properties.ts';
import type { RequestedSubscription } from '../store/subscription.ts';
import type { PacketHeader } from './packet-rules.ts';
import { ReceivedBytes } from './received-bytes.ts';

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

/** Members of mqtt-packet 9.0.2 that its types do not declare. Only this file uses them, and a test checks each. */
interface ParserInternals {
  parse(chunk: Buffer): number;
  _parsePayload(): boolean;
  _parseDisconnect(): boolean;
}

interface ParsedPacket extends PacketHeader {
  /** The Remaining Length of the packet that is being parsed; -1 before its fixed header has arrived. */
  readonly length: number;
  reasonCode?: number;
  readonly properties?: object;
  readonly will?: { readonly properties?: object };
}

const ORIGINAL: ParserInternals = Object.getPrototypeOf(createParser());
const NewPacket = (createParser() as unknown as { readonly packet: object }).packet
  .constructor as new () => ParsedPacket;

/** Between two packets: a packet would take more memory than all that a parser without one needs. */
const NO_PACKET: ParsedPacket = Object.freeze(new NewPacket());

/** What mqtt-packet uses of CONNECT later. */
interface ParserSettings {
  readonly protocolVersion?: number | undefined;
  readonly bridgeMode?: boolean | undefined;
}

const settingsOf = ({ protocolVersion, bridgeMode }: ParserSettings): ParserSettings => ({
  protocolVersion,
  bridgeMode,
});

/** Has the methods of mqtt-packet's parser, without what its constructor creates for each connection. */
const Original = function Original() {} as unknown as new () => ParserInternals;
Original.prototype = ORIGINAL;

/**
 * The parser of mqtt-packet, which checks each complete packet before it is read. It needs little memory: no events,
 * and no lists of bl.
 *
 * `_states`, `_stateCounter`, `_pos`, `settings`, `error`, `packet`, `_list`: the state of the parser. `_newPacket` and
 * `_emitError` emitted its events.
 */
export abstract class PacketParser extends Original {
  declare readonly _states: readonly string[];
  settings: ParserSettings = {};
  packet = NO_PACKET;
  error: Error | null = null;
  _list = new ReceivedBytes();
  _stateCounter = 0;
  _pos = 0;

  /**
   * `version`: 3, 4 or 5, `undefined` before CONNECT. What it throws is passed to `onError`. It returns the user
   * properties of the message in order, which mqtt-packet groups by name.
   */
  protected abstract check(header: PacketHeader, body: Buffer, version: number | undefined): UserProperties | undefined;
  protected abstract onPacket(packet: IncomingPacket): void;
  /** Called when a packet was handled, and the next one may be parsed. */
  protected abstract afterPacket(): void;
  protected abstract onError(error: Error): void;

  get hasUnparsedBytes(): boolean {
    return this._list.length > 0;
  }

  /** How many bytes the current packet needs beyond those that are not parsed yet. */
  get missingBytes(): number {
    return this.packet.length - this._list.length;
  }

  /** Removes the bytes that are not parsed yet from the parser. */
  takeUnparsedBytes(): Buffer {
    const bytes = this._list.slice();
    this._list.consume(bytes.length);
    return bytes;
  }

  override parse(chunk: Buffer): number {
    if (this.packet === NO_PACKET) this.packet = new NewPacket();
    return super.parse(chunk);
  }

  _resetState(): void {
    this.packet = NO_PACKET;
    this.error = null;
    this._list = new ReceivedBytes();
    this._stateCounter = 0;
  }

  _newPacket(): boolean {
    const { packet } = this;
    this._list.consume(packet.length);
    this.onPacket(packet as object as IncomingPacket);
    this.packet = this._list.length > 0 ? new NewPacket() : NO_PACKET;
    this._pos = 0;
    this.afterPacket();
    return true;
  }

  _emitError(error: Error): void {
    this.error = error;
    this.onError(error);
  }

  override _parsePayload(): boolean {
    const { packet, settings, _list: list } = this;
    if (list.length < packet.length) return false;
    // A packet in several chunks is copied once, into the list: `check` may change it, and mqtt-packet reads it there.
    if (list._bufs.length > 1) list.append(this.takeUnparsedBytes());
    let userProperties: UserProperties | undefined;
    try {
      userProperties = this.check(packet, list.slice(0, packet.length), settings.protocolVersion);
    } catch (error) {
      this._emitError(error as Error);
      return true;
    }
    const isRead = super._parsePayload();
    // CONNECT would stay in memory, with the password.
    if (packet.cmd === 'connect') this.settings = settingsOf(this.settings);
    if (userProperties) Object.assign((packet.will ?? packet).properties ?? {}, { userProperties });
    return isRead;
  }

  /**
   * MQTT 5, 3.14.2: DISCONNECT may end before its reason code, or before its properties. mqtt-packet 9.0.2 then reads
   * them from the next packet.
   */
  override _parseDisconnect(): boolean {
    if (this.packet.length > 1) return super._parseDisconnect();
    this.packet.reasonCode = this.packet.length === 0 ? 0 : (this._list.slice(0, 1)[0] as number);
    return true;
  }
}
Object.assign(PacketParser.prototype, { _states: (createParser() as unknown as PacketParser)._states });

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
