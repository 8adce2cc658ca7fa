import { LogFollower } from '../../../../src/domains/clients/inspect/log-follower.ts';
import type { RecordedLine, RecordedState, Recording, Scenario } from '../../../protocol/mosquitto-log/recordings.ts';
import { type ScriptedBroker, startScriptedBroker } from '../../../support/aedes-broker.ts';
import { connectedLink } from '../../../support/link.ts';

const RESTARTED = /^mosquitto version \S+ (?:starting|running)$/;
const STOPS = /^mosquitto version \S+ terminating$/;
const CONNECTED = /^New (?:client|bridge) connected from \S+ as (.*) \(p\d, c[01], k\d+(?:, u'.*')?\)\.$/s;
const NOTHING: RecordedState = { connected: [], others: 0 };

/** Lines after which it is certain again which clients are connected. */
interface Block {
  readonly lines: readonly RecordedLine[];
  readonly state: RecordedState;
}

/** A broker that sends lines of its log. */
export const startLoggingBroker = () => startScriptedBroker(() => []);

/** Follows the clients of a broker on a connection of its own, and sends lines of its log. */
export async function followLog(broker: ScriptedBroker, version: string) {
  const link = await connectedLink({ url: broker.url });
  let arrived: () => void = () => undefined;
  await link.subscribe('test/arrived', () => arrived());
  let uptime = 0;

  const send = async (lines: readonly RecordedLine[]) => {
    for (const [level, text] of lines) await broker.publish(`$SYS/broker/log/${level}`, `1700000000: ${text}`);
  };
  const settle = async () => {
    const whenArrived = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    await broker.publish('test/arrived', '');
    await whenArrived;
  };
  const count = async (connected: number) => {
    uptime += 10;
    await broker.publish('$SYS/broker/uptime', `${uptime} seconds`);
    await broker.publish('$SYS/broker/clients/connected', `${connected}`);
    await settle();
  };
  const ignore = () => undefined;
  const events = { onChange: ignore, onEvent: ignore, onCount: ignore, onUnread: ignore, onRestart: ignore };
  const follower = new LogFollower(link, { lineTimeoutMs: 1, ...events });
  await follower.start();
  await broker.publish('$SYS/broker/version', version);
  await settle();
  const close = async () => {
    follower.close();
    await link.close();
  };
  return { follower, send, settle, count, close };
}

/** Scenarios that do not depend on other brokers, and end in a certain state. */
function blocksOf({ log }: Scenario, suffix: string): Block[] {
  const ids = new Set(
    log.flatMap(([, text, state]) => [CONNECTED.exec(text)?.[1] ?? [], state?.connected ?? []].flat()),
  );
  const rename = (text: string) =>
    [...ids]
      .sort((a, b) => b.length - a.length)
      .reduce((renamed, id) => renamed.replaceAll(id, `${id}${suffix}`), text);
  const blocks: Block[] = [];
  let lines: RecordedLine[] = [];
  for (const [level, text, state] of log) {
    lines.push([level, rename(text)]);
    // Between two processes of the broker, no message arrives.
    const isStopping = lines.some(([, line]) => STOPS.test(line)) && !lines.some(([, line]) => RESTARTED.test(line));
    if (state === undefined || isStopping) continue;
    blocks.push({ lines, state: { ...state, connected: state.connected.map((id) => `${id}${suffix}`) } });
    lines = [];
  }
  return blocks;
}

/** Interleaved sessions of one broker. A restart of the broker ends all of them. */
export class Sessions {
  readonly #all: { readonly blocks: Block[]; state: RecordedState }[];

  constructor({ scenarios }: Recording, chosen: readonly number[]) {
    const independent = scenarios.filter(({ name }) => !name.startsWith('bridge/'));
    this.#all = chosen.flatMap((number, index) => {
      const scenario = independent[number % independent.length];
      return scenario === undefined ? [] : [{ blocks: blocksOf(scenario, `~${index}`), state: NOTHING }];
    });
  }

  /** The next lines of one of the sessions; `null` if there are none. */
  next(choice: number): readonly RecordedLine[] | null {
    const left = this.#all.filter(({ blocks }) => blocks.length > 0);
    const session = left[choice % left.length];
    const block = session?.blocks.shift();
    if (session === undefined || block === undefined) return null;
    if (block.lines.some(([, text]) => RESTARTED.test(text))) {
      for (const other of this.#all) {
        if (other.state !== NOTHING) other.blocks.length = 0;
        other.state = NOTHING;
      }
    }
    session.state = block.state;
    return block.lines;
  }

  get connected(): string[] {
    return this.#all.flatMap(({ state }) => state.connected).sort();
  }

  /** Number of open sockets of clients. */
  get sockets(): number {
    return this.#all.reduce((sum, { state }) => sum + state.connected.length + state.others, 0);
  }

  get others(): number {
    return this.#all.reduce((sum, { state }) => sum + state.others, 0);
  }
}
