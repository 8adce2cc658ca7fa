/**
 * A process that publishes at QoS 1 and counts what comes back, with as little work of its own as possible: bare sockets and
 * mqtt-packet. At most WINDOW messages are on their way through the contender, so that it always has work and no queue grows.
 *
 * Two doors to it: `startStreamLoad(port)` in the benchmark's process, and the module itself, which is run with the port and an IPC
 * channel.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MqttWire } from '../../test/support/mqtt-wire.ts';

export interface RoundTrip {
  readonly source: string;
  readonly target: string;
  /** How long it publishes; then what is under way is waited for. */
  readonly milliseconds: number;
}

/** Messages are sent until one comes back: whoever passes them on is there. */
export interface Probe {
  readonly source: string;
  readonly target: string;
}

export interface Flood {
  readonly source: string;
  /** As fast as the broker takes them. */
  readonly messages: number;
}

export interface Count {
  /** What comes on it is counted, until `messages` have come. */
  readonly target: string;
  readonly messages: number;
  readonly qos: 0 | 1;
}

export interface LoadResult {
  readonly messages: number;
  /** Round trip: of publishing. Flood: until the last one was acknowledged. Count: from the first to the last one. */
  readonly seconds: number;
  /** Of the last message that came. */
  readonly last: string;
}

export interface StreamLoad {
  readonly pid: number;
  probe(task: Probe): Promise<LoadResult>;
  roundTrip(task: RoundTrip): Promise<LoadResult>;
  flood(task: Flood): Promise<LoadResult>;
  /** `ready` is called when it is subscribed. */
  count(task: Count, ready: () => void): Promise<LoadResult>;
  close(): void;
}

type Task =
  | ({ readonly kind: 'PROBE' } & Probe)
  | ({ readonly kind: 'ROUND_TRIP' } & RoundTrip)
  | ({ readonly kind: 'FLOOD' } & Flood)
  | ({ readonly kind: 'COUNT' } & Count);

const WINDOW = 1_000;
const FLOOD_WINDOW = 1_000;

/** What a device tells: about 150 bytes. */
export const payloadOf = (n: number): string =>
  JSON.stringify({
    device: `pump-${n % 100}`,
    hall: 'north',
    values: { temperature: 20 + (n % 50) / 10, pressure: 1.013, humidity: 40 + (n % 20), rpm: 1_450 + (n % 7) },
    state: 'running',
    sequence: n,
  });

export async function startStreamLoad(port: number): Promise<StreamLoad> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), [String(port)]);
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
  const port = Number(process.argv[2]);
  const sender = await MqttWire.open(port, 'bench-sender');
  const receiver = await MqttWire.open(port, 'bench-receiver');
  let sequence = 0;
  const publish = (topic: string) => {
    sequence += 1;
    const messageId = 1 + (sequence % 65_535);
    const payload = payloadOf(sequence);
    sender.send({ cmd: 'publish', topic, payload, qos: 1, messageId, dup: false, retain: false });
  };
  const secondsSince = (from: number) => (performance.now() - from) / 1_000;

  const probe = async ({ source, target }: Probe): Promise<LoadResult> => {
    await receiver.subscribe(target, 0);
    sender.hear(() => undefined);
    const from = performance.now();
    const last = await new Promise<string>((resolve) => {
      const sending = setInterval(() => publish(source), 200);
      receiver.hear((packet) => {
        if (packet.cmd !== 'publish') return;
        clearInterval(sending);
        resolve(String(packet.payload));
      });
    });
    // Until those that were sent meanwhile have come, too.
    await new Promise((resolve) => setTimeout(resolve, 500));
    await receiver.unsubscribe(target);
    return { messages: 1, seconds: secondsSince(from), last };
  };

  const roundTrip = async ({ source, target, milliseconds }: RoundTrip): Promise<LoadResult> => {
    await receiver.subscribe(target, 0);
    sender.hear(() => undefined);
    let sent = 0;
    let received = 0;
    let last = '';
    const from = performance.now();
    const over = () => performance.now() - from >= milliseconds;
    await new Promise<void>((resolve) => {
      const fill = () =>
        sender.together(() => {
          for (; sent - received < WINDOW; sent += 1) publish(source);
        });
      // A batch is a quarter of the window: one write, and one look at the clock.
      receiver.hear((packet) => {
        if (packet.cmd !== 'publish') return;
        received += 1;
        if (sent - received <= WINDOW * 0.75 && !over()) {
          fill();
        } else if (received === sent) {
          last = String(packet.payload);
          resolve();
        }
      });
      fill();
    });
    // The time until the last one came counts, too, else a window of messages would be for nothing.
    const seconds = secondsSince(from);
    await receiver.unsubscribe(target);
    return { messages: received, seconds, last };
  };

  const flood = async ({ source, messages }: Flood): Promise<LoadResult> => {
    let sent = 0;
    let acknowledged = 0;
    const from = performance.now();
    await new Promise<void>((resolve) => {
      const fill = () =>
        sender.together(() => {
          for (; sent < messages && sent - acknowledged < FLOOD_WINDOW; sent += 1) publish(source);
        });
      sender.hear(({ cmd }) => {
        if (cmd !== 'puback') return;
        acknowledged += 1;
        if (acknowledged === messages) resolve();
        else if (sent - acknowledged <= FLOOD_WINDOW / 2) fill();
      });
      fill();
    });
    return { messages, seconds: secondsSince(from), last: '' };
  };

  const count = async ({ target, messages, qos }: Count): Promise<LoadResult> => {
    await receiver.subscribe(target, qos);
    process.send?.('subscribed');
    let received = 0;
    let from = 0;
    const last = await new Promise<string>((resolve) =>
      receiver.hear((packet) => {
        if (packet.cmd !== 'publish') return;
        if (packet.qos === 1) receiver.send({ cmd: 'puback', messageId: packet.messageId ?? 0 });
        if (received === 0) from = performance.now();
        received += 1;
        if (received === messages) resolve(String(packet.payload));
      }),
    );
    const seconds = secondsSince(from);
    await receiver.unsubscribe(target);
    return { messages, seconds, last };
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
