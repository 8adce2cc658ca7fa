/** Rows of `messages.stream_batch`, each with several messages of a stream: a row costs as much as ten of them. */
import { CopyRows } from '../../../../platform/storage/postgresql/copy-rows.ts';
import { ROW_BYTES } from './message-partitions.ts';
import type { StoredSegment } from './stored-segments.ts';

export interface WaitingMessage {
  readonly id: number;
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly bytes: number;
  readonly segment: StoredSegment;
  readonly done: (problem: string | null) => void;
}

/** Between the ids of the first and the last message of a row at most, so that the row of any id is found. */
export const MAX_SPAN = 100_000;
/** The other columns and the headers of the arrays take less than 160 bytes. */
const MAX_CONTENT = ROW_BYTES - 160;
/** Size of a message in a row in addition to topic and payload, at most. */
const ELEMENT_BYTES = 24;

export const COPY_BATCHES = `
  COPY messages.stream_batch (stream, width, id, last, bytes, ids, qos, topics, payloads)
  FROM STDIN WITH (FORMAT binary)`;
const COLUMNS = 9;
const ARRAYS = 4;
/** The columns with one integer: stream, width, id, last, bytes. */
const INTEGER_BYTES = 4 + 4 + 8 + 8 + 4;
const ID_BYTES = 8;
const QOS_BYTES = 2;

/** Messages of one stream, in order of their ids. */
interface NumberedMessages {
  readonly stream: number;
  readonly messages: readonly WaitingMessage[];
}

interface Batch {
  readonly stream: number;
  readonly messages: WaitingMessage[];
  topicBytes: number;
  payloadBytes: number;
}

/** The rows for `COPY_BATCHES`. `sent`: rows that were sent, whose buffer is used again. */
export function batchRows(parts: readonly NumberedMessages[], sent: CopyRows | null): CopyRows {
  const topicBytes: number[] = [];
  const batches = parts.flatMap((part) => divided(part, topicBytes));
  const messages = topicBytes.length;
  const content = batches.reduce((sum, batch) => sum + batch.topicBytes + batch.payloadBytes, 0);
  const size = {
    rows: batches.length,
    arrays: ARRAYS * batches.length,
    values: COLUMNS * batches.length + ARRAYS * messages,
    bytes: INTEGER_BYTES * batches.length + (ID_BYTES + QOS_BYTES) * messages + content,
  };
  const rows = new CopyRows(size, sent);
  let index = 0;
  for (const batch of batches) {
    write(rows, batch, topicBytes, index);
    index += batch.messages.length;
  }
  return rows;
}

function divided({ stream, messages }: NumberedMessages, topicBytes: number[]): Batch[] {
  const batches: Batch[] = [];
  let batch: Batch | null = null;
  let [room, segment, end] = [0, messages[0]?.segment, 0];
  for (const message of messages) {
    const topic = Buffer.byteLength(message.topic);
    const payload = message.payload.length;
    topicBytes.push(topic);
    room -= topic + payload + ELEMENT_BYTES;
    if (batch === null || room < 0 || message.segment !== segment || message.id > end) {
      batch = { stream, messages: [], topicBytes: 0, payloadBytes: 0 };
      batches.push(batch);
      room = MAX_CONTENT - topic - payload - ELEMENT_BYTES;
      segment = message.segment;
      end = message.id + MAX_SPAN;
    }
    batch.messages.push(message);
    batch.topicBytes += topic;
    batch.payloadBytes += payload;
  }
  return batches;
}

function write(rows: CopyRows, batch: Batch, topicBytes: readonly number[], from: number): void {
  const { stream, messages, payloadBytes } = batch;
  const count = messages.length;
  const [first, last] = [messages[0], messages[count - 1]];
  if (first === undefined || last === undefined) return;
  rows.begin(COLUMNS);
  rows.integer(stream);
  rows.integer(first.segment.width);
  rows.bigint(first.id);
  rows.bigint(last.id);
  rows.integer(payloadBytes);
  rows.array('bigint', count, count * ID_BYTES);
  for (const { id } of messages) rows.bigint(id);
  rows.array('smallint', count, count * QOS_BYTES);
  for (const { qos } of messages) rows.smallint(qos);
  rows.array('text', count, batch.topicBytes);
  for (let index = 0; index < count; index += 1) rows.text(messages[index]?.topic ?? '', topicBytes[from + index] ?? 0);
  rows.array('bytea', count, payloadBytes);
  for (const { payload } of messages) rows.bytea(payload);
}
