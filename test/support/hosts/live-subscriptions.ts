import { onTestFinished } from 'vitest';
import WebSocket from 'ws';

/** A subscription of the pool. Its field is named `live` and selects `kind`, `sequence` and `partsLeft`. */
interface LiveSubscription {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** How a subscription started after its socket was lost. */
interface Restarts {
  readonly resumed: number;
  readonly snapshots: number;
  /** From the loss of the socket to the first event; the longest, in milliseconds. */
  readonly longestMs: number;
}

interface Following {
  readonly subscription: LiveSubscription;
  /** The last `sequence` that is not 0. */
  after: number | null;
  /** Times by `performance.now()`. */
  heardAt: number;
  lostAt: number | null;
}

interface LiveEvent {
  readonly kind: 'SNAPSHOT' | 'CHANGE' | 'GAP' | 'RESUMED';
  readonly sequence: number;
}

type Message =
  | { readonly type: 'connection_ack' | 'pong' }
  | { readonly type: 'ping' }
  | { readonly type: 'next'; readonly id: string; readonly payload: Result }
  | { readonly type: 'error' | 'complete'; readonly id: string; readonly payload?: unknown };

interface Result {
  readonly data?: { readonly live: LiveEvent } | null;
  readonly errors?: unknown;
}

const RECONNECT_MS = 200;
/** From the connection attempt to the acknowledgement. */
const OPEN_MS = 5_000;

/**
 * Many subscriptions over few sockets (graphql-transport-ws). If a socket closes, or if one of its subscriptions ends,
 * the client connects again and passes the last `sequence` of each as `after`.
 */
export class LiveSubscriptions {
  readonly #sockets: readonly LiveSocket[];

  constructor(url: string, token: string, subscriptions: readonly LiveSubscription[], sockets: number) {
    const shares = Array.from({ length: sockets }, (_, nth) =>
      subscriptions.filter((_each, index) => index % sockets === nth),
    );
    this.#sockets = shares.map((share) => new LiveSocket(url, token, share));
    onTestFinished(() => {
      for (const socket of this.#sockets) socket.close();
    });
  }

  get restarts(): Restarts {
    const sum = (key: 'resumed' | 'snapshots') => this.#sockets.reduce((all, socket) => all + socket[key], 0);
    return {
      resumed: sum('resumed'),
      snapshots: sum('snapshots'),
      longestMs: Math.max(...this.#sockets.map(({ longestMs }) => longestMs)),
    };
  }

  /** Reasons why subscriptions ended before their socket did, with their numbers. */
  get endings(): ReadonlyMap<string, number> {
    const all = new Map<string, number>();
    for (const { endings } of this.#sockets)
      for (const [reason, count] of endings) all.set(reason, (all.get(reason) ?? 0) + count);
    return all;
  }

  /** Subscriptions without an event since a time by `performance.now()`. */
  silentSince(time: number): number {
    return this.#sockets.reduce((sum, socket) => sum + socket.silentSince(time), 0);
  }

  /** The longest time without an event since the last call, of all subscriptions, in milliseconds. */
  takeLongestSilence(): number {
    return Math.max(...this.#sockets.map((socket) => socket.takeLongestSilence()));
  }
}

class LiveSocket {
  resumed = 0;
  snapshots = 0;
  longestMs = 0;
  readonly endings = new Map<string, number>();
  readonly #url: string;
  readonly #token: string;
  readonly #followings: readonly Following[];
  #longestSilence = 0;
  #socket: WebSocket | null = null;
  #isClosed = false;

  constructor(url: string, token: string, subscriptions: readonly LiveSubscription[]) {
    this.#url = `${url.replace('http', 'ws')}/graphql`;
    this.#token = token;
    const heardAt = performance.now();
    this.#followings = subscriptions.map((subscription) => ({ subscription, after: null, heardAt, lostAt: null }));
    this.#connect();
  }

  silentSince(time: number): number {
    return this.#followings.filter(({ heardAt }) => heardAt < time).length;
  }

  takeLongestSilence(): number {
    const now = performance.now();
    const longest = Math.max(this.#longestSilence, ...this.#followings.map(({ heardAt }) => now - heardAt));
    this.#longestSilence = 0;
    return longest;
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.terminate();
  }

  #connect(): void {
    if (this.#isClosed) return;
    const socket = new WebSocket(this.#url, 'graphql-transport-ws');
    this.#socket = socket;
    const send = (message: object) => socket.send(JSON.stringify(message));
    const timer = setTimeout(() => socket.terminate(), OPEN_MS);
    socket.on('error', () => undefined);
    socket.on('open', () => send({ type: 'connection_init', payload: { authorization: `Bearer ${this.#token}` } }));
    socket.on('message', (data) => {
      const message: Message = JSON.parse(String(data));
      if (message.type === 'ping') send({ type: 'pong' });
      if (message.type === 'connection_ack') {
        clearTimeout(timer);
        for (const [id, { subscription, after }] of this.#followings.entries()) {
          const variables = { ...subscription.variables, after };
          send({ id: String(id), type: 'subscribe', payload: { query: subscription.query, variables } });
        }
      }
      if (message.type === 'next') this.#received(socket, Number(message.id), message.payload);
      if (message.type === 'error' || message.type === 'complete') {
        this.#ended(socket, message.type === 'error' ? message.payload : message.type);
      }
    });
    socket.on('close', () => {
      clearTimeout(timer);
      const now = performance.now();
      for (const following of this.#followings) following.lostAt ??= now;
      setTimeout(() => this.#connect(), RECONNECT_MS);
    });
  }

  #received(socket: WebSocket, index: number, { data, errors }: Result): void {
    const following = this.#followings[index];
    const event = data?.live;
    if (following === undefined || event === undefined) {
      this.#ended(socket, errors);
      return;
    }
    const now = performance.now();
    this.#longestSilence = Math.max(this.#longestSilence, now - following.heardAt);
    following.heardAt = now;
    if (event.sequence !== 0) following.after = event.sequence;
    if (following.lostAt === null) return;
    if (event.kind === 'RESUMED') this.resumed += 1;
    if (event.kind === 'SNAPSHOT') this.snapshots += 1;
    this.longestMs = Math.max(this.longestMs, now - following.lostAt);
    following.lostAt = null;
  }

  #ended(socket: WebSocket, reason: unknown): void {
    // Messages that arrived before the end are still read.
    if (this.#isClosed || socket.readyState !== WebSocket.OPEN) return;
    const text = JSON.stringify(reason);
    const code = /"code":"(\w+)"/.exec(text)?.[1] ?? text;
    this.endings.set(code, (this.endings.get(code) ?? 0) + 1);
    socket.terminate();
  }
}
