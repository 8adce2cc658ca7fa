/**
 * A process that publishes at QoS 1 and counts the messages that it receives. It uses little processor time: packets
 * are encoded in advance, and received packets are only counted. At most WINDOW messages are in flight, so that the
 * contender always has work and no queue grows.
 *
 * The benchmark calls `startStreamLoad(port)`. The module itself runs in the load process, with the port and an IPC
 * channel.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Account, FrameWire } from './frame-wire.ts';

interface RoundTrip {
  readonly source: string;
  readonly target: string;
  /** Duration of publishing. Then the load waits for the messages in flight. */
  readonly milliseconds: number;
}

/** Sends messages until one comes back, which shows that the contender forwards messages. */
interface Probe {
  readonly source: string;
  readonly target: string;
}

interface Flood {
  readonly source: string;
  /** Number of messages, sent as fast as the broker reads them. */
  readonly messages: number;
}

interface Count {
  /** Topic on which messages are counted, until `messages` have arrived. */
  readonly target: string;
  readonly messages: number;
}

interface LoadResult {
  readonly messages: number;
  /** Round trip: duration of publishing. Flood: until the last PUBACK. Count: from the first to the last message. */
  readonly seconds: number;
  /** Payload of the last message. */
  readonly last: string;
}

export interface StreamLoad {
  readonly pid: number;
  probe(task: Probe): Promise<LoadResult>;
  roundTrip(task: RoundTrip): Promise<LoadResult>;
  flood(task: Flood): Promise<LoadResult>;
  /** Calls `ready` when it has subscribed. */
  count(task: Count, ready: () => void): Promise<LoadResult>;
  close(): void;
}

type Task =
  | ({ readonly kind: 'PROBE' } & Probe)
  | ({ readonly kind: 'ROUND_TRIP' } & RoundTrip)
  | ({ readonly kind: 'FLOOD' } & Flood)
  | ({ readonly kind: 'COUNT' } & Count);

const WINDOW = 1_000;

/** The payload of a device, about 150 bytes. */
const payloadOf = (n: number): string =>
  JSON.stringify({
    device: `pump-${n % 100}`,
    hall: 'north',
    values: { temperature: 20 + (n % 50) / 10, pressure: 1.013, humidity: 40 + (n % 20), rpm: 1_450 + (n % 7) },
    state: 'running',
    sequence: n,
  });
/** Payloads that are sent in turns, see FrameWire.publisher. */
const PAYLOADS = Array.from({ length: 1_000 }, (_, n) => payloadOf(n));

/** `targetPort`: port of the broker with the target topics. `account`: credentials of the load's clients. */
export async function startStreamLoad(port: number, targetPort = port, account?: Account): Promise<StreamLoad> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), [String(port), String(targetPort)], {
    env: { ...process.env, BENCH_ACCOUNT: JSON.stringify(account ?? {}) },
  });
  await once(child, 'message');
  const run = async (task: Task, ready?: () => void): Promise<LoadResult> => {
    child.send(task);
    if (task.kind === 'COUNT') {
      await once(child, 'message');
      ready?.();
    }
    const [result] = await once(child, 'message');
    return result as LoadResult;
  };
  return {
    pid: child.pid ?? 0,
    probe: (task) => run({ kind: 'PROBE', ...task }),
    roundTrip: (task) => run({ kind: 'ROUND_TRIP', ...task }),
    flood: (task) => run({ kind: 'FLOOD', ...task }),
    count: (task, ready) => run({ kind: 'COUNT', ...task }, ready),
    close: () => void child.kill(),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('disconnect', () => process.exit());
  const [port = 0, targetPort = 0] = process.argv.slice(2).map(Number);
  const account = JSON.parse(process.env.BENCH_ACCOUNT ?? '{}') as Partial<Account>;
  const sender = await FrameWire.open(port, 'bench-sender', account);
  const receiver = await FrameWire.open(targetPort, 'bench-receiver', account);
  const secondsSince = (from: number) => (performance.now() - from) / 1_000;

  const probe = async ({ source, target }: Probe): Promise<LoadResult> => {
    await receiver.subscribe(target);
    const publish = sender.publisher(source, PAYLOADS);
    sender.hear(() => undefined);
    const from = performance.now();
    const last = await new Promise<string>((resolve) => {
      const sending = setInterval(() => publish(1), 200);
      receiver.hear((published) => {
        if (published === 0) return;
        clearInterval(sending);
        resolve(receiver.lastPayload());
      });
    });
    // Waits for further messages that are in flight.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await receiver.unsubscribe(target);
    return { messages: 1, seconds: secondsSince(from), last };
  };

  const roundTrip = async ({ source, target, milliseconds }: RoundTrip): Promise<LoadResult> => {
    await receiver.subscribe(target);
    const publish = sender.publisher(source, PAYLOADS);
    sender.hear(() => undefined);
    let sent = WINDOW;
    let received = 0;
    const from = performance.now();
    await new Promise<void>((resolve) => {
      receiver.hear((published) => {
        received += published;
        const room = WINDOW - (sent - received);
        if (performance.now() - from < milliseconds) {
          if (room < WINDOW / 4) return;
          publish(room);
          sent += room;
        } else if (received === sent) resolve();
      });
      publish(WINDOW);
    });
    const seconds = secondsSince(from);
    await receiver.unsubscribe(target);
    return { messages: received, seconds, last: receiver.lastPayload() };
  };

  const flood = async ({ source, messages }: Flood): Promise<LoadResult> => {
    const publish = sender.publisher(source, PAYLOADS);
    let sent = 0;
    let acknowledged = 0;
    const from = performance.now();
    await new Promise<void>((resolve) => {
      const fill = () => {
        const room = Math.min(messages - sent, WINDOW - (sent - acknowledged));
        if (room === 0 || (room < WINDOW / 4 && sent + room < messages)) return;
        publish(room);
        sent += room;
      };
      sender.hear((_published, answers) => {
        acknowledged += answers;
        if (acknowledged === messages) resolve();
        else fill();
      });
      fill();
    });
    return { messages, seconds: secondsSince(from), last: '' };
  };

  const count = async ({ target, messages }: Count): Promise<LoadResult> => {
    await receiver.subscribe(target);
    process.send?.('subscribed');
    let received = 0;
    let from = 0;
    await new Promise<void>((resolve) =>
      receiver.hear((published) => {
        if (received === 0) from = performance.now();
        received += published;
        if (received >= messages) resolve();
      }),
    );
    const seconds = secondsSince(from);
    await receiver.unsubscribe(target);
    return { messages, seconds, last: receiver.lastPayload() };
  };

  const perform = (task: Task): Promise<LoadResult> => {
    switch (task.kind) {
      case 'PROBE':
        return probe(task);
      case 'ROUND_TRIP':
        return roundTrip(task);
      case 'FLOOD':
        return flood(task);
      case 'COUNT':
        return count(task);
    }
  };
  process.on('message', (task: Task) => {
    void perform(task).then((result) => process.send?.(result));
  });
  process.send?.('connected');
}
