/**
 * The numbers that Mosquitto, brokers based on it and the embedded broker publish below `$SYS/broker/`. `null`: not
 * published, or invalid, as numbers above 2^53, which Mosquitto 2.0 publishes when its counters underflow.
 */

/** Topics of the counts. If a number has two topics, the first published one is read. */
const COUNT_TOPICS = {
  clients: {
    connected: ['clients/connected', 'clients/active'],
    disconnected: ['clients/disconnected', 'clients/inactive'],
    total: ['clients/total'],
    maximum: ['clients/maximum'],
    expired: ['clients/expired'],
  },
  messages: {
    received: ['messages/received'],
    sent: ['messages/sent'],
    stored: ['store/messages/count', 'messages/stored'],
    storedBytes: ['store/messages/bytes'],
  },
  publish: {
    received: ['publish/messages/received'],
    sent: ['publish/messages/sent'],
    dropped: ['publish/messages/dropped'],
    bytesReceived: ['publish/bytes/received'],
    bytesSent: ['publish/bytes/sent'],
  },
  bytes: { received: ['bytes/received'], sent: ['bytes/sent'] },
  heap: { current: ['heap/current'], maximum: ['heap/maximum'] },
} as const;

const LOAD_TOPICS = {
  messagesReceived: 'load/messages/received',
  messagesSent: 'load/messages/sent',
  publishReceived: 'load/publish/received',
  publishSent: 'load/publish/sent',
  publishDropped: 'load/publish/dropped',
  bytesReceived: 'load/bytes/received',
  bytesSent: 'load/bytes/sent',
  sockets: 'load/sockets',
  connections: 'load/connections',
} as const;

const RATES = {
  messagesReceivedPerSecond: ({ messages }) => messages.received,
  messagesSentPerSecond: ({ messages }) => messages.sent,
  publishReceivedPerSecond: ({ publish }) => publish.received,
  publishSentPerSecond: ({ publish }) => publish.sent,
  publishDroppedPerSecond: ({ publish }) => publish.dropped,
  publishBytesReceivedPerSecond: ({ publish }) => publish.bytesReceived,
  publishBytesSentPerSecond: ({ publish }) => publish.bytesSent,
  bytesReceivedPerSecond: ({ bytes }) => bytes.received,
  bytesSentPerSecond: ({ bytes }) => bytes.sent,
} as const satisfies Record<string, (numbers: BrokerNumbers) => number | null>;

type Numbers<Names> = { readonly [Name in keyof Names]: number | null };
type Counts = { readonly [Group in keyof typeof COUNT_TOPICS]: Numbers<(typeof COUNT_TOPICS)[Group]> };
type LoadAverages = Numbers<typeof LOAD_TOPICS>;
type BrokerRates = Numbers<typeof RATES>;

export interface BrokerNumbers extends Counts {
  readonly asOf: number;
  readonly brokerVersion: string | null;
  readonly uptimeSeconds: number | null;
  readonly subscriptions: number | null;
  readonly sharedSubscriptions: number | null;
  readonly retainedMessages: number | null;
  readonly load: { readonly one: LoadAverages; readonly five: LoadAverages; readonly fifteen: LoadAverages };
}

export interface BrokerMetrics extends BrokerNumbers {
  readonly rates: BrokerRates;
  /** Whether the broker is not connected, or has published no number for much longer than usual. */
  readonly isStale: boolean;
}

export function readNumbers(textOf: (topic: string) => string | null, asOf: number): BrokerNumbers {
  const read = (name: string) => textOf(`$SYS/broker/${name}`);
  const numbers = <Names extends Record<string, readonly string[]>>(topics: Names): Numbers<Names> =>
    mapped(topics, (names) => {
      const name = names.find((candidate) => read(candidate) !== null);
      return name === undefined ? null : countIn(read(name));
    });
  const load = (minutes: string): LoadAverages => mapped(LOAD_TOPICS, (topic) => numberIn(read(`${topic}/${minutes}`)));
  return {
    asOf,
    brokerVersion: read('version'),
    uptimeSeconds: countIn(read('uptime')?.replace(/ seconds$/, '') ?? null),
    clients: numbers(COUNT_TOPICS.clients),
    messages: numbers(COUNT_TOPICS.messages),
    publish: numbers(COUNT_TOPICS.publish),
    bytes: numbers(COUNT_TOPICS.bytes),
    heap: numbers(COUNT_TOPICS.heap),
    subscriptions: countIn(read('subscriptions/count')),
    sharedSubscriptions: countIn(read('shared_subscriptions/count')),
    retainedMessages: countIn(read('retained messages/count')),
    load: { one: load('1min'), five: load('5min'), fifteen: load('15min') },
  };
}

/** Changes of counters per second. `null` if a value is unknown, or the broker reset the counter or restarted. */
export function ratesBetween(previous: BrokerNumbers | null, now: BrokerNumbers): BrokerRates {
  const isRestarted =
    previous !== null && (previous.uptimeSeconds ?? 0) > (now.uptimeSeconds ?? Number.POSITIVE_INFINITY);
  return mapped(RATES, (counter) => {
    if (previous === null || isRestarted || now.asOf <= previous.asOf) return null;
    const [from, to] = [counter(previous), counter(now)];
    return from === null || to === null || to < from ? null : ((to - from) * 1_000) / (now.asOf - previous.asOf);
  });
}

function countIn(text: string | null): number | null {
  const value = numberIn(text);
  return Number.isInteger(value) ? value : null;
}

function numberIn(text: string | null): number | null {
  if (text === null || !/^\d+(\.\d+)?$/.test(text)) return null;
  const value = Number(text);
  return value <= Number.MAX_SAFE_INTEGER ? value : null;
}

function mapped<Table extends object, Value>(
  table: Table,
  convert: (entry: Table[keyof Table]) => Value,
): { readonly [Name in keyof Table]: Value } {
  const entries = (Object.keys(table) as (keyof Table)[]).map((name) => [name, convert(table[name])]);
  return Object.fromEntries(entries) as { [Name in keyof Table]: Value };
}
