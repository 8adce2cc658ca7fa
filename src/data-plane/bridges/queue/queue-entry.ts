import type { WaitingMessage } from '../../log/log-disk.ts';
import type { LogPart } from '../../log/log-parts.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { toRecord } from './queue-record.ts';

/** A message that was taken from the queue, until it is settled. */
export interface QueueEntry {
  readonly message: BridgeMessage;
}

interface QueueRow {
  readonly id: number;
  readonly bytes: number;
  readonly message: BridgeMessage;
}

/**
 * MEMORY: in memory only. WRITING: to be written to disk. SENT: the same, and an attempt may have written it. DISK: on
 * disk, and possibly in memory.
 */
type Place = 'MEMORY' | 'WRITING' | 'SENT' | 'DISK';

export class Entry implements QueueEntry, QueueRow {
  readonly id: number;
  readonly bytes: number;
  message: BridgeMessage;
  place: Place;
  taken: (() => void) | null;
  isSettled = false;

  constructor({ id, bytes, message }: QueueRow, place: Place, taken: (() => void) | null) {
    this.id = id;
    this.bytes = bytes;
    this.message = message;
    this.place = place;
    this.taken = taken;
  }

  get isStored(): boolean {
    return this.place === 'DISK' || this.place === 'SENT';
  }

  /** As its log stores it, in this part. */
  toWrite(part: LogPart): WaitingMessage {
    const { id, bytes, message } = this;
    return { id, topic: '', payload: toRecord(message), qos: message.qos, bytes, part, done: () => undefined };
  }

  /** The entry may remain behind others, but its message is no longer needed. */
  settle(): void {
    this.isSettled = true;
    this.message = SETTLED;
  }
}

const SETTLED: BridgeMessage = {
  topic: '',
  payload: Buffer.alloc(0),
  qos: 0,
  retain: false,
  properties: null,
  receivedAt: 0,
};

/** Bytes that count for a message in addition to its topic and payload. */
const MESSAGE_BYTES = 64;

export function messageBytes({ topic, payload, properties }: BridgeMessage): number {
  const bytes = MESSAGE_BYTES + topic.length + payload.length;
  if (properties === null) return bytes;
  const { contentType = '', responseTopic = '', correlationData, userProperties = [] } = properties;
  const known = bytes + contentType.length + responseTopic.length + (correlationData?.length ?? 0);
  return userProperties.reduce((sum, [name, value]) => sum + name.length + value.length, known);
}
