import { readPublishProperties, writePublishProperties } from '../../../protocol/mqtt/publish-properties.ts';
import type { QueueRow } from './queue-disk.ts';

/** A message as it is stored. */
export interface QueueColumns {
  readonly id: number;
  readonly bytes: number;
  readonly flags: number;
  readonly received_at: number;
  readonly topic: string;
  readonly properties: Buffer | null;
  readonly payload: Buffer;
}

const QOS = 0x03;
const RETAIN = 0x04;

export function toColumns({ id, bytes, message }: QueueRow): QueueColumns {
  const { topic, payload, qos, retain, properties, receivedAt } = message;
  return {
    id,
    bytes,
    flags: qos | (retain ? RETAIN : 0),
    received_at: receivedAt,
    topic,
    properties: properties === null ? null : writePublishProperties(properties),
    payload,
  };
}

export function fromColumns({ id, bytes, flags, received_at, topic, properties, payload }: QueueColumns): QueueRow {
  return {
    id,
    bytes,
    message: {
      topic,
      payload,
      qos: (flags & QOS) as 0 | 1 | 2,
      retain: (flags & RETAIN) !== 0,
      properties: properties === null ? null : readPublishProperties(properties),
      receivedAt: received_at,
    },
  };
}
