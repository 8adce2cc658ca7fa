import { messageOf } from '../../../platform/errors.ts';
import { withoutNulls } from '../../../platform/without-nulls.ts';
import type { LinkState } from '../../../protocol/mqtt/broker-session.ts';
import { filtersOverlap } from '../../../protocol/mqtt/filter-match.ts';
import { awayReason } from '../../../protocol/mqtt/when-connected.ts';
import { type BridgeOptions, bridgeClientId } from '../hosting/bridge-options.ts';
import { MqttBridgeSession } from '../link/mqtt-bridge-session.ts';
import { SourceSubscriptions } from '../link/source-subscriptions.ts';
import {
  type BridgeConnectionState,
  type BridgeConnectionStatus,
  type BridgeRejection,
  stateOfLink,
} from '../model/bridge-status.ts';
import { BridgeQueue } from '../queue/bridge-queue.ts';
import type { QueueLog } from '../queue/queue-log.ts';
import { QUEUE_BOUNDS, type QueueBounds } from '../queue/queue-storage.ts';
import type { QueueStore } from '../queue/queue-store.ts';
import { BridgePath, namesOfLocal, namesOfRemote } from './bridge-path.ts';
import {
  filtersOf,
  type MqttConnectionConfig,
  type RuleFilter,
  remoteAddress,
  sourceFilter,
  targetFilter,
  type Way,
  waysOf,
} from './mqtt-bridge-config.ts';
import { OneWay } from './one-way.ts';
import { ReturnedMessages } from './returned-messages.ts';

interface RunningConnectionOptions {
  readonly bridge: BridgeOptions;
  readonly queues: QueueStore;
  readonly config: MqttConnectionConfig;
  readonly earlier: readonly MqttConnectionConfig[];
  readonly onState: () => void;
  readonly onCount: () => void;
}

interface RunningWay {
  readonly way: Way;
  readonly passing: OneWay;
  readonly subscriptions: SourceSubscriptions<RuleFilter>;
}

type WayLog = readonly [way: Way, log: QueueLog];

interface CloseOptions {
  readonly discardSessions: boolean;
  readonly discardQueues: boolean;
  readonly next: MqttConnectionConfig | null;
}

/** Maximum number of earlier configurations. Filters of older ones are unsubscribed when a message arrives for them. */
const MOST_EARLIER = 10;

/** From worst to best: the state of a connection is that of its worse side. */
const STATES = ['UNAUTHORIZED', 'UNREACHABLE', 'CONNECTING', 'CONNECTED'] as const satisfies LinkState[];

const ROUND =
  'Both sides are the same broker, and with MQTT 3.1.1 its messages would go round for ever: use prefixes that lead to other topics';

export class RunningConnection {
  readonly #options: RunningConnectionOptions;
  readonly #local: MqttBridgeSession;
  readonly #remote: MqttBridgeSession;
  readonly #ways: RunningWay[] = [];
  readonly #maybeRound: boolean;
  readonly #returned: ReturnedMessages;
  config: MqttConnectionConfig;
  #state: BridgeConnectionState = 'CONNECTING';
  #since = Date.now();
  #failure: string | null = null;
  #queueProblem: string | null = null;
  /** Whether both sides were connected, so that the filters of earlier configurations are unsubscribed. */
  #isEverConnected = false;
  #isClosed = false;

  /** Never rejects: a connection whose queues cannot be opened is failed. */
  static async open(options: RunningConnectionOptions): Promise<RunningConnection> {
    const { name, topics } = options.config;
    const ways = (['out', 'in'] as const).filter((way) => filtersOf(topics, way).length > 0);
    try {
      const logs = ways.map(async (way) => [way, await options.queues.open(queueName(name, way))] as const);
      return new RunningConnection(options, await Promise.all(logs));
    } catch (error) {
      return new RunningConnection(options, [], error);
    }
  }

  private constructor(options: RunningConnectionOptions, logs: readonly WayLog[], failure: unknown = null) {
    const { bridge, config } = options;
    this.#options = options;
    this.config = config;
    this.#maybeRound = mayGoRound(bridge, config);
    this.#returned = new ReturnedMessages({
      stops: config.stopsLoops ?? false,
      onLoop: (loop) => bridge.onLoop?.({ connection: config.name, ...loop }),
      onChange: () => options.onState(),
    });
    const clientId = bridgeClientId(bridge, config.name, 12);
    const leftOver = (way: Way) => filtersLeft(options.earlier, config, way);
    const { local, onFault } = bridge;
    this.#local = new MqttBridgeSession({ ...local, clientId, onFault, leftOver: leftOver('out') });
    this.#remote = new MqttBridgeSession({ ...remoteOptions(bridge, config, clientId), leftOver: leftOver('in') });
    try {
      if (failure !== null) throw failure;
      for (const log of logs) this.#addWay(log);
      this.#listen();
    } catch (error) {
      this.#failure = messageOf(error);
    }
    this.#state = this.#currentState();
  }

  /** For the next connection: all configurations whose filters may remain in its sessions. */
  get earlier(): readonly MqttConnectionConfig[] {
    return [...(this.#isEverConnected ? [] : this.#options.earlier.slice(1 - MOST_EARLIER)), this.config];
  }

  get isFailed(): boolean {
    return this.#failure !== null;
  }

  status(): BridgeConnectionStatus {
    const sum = (count: (way: OneWay) => number) => this.#ways.reduce((all, { passing }) => all + count(passing), 0);
    const error = this.#error();
    const lastRejection = this.#lastRejection();
    return {
      connectionName: this.config.name,
      isConnected: this.#sides.every(([, { status }]) => status.state === 'CONNECTED'),
      state: this.#state,
      since: this.#since,
      ...(error === null ? {} : { error }),
      queuedMessages: sum(({ queue }) => queue.length),
      queuedBytes: sum(({ queue }) => queue.bytes),
      received: sum(({ counts }) => counts.received),
      delivered: sum(({ counts }) => counts.delivered),
      dropped: sum(({ counts, queue }) => counts.expired + counts.looped + queue.dropped),
      returned: this.#returned.count,
      ...(this.#returned.loop === null ? {} : { loop: this.#returned.loop }),
      rejected: sum(({ counts }) => counts.rejected),
      ...(lastRejection === null ? {} : { lastRejection }),
    };
  }

  setBounds(config: MqttConnectionConfig): void {
    this.config = config;
    for (const { passing } of this.#ways) passing.queue.setBounds(boundsOf(config));
  }

  /** First writes messages to disk and acknowledges them, while the connection still exists. */
  async close({ discardSessions, discardQueues, next }: CloseOptions): Promise<void> {
    this.#isClosed = true;
    this.#returned.close();
    for (const { subscriptions } of this.#ways) subscriptions.close();
    const drained = Promise.all(this.#ways.map(({ passing }) => passing.drain()));
    if (!discardQueues) await drained;
    await Promise.all(this.#ways.map(({ passing }) => passing.queue.close({ discard: discardQueues })));
    const isElsewhere = next !== null && (next.url !== this.config.url || next.clientId !== this.config.clientId);
    await Promise.all([
      this.#local.close({ discard: discardSessions }),
      this.#remote.close({ discard: discardSessions || isElsewhere }),
    ]);
  }

  get #sides(): readonly (readonly [name: string, session: MqttBridgeSession])[] {
    return [
      ['Local broker', this.#local],
      ['Remote broker', this.#remote],
    ];
  }

  #addWay([way, log]: WayLog): void {
    const { bridge, onCount } = this.#options;
    const { topics, url, active = true } = this.config;
    const queue = new BridgeQueue({
      log,
      bounds: boundsOf(this.config),
      onProblem: (reason) => {
        this.#queueProblem = reason;
        this.#options.onState();
      },
    });
    const [source, target] = way === 'out' ? [this.#local, this.#remote] : [this.#remote, this.#local];
    const names = [namesOfLocal(bridge.brokerId, bridge.local.url), namesOfRemote(url)] as const;
    const path = way === 'out' ? new BridgePath(names[0], names[1]) : new BridgePath(names[1], names[0]);
    const passing = new OneWay({ way, target, queue, path, returned: this.#returned, onCount });
    const subscriptions = new SourceSubscriptions<RuleFilter>({
      session: source,
      onMessage: (message, { rules }) => passing.arrived(message, rules),
      onChange: () => this.#changed(),
    });
    if (active) subscriptions.want(filtersOf(topics, way));
    this.#ways.push({ way, passing, subscriptions });
  }

  #listen(): void {
    if (this.config.active === false) return;
    for (const [, session] of this.#sides) {
      session.onStatus(() => {
        for (const { passing, subscriptions } of this.#ways) {
          passing.targetChanged();
          if (!this.#goesRound) subscriptions.subscribe();
        }
        this.#changed();
      });
      session.open();
    }
  }

  #changed(): void {
    if (this.#isClosed) return;
    const state = this.#currentState();
    if (state !== this.#state) {
      this.#state = state;
      this.#since = Date.now();
    }
    if (state === 'CONNECTED') this.#isEverConnected = true;
    this.#options.onState();
  }

  #currentState(): BridgeConnectionState {
    if (this.#failure !== null) return 'FAILED';
    if (this.config.active === false) return 'INACTIVE';
    const states: readonly LinkState[] = this.#sides.map(([, { status }]) => status.state);
    const worst = STATES.find((state) => states.includes(state)) ?? 'CONNECTING';
    if (worst !== 'CONNECTED') return stateOfLink(worst);
    if (this.#refusal !== null) return 'FAILED';
    return this.#ways.every(({ subscriptions }) => subscriptions.isComplete) ? 'CONNECTED' : 'CONNECTING';
  }

  /** With MQTT 5, the path of each message prevents loops. */
  get #goesRound(): boolean {
    return this.#maybeRound && (this.#local.protocolVersion === 4 || this.#remote.protocolVersion === 4);
  }

  get #refusal(): string | null {
    if (this.#goesRound) return ROUND;
    for (const { way, subscriptions } of this.#ways) {
      const { refusal } = subscriptions;
      if (refusal !== null)
        return `${way === 'out' ? 'Local' : 'Remote'} broker: "${refusal.filter}": ${refusal.reason}`;
    }
    return null;
  }

  #error(): string | null {
    if (this.#failure !== null) return this.#failure;
    if (this.config.active === false) return null;
    for (const [name, session] of this.#sides) {
      const { status } = session;
      if (stateOfLink(status.state) !== this.#state || status.lastError === undefined) continue;
      const problem = this.#queueProblem === null ? '' : `; ${this.#queueProblem}`;
      return `${name}: ${session === this.#local ? awayReason(status) : status.lastError}${problem}`;
    }
    return this.#refusal ?? this.#queueProblem;
  }

  #lastRejection(): BridgeRejection | null {
    const rejections = this.#ways.flatMap(({ passing }) => passing.lastRejection ?? []);
    return rejections.sort((one, other) => other.at - one.at)[0] ?? null;
  }
}

/** Whether both sides are the same broker, and a message may match a source filter again after it is forwarded. */
function mayGoRound({ brokerId, local }: BridgeOptions, { url, topics }: MqttConnectionConfig): boolean {
  const names = namesOfLocal(brokerId, local.url);
  if (!namesOfRemote(url).some((name) => names.includes(name))) return false;
  const all = (of: typeof sourceFilter) =>
    topics.flatMap((rule) => waysOf(rule).map((way) => of(rule, way).split('/')));
  const [sources, targets] = [all(sourceFilter), all(targetFilter)];
  return targets.some((target) => sources.some((source) => filtersOverlap(source, target)));
}

export const queueNames = ({ name }: MqttConnectionConfig): string[] => [queueName(name, 'out'), queueName(name, 'in')];

function filtersLeft(earlier: readonly MqttConnectionConfig[], { topics }: MqttConnectionConfig, way: Way): string[] {
  const wanted = new Set(filtersOf(topics, way).map(({ filter }) => filter));
  const before = new Set(earlier.flatMap((config) => filtersOf(config.topics, way).map(({ filter }) => filter)));
  return [...before].filter((filter) => !wanted.has(filter));
}

const queueName = (connectionName: string, way: Way): string => `${connectionName}\n${way}`;

const boundsOf = ({ queue }: MqttConnectionConfig): QueueBounds => ({ ...QUEUE_BOUNDS, ...queue });

function remoteOptions({ local, rules, onFault }: BridgeOptions, config: MqttConnectionConfig, localClientId: string) {
  const { id, timeoutMs, readingLimits, group } = local;
  const clientId = config.clientId ?? `${localClientId}-remote`;
  return {
    id,
    clientId,
    ...remoteAddress(config, rules),
    timeoutMs,
    onFault,
    ...withoutNulls({ readingLimits, group }),
  };
}
