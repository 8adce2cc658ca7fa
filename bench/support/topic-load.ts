/**
 * Processes that publish to many distinct topics at QoS 0, as fast as a broker takes them or at a given pace: packets are written into
 * large buffers, so that it takes them a fraction of what it takes the broker. `topicOf` is the topic of each number.
 *
 * Two doors to it: `startTopicLoad(processes)` in the benchmark's process, and the module itself, which is run with an IPC channel.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { generate } from 'mqtt-packet';

/** WIDE: each device has a level of its own, side by side with all others. DEEP: six levels, parents are shared. WARM_UP: none of these. */
export type TopicShape = 'WIDE' | 'DEEP' | 'WARM_UP';

interface TopicLoadTask {
  readonly port: number;
  readonly shape: TopicShape;
  /** Topics that there are: the order in which they are published jumps about among all of them. */
  readonly topics: number;
  /** Place in that order. */
  readonly from: number;
  readonly messages: number;
  readonly payloadBytes: number;
  /** Default: no limit. */
  readonly perSecond?: number;
}

export interface TopicLoad {
  readonly pids: readonly number[];
  /** Done when the broker has read all of it. */
  publish(task: TopicLoadTask): Promise<void>;
  close(): void;
}

/** Prime to all numbers of topics in use, so that the order reaches each of them. */
const STRIDE = 618_033_989;
const METRICS = ['temperature', 'pressure', 'rpm', 'state', 'energy'];
const CHUNK_BYTES = 128 * 1024;
/** At a given pace. */
const TURNS_PER_SECOND = 50;

const padded = (value: number, digits: number) => String(value).padStart(digits, '0');

export function topicOf(shape: TopicShape, number: number): string {
  if (shape === 'WARM_UP') return `warm-up/${number % 100}/device-${number}/temp`;
  if (shape === 'WIDE') return `fleet/device-${padded(number, 7)}/sensor/temp`;
  const cell = Math.floor(number / METRICS.length);
  const line = Math.floor(cell / 40);
  const area = Math.floor(line / 25);
  const site = Math.floor(area / 20);
  return `acme/site-${padded(site, 2)}/area-${padded(area % 20, 2)}/line-${padded(line % 25, 2)}/cell-${padded(cell % 40, 3)}/${METRICS[number % METRICS.length]}`;
}

/** The number of the topic at a place of the order; products stay exact below 2^53. */
export const numberAt = (place: number, topics: number): number => ((place % topics) * (STRIDE % topics)) % topics;

export function startTopicLoad(processes: number): TopicLoad {
  const children = Array.from({ length: processes }, (): ChildProcess => fork(fileURLToPath(import.meta.url)));
  return {
    pids: children.map(({ pid = 0 }) => pid),
    publish: async ({ from, messages, perSecond, ...task }) => {
      const share = Math.ceil(messages / processes);
      await Promise.all(
        children.map(async (child, index) => {
          const part: TopicLoadTask = {
            ...task,
            from: from + index * share,
            messages: Math.max(0, Math.min(share, messages - index * share)),
            ...(perSecond === undefined ? {} : { perSecond: perSecond / processes }),
          };
          child.send(part);
          await once(child, 'message');
        }),
      );
    },
    close: () => {
      for (const child of children) child.disconnect();
    },
  };
}

/** Writes the PUBLISH at a place of the buffer and gives its end; all of it is ASCII. */
function writePublish(buffer: Buffer, at: number, topic: string, payload: string): number {
  let rest = 2 + topic.length + payload.length;
  let end = at;
  buffer[end++] = 0x30;
  for (; rest >= 0x80; rest >>>= 7) buffer[end++] = (rest & 0x7f) | 0x80;
  buffer[end++] = rest;
  buffer[end++] = topic.length >> 8;
  buffer[end++] = topic.length & 0xff;
  end += buffer.write(topic, end, 'latin1');
  return end + buffer.write(payload, end, 'latin1');
}

class Publisher {
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  static async open(port: number): Promise<Publisher> {
    const socket = connect(port, '127.0.0.1').setNoDelay(true);
    const publisher = new Publisher(socket);
    await publisher.#ask(
      generate({ cmd: 'connect', clientId: `bench-topics-${process.pid}`, clean: true, keepalive: 0 }),
    );
    return publisher;
  }

  async publish(task: TopicLoadTask): Promise<void> {
    const { shape, topics, from, messages, payloadBytes, perSecond } = task;
    const atOnce = perSecond === undefined ? messages : Math.ceil(perSecond / TURNS_PER_SECOND);
    const started = performance.now();
    for (let sent = 0; sent < messages; ) {
      const end = Math.min(messages, sent + atOnce);
      while (sent < end) {
        const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
        let at = 0;
        for (; sent < end && at < CHUNK_BYTES - 1_024 - payloadBytes; sent += 1) {
          const place = from + sent;
          const payload = `{"n":${place},"v":21.5}`.padEnd(payloadBytes).slice(0, payloadBytes);
          at = writePublish(buffer, at, topicOf(shape, numberAt(place, topics)), payload);
        }
        if (!this.#socket.write(buffer.subarray(0, at))) await once(this.#socket, 'drain');
      }
      if (perSecond !== undefined) await delay(Math.max(0, started + (sent / perSecond) * 1_000 - performance.now()));
    }
    // It is answered when what was written before it has been read.
    await this.#ask(generate({ cmd: 'pingreq' }));
  }

  /** Nothing but answers comes to it. */
  async #ask(packet: Buffer): Promise<void> {
    const answered = once(this.#socket, 'data');
    this.#socket.write(packet);
    await answered;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit());
  const publishers = new Map<number, Publisher>();
  process.on('message', (task: TopicLoadTask) => {
    void (async () => {
      let publisher = publishers.get(task.port);
      if (!publisher) {
        publisher = await Publisher.open(task.port);
        publishers.set(task.port, publisher);
      }
      await publisher.publish(task);
      process.send?.('published');
    })();
  });
}
