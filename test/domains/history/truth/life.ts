import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../clients/truth/random.ts';
import { dialMqtt, type RawClient } from '../../clients/truth/raw-client.ts';

/** What a client did, or what happened to it. Times in epoch milliseconds. */
export interface Action {
  /** The events that describe it: DISCONNECTED by its reason, others by their kind. */
  readonly events: readonly string[];
  /** It happened between these times. */
  readonly from: number;
  readonly to: number;
  /** Whether it certainly happened. */
  readonly isSure: boolean;
}

interface LifeOptions {
  readonly clientId: string;
  readonly port: number;
  readonly random: Random;
  /** Longest pause between two actions, in milliseconds. */
  readonly maxPauseMs: number;
  /** Resolves when a CONNECT may be sent. */
  readonly gate: { through<T>(work: () => Promise<T>): Promise<T> };
}

/** A broker may notice that a client vanished only when it connects again. */
const VANISHED = ['CONNECTION_CLOSED', 'TAKEN_OVER'];
const ANY_END = [...VANISHED, 'CLIENT_DISCONNECTED', 'BROKER_RESTARTED', 'OTHER'];
/** A broker notices a closed socket, and a client the end of a broker, within this time. */
const NOTICED_MS = 1_000;

/** A client that connects, disconnects, vanishes and takes over its own connection at random, and notes what it did. */
export class Life {
  readonly clientId: string;
  readonly actions: Action[] = [];
  readonly #options: LifeOptions;
  #client: RawClient | null = null;

  constructor(options: LifeOptions) {
    this.#options = options;
    this.clientId = options.clientId;
  }

  /** Lives until the signal, and then disconnects. */
  async run(over: AbortSignal): Promise<void> {
    const { random, maxPauseMs } = this.#options;
    while (!over.aborted) {
      await delay(random.below(maxPauseMs), undefined, { signal: over }).catch(() => undefined);
      if (!over.aborted) await this.#step();
    }
    if (this.#client !== null) await this.#end(this.#client, 'DISCONNECT');
  }

  async #step(): Promise<void> {
    const { random, gate } = this.#options;
    const dice = random.below(5);
    if (this.#client === null) await gate.through(() => this.#connect());
    else if (dice === 0) await gate.through(() => this.#takeOver());
    else await this.#end(this.#client, dice < 3 ? 'DISCONNECT' : 'VANISH');
  }

  async #connect(): Promise<void> {
    const from = Date.now();
    const client = await this.#dial();
    if (client !== null) this.#connected(client, from);
    else this.#perhapsConnected(from);
  }

  async #takeOver(): Promise<void> {
    const from = Date.now();
    const client = this.#client;
    // It may have ended meanwhile.
    if (client === null) return;
    this.#client = null;
    const next = await this.#dial();
    if (next === null) client.destroy();
    await client.closed;
    this.#note(next === null ? ANY_END : ['TAKEN_OVER'], from);
    if (next === null) this.#perhapsConnected(from);
    else this.#connected(next, from);
  }

  async #end(client: RawClient, how: 'DISCONNECT' | 'VANISH'): Promise<void> {
    const from = Date.now();
    this.#client = null;
    if (how === 'DISCONNECT') {
      await client.disconnect();
      this.#note(['CLIENT_DISCONNECTED'], from);
      return;
    }
    client.destroy();
    await client.closed;
    this.#note(VANISHED, from, from + NOTICED_MS);
  }

  #connected(client: RawClient, from: number): void {
    this.#note(['CONNECTED'], from);
    this.#client = client;
    void client.closed.then(() => {
      if (this.#client !== client) return;
      this.#client = null;
      this.#note(ANY_END, Date.now() - NOTICED_MS);
    });
  }

  #perhapsConnected(from: number): void {
    this.#note(['CONNECTED'], from, Date.now(), false);
    this.#note(ANY_END, from, Date.now() + NOTICED_MS, false);
  }

  #note(events: readonly string[], from: number, to = Date.now(), isSure = true): void {
    this.actions.push({ events, from, to, isSure });
  }

  /** `null` if the broker did not accept the client, which it may have admitted nevertheless. */
  #dial(): Promise<RawClient | null> {
    const { clientId, port, random } = this.#options;
    const protocolVersion = random.pick([4, 5] as const);
    const options = { port, clientId, account: null, protocolVersion, clean: random.chance(0.5), keepalive: 3_600 };
    return dialMqtt({ ...options, expirySeconds: 3_600 }).catch(() => null);
  }
}
