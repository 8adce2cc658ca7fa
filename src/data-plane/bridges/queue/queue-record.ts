import { readPublishProperties, writePublishProperties } from '../../../protocol/mqtt/publish-properties.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';

/**
 * A message as the payload of its entry in a log, because a log has no columns for its properties, and PostgreSQL
 * refuses topics with U+0000: flags (2 bytes), time of arrival (8, a double), then topic and properties with their
 * lengths (4 each), and the payload. `former-rows.ts` writes the same with SQL.
 */
const HEADER_BYTES = 2 + 8 + 4 + 4;
const QOS = 0x03;
const RETAIN = 0x04;
const NO_BYTES = Buffer.alloc(0);

export function toRecord({ topic, payload, qos, retain, properties, receivedAt }: BridgeMessage): Buffer {
  const head = properties === null ? NO_BYTES : writePublishProperties(properties);
  const topicBytes = Buffer.byteLength(topic);
  const record = Buffer.allocUnsafe(HEADER_BYTES + topicBytes + head.length + payload.length);
  let at = record.writeInt16BE(qos | (retain ? RETAIN : 0), 0);
  at = record.writeDoubleBE(receivedAt, at);
  at = record.writeInt32BE(topicBytes, at);
  at += record.write(topic, at);
  at = record.writeInt32BE(head.length, at);
  at += head.copy(record, at);
  payload.copy(record, at);
  return record;
}

export function fromRecord(record: Buffer): BridgeMessage {
  const flags = record.readInt16BE(0);
  const topicEnd = 14 + record.readInt32BE(10);
  const start = topicEnd + 4;
  const end = start + record.readInt32BE(topicEnd);
  return {
    topic: record.toString('utf8', 14, topicEnd),
    payload: record.subarray(end),
    qos: (flags & QOS) as 0 | 1 | 2,
    retain: (flags & RETAIN) !== 0,
    properties: start === end ? null : readPublishProperties(record.subarray(start, end)),
    receivedAt: record.readDoubleBE(2),
  };
}
