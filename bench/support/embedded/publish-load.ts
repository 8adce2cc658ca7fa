/** One client publishes to some subscribers as fast as they receive. A fixed number of messages is in flight. */
import type { Socket } from 'node:net';
import type { Account } from '../frame-wire.ts';
import { PUBACK_BYTES, publishPacket, retainedTopic } from './packets.ts';
import { openSubscriber, openWire } from './wire.ts';

const TOPIC = 'bench/one';
const BATCH = 50;
/** Multiple of BATCH. The packet ids of messages in flight differ. */
const WINDOW = 1_000;
const WARM_UP_MS = 500;

export interface PublishTask {
  readonly port: number;
  readonly account: Account;
  readonly qos: 0 | 1;
  readonly subscribers: number;
  readonly milliseconds: number;
}

/** Returns the number of messages that arrived between the calls of `begin` and `end`. */
export async function publishLoad(
  { port, account, qos, subscribers, milliseconds }: PublishTask,
  begin: () => void,
  end: () => void,
): Promise<number> {
  let arrived = 0;
  let acknowledged = 0;
  let sent = 0;
  let isOver = false;
  const packets = Array.from({ length: WINDOW }, (_, index) => publishPacket(TOPIC, qos, index + 1));
  const batches = Array.from({ length: WINDOW / BATCH }, (_, n) =>
    Buffer.concat(packets.slice(n * BATCH, (n + 1) * BATCH)),
  );
  const length = packets[0]?.length ?? 0;
  // A message leaves the window when all subscribers have it, and when it is acknowledged.
  const window = Math.max(BATCH, Math.floor(WINDOW / subscribers / BATCH) * BATCH);
  const left = () => Math.min(Math.floor(arrived / subscribers), qos === 0 ? sent : acknowledged);
  const publisher = await openWire(port, 'publisher', account, (bytes) => {
    acknowledged += bytes.length / PUBACK_BYTES;
    send();
  });
  const send = () => {
    while (!isOver && sent - left() <= window - BATCH) {
      publisher.socket.write(batches[(sent / BATCH) % batches.length] as Buffer);
      sent += BATCH;
    }
  };
  const wires = await Promise.all(
    Array.from({ length: subscribers }, (_, n) => {
      const counter = countPackets(length, qos, (count) => {
        arrived += count;
        send();
      });
      return openSubscriber(port, `subscriber-${n}`, account, TOPIC, qos, counter);
    }),
  );
  send();
  await delay(WARM_UP_MS);
  const before = arrived;
  begin();
  await delay(milliseconds);
  const count = arrived - before;
  end();
  isOver = true;
  for (const wire of [publisher, ...wires]) wire.close();
  return count;
}

export interface RetainTask {
  readonly port: number;
  readonly account: Account;
  readonly messages: number;
}

/** Publishes retained messages at QoS 1. Returns their number when all are acknowledged. */
export async function retainLoad(
  { port, account, messages }: RetainTask,
  begin: () => void,
  end: () => void,
): Promise<number> {
  const packets = Array.from({ length: messages }, (_, n) =>
    publishPacket(retainedTopic(n), 1, (n % WINDOW) + 1, true),
  );
  const batches = Array.from({ length: messages / BATCH }, (_, n) =>
    Buffer.concat(packets.slice(n * BATCH, (n + 1) * BATCH)),
  );
  let acknowledged = 0;
  let sent = 0;
  let finished = () => {};
  const done = new Promise<void>((resolve) => {
    finished = resolve;
  });
  const publisher = await openWire(port, 'publisher', account, (bytes) => {
    acknowledged += bytes.length / PUBACK_BYTES;
    if (acknowledged >= messages) finished();
    else send();
  });
  const send = () => {
    while (sent < messages && sent - acknowledged <= WINDOW - BATCH) {
      publisher.socket.write(batches[sent / BATCH] as Buffer);
      sent += BATCH;
    }
  };
  begin();
  send();
  await done;
  end();
  publisher.close();
  return messages;
}

/** Reads retained messages at QoS 0 with the filter `#`. Returns their number. */
export async function retainedReadLoad(
  { port, account, messages }: RetainTask,
  begin: () => void,
  end: () => void,
): Promise<number> {
  let arrived = 0;
  let finished = () => {};
  const done = new Promise<void>((resolve) => {
    finished = resolve;
  });
  const length = publishPacket(retainedTopic(0), 0, 0, true).length;
  const counter = countPackets(length, 0, (count) => {
    arrived += count;
    if (arrived >= messages) finished();
  });
  begin();
  const reader = await openSubscriber(port, 'reader', account, '#', 0, counter);
  await done;
  end();
  reader.close();
  return messages;
}

/** Counts packets of equal length. Sends PUBACK for QoS 1. */
function countPackets(length: number, qos: 0 | 1, counted: (count: number) => void) {
  // The packet id is before the payload of 64 bytes.
  const idAt = length - 66;
  let rest: Buffer | null = null;
  let extra = 0;
  return (bytes: Buffer, socket: Socket): void => {
    if (qos === 0) {
      const all = extra + bytes.length;
      extra = all % length;
      counted(Math.floor(all / length));
      return;
    }
    const all = rest ? Buffer.concat([rest, bytes]) : bytes;
    const count = Math.floor(all.length / length);
    rest = count * length < all.length ? Buffer.from(all.subarray(count * length)) : null;
    if (count === 0) return;
    const acks = Buffer.allocUnsafe(count * PUBACK_BYTES);
    for (let n = 0; n < count; n += 1) {
      acks.writeUInt16BE(0x4002, n * PUBACK_BYTES);
      all.copy(acks, n * PUBACK_BYTES + 2, n * length + idAt, n * length + idAt + 2);
    }
    socket.write(acks);
    counted(count);
  };
}

const delay = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
