/**
 * Processes that publish to many distinct topics at QoS 0, at the maximum rate of the broker or at a given rate. They
 * write packets into large buffers, which takes much less processor time than the broker uses. `topicOf` returns the
 * topic of a number.
 *
 * The benchmark calls `startTopicLoad(processes)`. The module itself runs in the load processes, with an IPC channel.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { generate } from 'mqtt-packet';

/** WIDE: one level with all devices. DEEP: six levels with shared parents. WARM_UP: topics of neither shape. */
export type TopicShape = 'WIDE' | 'DEEP' | 'WARM_UP';

interface TopicLoadTask {
  readonly port: number;
  readonly shape: TopicShape;
  /** Number of all topics. They are published in a scattered order. */
  readonly topics: number;
  /** First position in that order. */
  readonly from: number;
  readonly messages: number;
  readonly payloadBytes: number;
  /** Maximum rate. Default: no limit. */
  readonly perSecond?: number;
}

export interface TopicLoad {
  readonly pids: readonly number[];
  /** Resolves when the broker has read all messages. */
  publish(task: TopicLoadTask): Promise<void>;
  close(): void;
}

/** Coprime to all numbers of topics in use, so that the order contains each topic. */
const STRIDE = 618_033_989;
const METRICS = ['temperature', 'pressure', 'rpm', 'state', 'energy'];
const CHUNK_BYTES = 128 * 1024;
/** Number of writes per second if the rate is limited. */
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

/** The number of the topic at a position of the order. The products are exact, because they are below 2^53. */
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

/** Writes a PUBLISH into the buffer and returns its end. Topic and payload must be ASCII. */
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
    // The broker responds after it has read the previous packets.
    await this.#ask(generate({ cmd: 'pingreq' }));
  }

  /** The connection receives only responses. */
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
