import type { Connection } from '../clients/connection.ts';
import { textProperty } from './packet-bytes.ts';

/** First bytes of packets (MQTT 5, 2.1.2). */
const ACKNOWLEDGEMENTS = { puback: 0x40, pubrec: 0x50, pubrel: 0x62, pubcomp: 0x70 };
const SUBSCRIBE_RESPONSES = { suback: 0x90, unsuback: 0xb0 };
const PINGRESP = Buffer.of(0xd0, 0);
/** Property (MQTT 5, 2.2.2.2). */
const REASON_STRING = 0x1f;

interface Acknowledgement {
  readonly cmd: keyof typeof ACKNOWLEDGEMENTS;
  readonly messageId: number;
  /** Of MQTT 5. Default: 0. */
  readonly reasonCode?: number;
  /** Reason String, at most 100 characters of ASCII. It is left out if the client does not want or accept it. */
  readonly reason?: string;
}

export function acknowledge(connection: Connection, { cmd, messageId, reasonCode = 0, reason }: Acknowledgement): void {
  const start = [messageId >> 8, messageId & 0xff];
  const first = ACKNOWLEDGEMENTS[cmd];
  if (reasonCode === 0 || connection.request.protocolVersion < 5) {
    respond(connection, Buffer.of(first, 2, ...start));
    return;
  }
  if (reason !== undefined && connection.request.wantsReasons) {
    const property = textProperty(REASON_STRING, reason);
    const head = Buffer.of(first, 4 + property.length, ...start, reasonCode, property.length);
    const bytes = Buffer.concat([head, property]);
    // [MQTT-3.4.2-2]
    if (connection.accepts(bytes.length)) {
      respond(connection, bytes);
      return;
    }
  }
  respond(connection, Buffer.of(first, 4, ...start, reasonCode, 0));
}

interface SubscribeResponse {
  readonly cmd: keyof typeof SUBSCRIBE_RESPONSES;
  readonly messageId: number;
  /** Reason codes, at most 1,000. */
  readonly granted: readonly number[];
}

export function respondToSubscribe(connection: Connection, { cmd, messageId, granted }: SubscribeResponse): void {
  const isV5 = connection.request.protocolVersion === 5;
  const codes = isV5 || cmd === 'suback' ? granted : [];
  const length = 2 + (isV5 ? 1 : 0) + codes.length;
  const lengthBytes = length < 128 ? [length] : [(length & 127) | 128, length >> 7];
  const head = [SUBSCRIBE_RESPONSES[cmd], ...lengthBytes, messageId >> 8, messageId & 0xff, ...(isV5 ? [0] : [])];
  respond(connection, Buffer.from([...head, ...codes]));
}

/** [MQTT-3.1.2-24] Whether the client accepts a SUBACK or UNSUBACK with this number of reason codes. */
export const acceptsCodes = (connection: Connection, count: number): boolean =>
  connection.accepts((count + 3 < 128 ? 2 : 3) + 3 + count);

export const respondToPing = (connection: Connection): void => respond(connection, PINGRESP);

/** Nothing more is read while the client does not take its responses. */
function respond(connection: Connection, bytes: Buffer): void {
  if (connection.isClosing) return;
  if (!connection.accepts(bytes.length)) connection.close();
  else if (!connection.write(bytes, null)) connection.pauseUntilDrained();
}
