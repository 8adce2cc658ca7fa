import type { ConnectPacket } from 'aedes';
import type { ClientWillProperty } from '../../../protocol/apis/clients/inspect-data.ts';
import type { Connection } from '../clients/connection.ts';
import { NEVER_EXPIRES } from '../core/aedes-internals.ts';
import { SendWindow, type WindowBytes } from '../delivery/send-window.ts';
import type { BrokerLimits } from '../limits.ts';
import type { MessageProperties } from '../store/message-properties.ts';
import type { WillPacket } from '../store/will-store.ts';

/** Copies the fields of CONNECT to the connection, and removes those that aedes would apply itself. */
export function readConnect(
  connection: Connection,
  packet: ConnectPacket,
  limits: BrokerLimits,
  bytes: WindowBytes,
): void {
  const { protocolVersion = 4, clean = true, properties = {} } = packet;
  connection.protocolVersion = protocolVersion;
  connection.keepalive = packet.keepalive ?? 0;
  // `KeepAlive` has one timer for all clients.
  packet.keepalive = 0;
  connection.isCleanStart = clean;
  connection.hasNoId = packet.clientId === '';
  if (protocolVersion === 5) {
    connection.expirySeconds = expiryOf(properties.sessionExpiryInterval ?? 0);
    connection.maxPacketBytes = properties.maximumPacketSize ?? null;
    const { receiveMaximum } = properties;
    if (receiveMaximum) connection.window = new SendWindow(receiveMaximum, limits, bytes);
  } else connection.expirySeconds = clean ? 0 : null;
  connection.isClean = connection.expirySeconds === 0;
  // The user properties are pairs, unlike in the types of aedes.
  const will = packet.will as object as SentWill | undefined;
  if (!will) return;
  const { topic, payload, qos, retain } = will;
  const willOptions = will.properties;
  connection.will = {
    topic,
    payload: Buffer.from(payload),
    qos: qos ?? 0,
    retain: retain ?? false,
    properties: willProperties(willOptions),
    delayInterval: willOptions?.willDelayInterval ?? 0,
  };
  if (!willOptions?.willDelayInterval) return;
  // The timer of aedes keeps the client in memory and is lost at a restart. `SessionExpiry` delays the will instead.
  const delaySeconds = Math.min(willOptions.willDelayInterval, connection.expirySeconds ?? Number.POSITIVE_INFINITY);
  will.delaySeconds = delaySeconds;
  willOptions.willDelayInterval = 0;
}

export const expiryOf = (interval: number): number | null => (interval >= NEVER_EXPIRES ? null : interval);

interface SentWill extends WillPacket {
  readonly properties?: MessageProperties & { willDelayInterval?: number };
}

function willProperties(sent: MessageProperties = {}): ClientWillProperty[] {
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
