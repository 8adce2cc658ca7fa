import { setTimeout as delay } from 'node:timers/promises';
import type { Gate } from './gate.ts';
import type { Random } from './random.ts';
import { dialMqtt, type RawClient } from './raw-client.ts';

/** The true state of a client that is connected or has a session. */
export interface TrueClient {
  readonly clientId: string;
  readonly connected: boolean;
  readonly username: string | null;
  readonly protocolVersion: 4 | 5;
  readonly keepalive: number;
  /** Null if Clean Start and session expiry of MQTT 5 differ, so that "clean session" is not defined. */
  readonly cleanSession: boolean | null;
  /** Filters in order, with granted QoS. */
  readonly subscriptions: readonly (readonly [filter: string, qos: number])[];
}

interface MemberOptions {
  readonly port: number;
  readonly clientId: string;
  /** Null: without a user name. */
  readonly accounts: readonly ({ readonly username: string; readonly password: string } | null)[];
  /** Whether also to use Clean Start with a persistent session, and the reverse (MQTT 5). */
  readonly mixesExpiry: boolean;
  /** Between two steps, milliseconds, at most. */
  readonly maxPauseMs: number;
  readonly random: Random;
  /** CONNECTs at a time: a broker ends connections whose CONNECT waits too long behind others. */
  readonly gate: Gate;
}

/** A year: no session ends in a test by itself. */
const KEPT_SECONDS = 31_536_000;

interface Present {
  readonly client: RawClient;
  readonly username: string | null;
  readonly protocolVersion: 4 | 5;
  readonly keepalive: number;
  readonly cleanSession: boolean | null;
  /** The session outlives the connection. */
  readonly isKept: boolean;
}

/** A client that connects, subscribes and disconnects at random, and knows its true state. */
export class CrowdMember {
  readonly #options: MemberOptions;
  #present: Present | null = null;
  /** The last connection, which describes an offline session. */
  #last: Present | null = null;
  /** Null: there is no session. */
  #subscriptions: Map<string, number> | null = null;
  /** Its last actions, for the analysis of a failure. */
  readonly #history: string[] = [];
  steps = 0;

  constructor(options: MemberOptions) {
    this.#options = options;
  }

  /** Runs until `deadline` (performance.now()). Errors: the broker violated the protocol. */
  async run(deadline: number): Promise<void> {
    const { random, maxPauseMs } = this.#options;
    while (performance.now() < deadline) {
      await delay(random.below(maxPauseMs));
      await this.#step();
      this.steps += 1;
    }
  }

  /** Null if the broker has neither connection nor session. */
  truth(): TrueClient | null {
    const about = this.#present ?? this.#last;
    if (!about || !this.#subscriptions) return null;
    const { username, protocolVersion, keepalive, cleanSession } = about;
    return {
      clientId: this.#options.clientId,
      connected: this.#present !== null,
      username,
      protocolVersion,
      keepalive,
      cleanSession,
      subscriptions: [...this.#subscriptions].sort(([a], [b]) => (a < b ? -1 : 1)),
    };
  }

  leave(): void {
    this.#present?.client.destroy();
  }

  async #step(): Promise<void> {
    const { random } = this.#options;
    const present = this.#present;
    if (!present) return this.#connect();
    const dice = random.below(100);
    if (dice < 40) return this.#subscribe(present);
    if (dice < 60) return this.#unsubscribe(present);
    if (dice < 75) {
      this.#history.push('DISCONNECT');
      await present.client.disconnect();
      return this.#gone();
    }
    if (dice < 88) {
      this.#history.push('destroyed');
      present.client.destroy();
      return this.#gone();
    }
    this.#history.push('taken over by');
    await this.#connect();
    await present.client.closed;
  }

  async #connect(): Promise<void> {
    const { random, port, clientId, accounts, mixesExpiry, gate } = this.#options;
    const account = random.pick(accounts);
    const protocolVersion = random.pick([4, 5] as const);
    const clean = random.chance(0.5);
    const isMixed = protocolVersion === 5 && mixesExpiry && random.chance(0.3);
    const isKept = isMixed ? clean : !clean;
    // Long enough never to be exceeded: the client sends no PINGREQ.
    const keepalive = 600 + random.below(600);
    // The end of a connection, also by a takeover, ends a session without expiry.
    if (this.#present && !this.#present.isKept) this.#subscriptions = null;
    const expected = !clean && this.#subscriptions !== null;
    this.#history.push(`v${protocolVersion} ${clean ? 'clean' : 'resuming'}, to be ${isKept ? 'kept' : 'ended'}`);
    const client = await gate.through(() =>
      dialMqtt({
        port,
        clientId,
        account,
        protocolVersion,
        clean,
        expirySeconds: isKept ? KEPT_SECONDS : 0,
        keepalive,
      }),
    );
    // The embedded broker calls a session without subscriptions new.
    const hasSession = client.sessionPresent || (expected && this.#subscriptions?.size === 0);
    if (hasSession !== expected) {
      const history = this.#history.slice(-8).join('; ');
      throw new Error(`"${clientId}": session present is ${client.sessionPresent}, not ${expected} after ${history}`);
    }
    if (!expected) this.#subscriptions = new Map();
    const cleanSession = isMixed ? null : clean;
    const username = account?.username ?? null;
    this.#present = { client, username, protocolVersion, keepalive, cleanSession, isKept };
    this.#last = this.#present;
  }

  async #subscribe({ client }: Present): Promise<void> {
    const { random, clientId } = this.#options;
    const filter = random.pick([`own/${random.below(4)}`, 'plant/+/state', 'with blank 1 in it', 'größe/#']);
    const qos = random.pick([0, 1, 2] as const);
    const granted = await client.subscribe(filter, qos);
    if (granted !== qos) throw new Error(`"${clientId}" was granted ${granted} for ${filter}`);
    this.#subscriptions?.set(filter, granted);
  }

  async #unsubscribe({ client }: Present): Promise<void> {
    const { random } = this.#options;
    const filter = random.pick([...(this.#subscriptions?.keys() ?? []), 'never/subscribed']);
    await client.unsubscribe(filter);
    this.#subscriptions?.delete(filter);
  }

  #gone(): void {
    if (!this.#present?.isKept) this.#subscriptions = null;
    this.#present = null;
  }
}
