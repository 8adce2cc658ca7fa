import type { ClientWillProperty } from '../../../protocol/apis/clients/inspect-data.ts';
import type { Connection } from '../clients/connection.ts';
import { SendWindow, type WindowBytes } from '../delivery/send-window.ts';
import type { BrokerLimits } from '../limits.ts';
import type { ConnectPacket, PacketProperties, ReceivedWill } from '../packets/incoming-packet.ts';
import { copyOf, forwardable } from '../store/message-properties.ts';
import type { WillPacket } from '../store/will-store.ts';
import type { WillInfo } from './access.ts';

/** A Session Expiry Interval of a session that never expires. */
const NEVER_EXPIRES = 0xffff_ffff;

/** Copies the fields of CONNECT to the connection. */
export function readConnect(
  connection: Connection,
  packet: ConnectPacket,
  limits: BrokerLimits,
  bytes: WindowBytes,
): void {
  const { protocolVersion, keepalive, clean, properties, will } = packet;
  connection.request = {
    protocolVersion,
    keepalive,
    isCleanStart: clean,
    maxPacketBytes: properties.maximumPacketSize ?? null,
    wantsReasons: properties.requestProblemInformation !== false,
    will: will && willInfo(will),
  };
  if (protocolVersion === 5) {
    connection.expirySeconds = expiryOf(properties.sessionExpiryInterval ?? 0);
    const { receiveMaximum } = properties;
    if (receiveMaximum !== undefined) connection.flow.window = new SendWindow(receiveMaximum, limits, bytes);
  } else connection.expirySeconds = clean ? 0 : null;
  connection.isClean = connection.expirySeconds === 0;
}

const willInfo = ({ topic, payload, qos, retain, properties }: ReceivedWill): WillInfo => ({
  topic,
  payload: copyOf(payload),
  qos,
  retain,
  properties: willProperties(properties),
  delayInterval: properties.willDelayInterval ?? 0,
});

/** The will as the broker stores it. Its delay is at most the time until the session ends. */
export function storedWillOf(
  { topic, payload, qos, retain, properties }: ReceivedWill,
  connection: Connection,
): WillPacket {
  const { willDelayInterval = 0 } = properties;
  const delaySeconds = Math.min(willDelayInterval, connection.expirySeconds ?? Number.POSITIVE_INFINITY);
  return { topic, payload: copyOf(payload), qos, retain, properties: forwardable(properties), delaySeconds };
}

export const expiryOf = (interval: number): number | null => (interval >= NEVER_EXPIRES ? null : interval);

function willProperties(sent: PacketProperties): ClientWillProperty[] {
  const { payloadFormatIndicator: isText, messageExpiryInterval: expiry, correlationData, userProperties } = sent;
  const values = {
    'payload-format-indicator': isText === undefined ? undefined : String(Number(isText)),
    'message-expiry-interval': expiry?.toString(),
    'content-type': sent.contentType,
    'response-topic': sent.responseTopic,
    'correlation-data': correlationData?.toString('base64'),
  };
  const properties: ClientWillProperty[] = Object.entries(values).flatMap(([identifier, value]) =>
    value === undefined ? [] : { identifier, value },
  );
  for (const [name, value] of userProperties ?? []) properties.push({ identifier: 'user-property', name, value });
  return properties;
}
