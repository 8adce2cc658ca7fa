import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../platform/errors.ts';
import type { BrokerMessage, BrokerSession, Stop } from '../mqtt/broker-session.ts';
import { unreachable, whenConnected } from '../mqtt/when-connected.ts';
import { type ControlApi, type ControlEvent, otherResponseTopic, requestTopic, responseTopic } from './envelope.ts';
import { isRead, payloadsOf, type Queued } from './payloads.ts';
import type { ControlCall } from './plugin.ts';
import { refusalOf } from './refusals.ts';
import { isStructuralError, parseResponsePayload } from './response-payload.ts';
import { withoutNulls } from './without-nulls.ts';

/**
 * Asks a broker over its `$CONTROL` topics.
 *
 * Commands of one turn of the event loop to one API ride in one payload, in their order. An answer is known by its correlation
 * data, which is unique among all processes, because the broker tells every answer to every subscriber. QoS 0: a broker that
 * does not set TCP no-delay takes 40 ms to acknowledge QoS 1; `probe` alone uses QoS 1, where MQTT 5 tells a refused publish.
 *
 * Bounds: MAX_PENDING commands without answer (more are refused with BROKER_TIMEOUT), payloads as in payloads.ts.
 * Refusals of a request as a whole name nobody, and every administrator is told those of all others: they settle nothing, and are
 * told by what then gets no answer.
 * Answers that nobody waits for are told to `onForeignAnswers` by the names of their commands and dropped.
 * Errors: as ControlCaller says. When the connection ends or the time is over while a write waits, `info.outcome` is 'unknown':
 * the broker may have done it.
 */
export interface ControlClientOptions {
  /** Longest wait for one answer. */
  readonly timeoutMs: number;
}

export interface CallOptions {
  readonly timeoutMs?: number;
  /** Sends at QoS 1, so that an MQTT 5 broker tells when the publish is not allowed. */
  readonly probe?: boolean;
}

const MAX_PENDING = 10_000;

interface Pending extends Queued {
  readonly api: ControlApi;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly correlationData: string;
  readonly probe: boolean;
  readonly resolve: (data: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
  sent: boolean;
  /** A request that could not be read was refused meanwhile. It may have been this one, or anybody's. */
  refusalNearby: string | null;
}

export class ControlClient {
  readonly #session: BrokerSession;
  readonly #timeoutMs: number;
  readonly #prefix = randomBytes(9).toString('base64url');
  /** By correlation data, oldest first. */
  readonly #pending = new Map<string, Pending>();
  readonly #queues = new Map<ControlApi, Pending[]>();
  readonly #responses = new Map<ControlApi, Promise<Stop>>();
  readonly #listeners = new Map<ControlApi, Set<(event: ControlEvent) => void>>();
  readonly #foreignListeners = new Map<ControlApi, Set<(commands: readonly string[]) => void>>();
  readonly #stopStatus: Stop;
  #counter = 0;
  #flushing = false;
  #closed = false;

  constructor(session: BrokerSession, { timeoutMs }: ControlClientOptions) {
    this.#session = session;
    this.#timeoutMs = timeoutMs;
    this.#stopStatus = session.onStatus(({ state }) => {
      if (state !== 'CONNECTED') this.#disconnected();
    });
  }

  async call(
    api: ControlApi,
    command: string,
    fields: Readonly<Record<string, unknown>> = {},
    { timeoutMs = this.#timeoutMs, probe = false }: CallOptions = {},
  ): Promise<unknown> {
    await this.#ready(api, 1, timeoutMs);
    return this.#enqueue(api, { command, fields }, { timeoutMs, probe, group: null });
  }

  /** As ControlCaller says. */
  async callAll(
    api: ControlApi,
    commands: readonly ControlCall[],
    { timeoutMs = this.#timeoutMs }: { readonly timeoutMs?: number } = {},
  ): Promise<PromiseSettledResult<unknown>[]> {
    try {
      await this.#ready(api, commands.length, timeoutMs);
    } catch (reason) {
      return commands.map(() => ({ status: 'rejected', reason }));
    }
    const group = Symbol(api);
    const options = { timeoutMs, probe: false, group };
    return Promise.allSettled(commands.map((command) => this.#enqueue(api, command, options)));
  }

  /** Events that the broker tells on the response topic of an API, which is subscribed from the first call or `subscribe` on. */
  onEvent(api: ControlApi, listener: (event: ControlEvent) => void): Stop {
    const listeners = this.#listeners.get(api) ?? new Set();
    this.#listeners.set(api, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /**
   * The commands of answers that nobody here waits for: other administrators', and our own that were answered too late. Told once
   * the response topic is subscribed, which the first call does.
   */
  onForeignAnswers(api: ControlApi, listener: (commands: readonly string[]) => void): Stop {
    const listeners = this.#foreignListeners.get(api) ?? new Set();
    this.#foreignListeners.set(api, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Ends everything that waits. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopStatus();
    this.#disconnected();
    this.#listeners.clear();
    this.#foreignListeners.clear();
    for (const response of this.#responses.values()) {
      response.then(
        (stop) => stop(),
        () => undefined,
      );
    }
    this.#responses.clear();
  }

  /** Errors: BROKER_UNREACHABLE, BROKER_TIMEOUT where `count` more are too many; nothing was sent then. */
  async #ready(api: ControlApi, count: number, timeoutMs: number): Promise<void> {
    await whenConnected(this.#session, timeoutMs);
    await this.#listen(api);
    if (this.#pending.size + count > MAX_PENDING) {
      throw new ServiceError('BROKER_TIMEOUT', 'Too many commands wait for an answer of the broker');
    }
  }

  #enqueue(
    api: ControlApi,
    { command, fields = {} }: ControlCall,
    { timeoutMs, probe, group }: { readonly timeoutMs: number } & Pick<Pending, 'probe' | 'group'>,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const correlationData = `${this.#prefix}-${(this.#counter++).toString(36)}`;
      const text = JSON.stringify({ ...withoutNulls(api, fields), command, correlationData });
      const timer = setTimeout(() => this.#late(correlationData, timeoutMs), timeoutMs);
      const pending = {
        api,
        command,
        fields,
        correlationData,
        text,
        probe,
        group,
        resolve,
        reject,
        timer,
        sent: false,
        refusalNearby: null,
      };
      this.#pending.set(correlationData, pending);
      const queue = this.#queues.get(api);
      if (queue) queue.push(pending);
      else this.#queues.set(api, [pending]);
      if (this.#flushing) return;
      this.#flushing = true;
      setImmediate(() => this.#flush());
    });
  }

  #listen(api: ControlApi): Promise<Stop> {
    if (this.#closed) return Promise.reject(unreachable({ state: 'CLOSED', since: 0 }));
    const known = this.#responses.get(api);
    if (known !== undefined) return known;
    const response = this.#subscribe(api);
    this.#responses.set(api, response);
    // Not granted or not connected: the next call tries again.
    response.catch(() => this.#responses.delete(api));
    return response;
  }

  async #subscribe(api: ControlApi): Promise<Stop> {
    const hear = ({ payload }: BrokerMessage) => this.#received(api, payload);
    const other = otherResponseTopic(api);
    const [stop, stopOther] = await Promise.all([
      this.#session.subscribe(responseTopic(api), hear),
      // Not granted: the one that goes with the request topic is enough.
      other === null ? null : this.#session.subscribe(other, hear).catch(() => null),
    ]);
    return () => {
      stop();
      stopOther?.();
    };
  }

  #flush(): void {
    this.#flushing = false;
    for (const [api, queue] of this.#queues) {
      for (const payload of payloadsOf(queue)) this.#send(api, payload);
    }
    this.#queues.clear();
  }

  #send(api: ControlApi, payload: readonly Pending[]): void {
    const live = payload.filter(({ correlationData }) => this.#pending.has(correlationData));
    if (live.length === 0) return;
    for (const pending of live) pending.sent = true;
    const text = `{"commands":[${live.map((pending) => pending.text).join(',')}]}`;
    const qos = live.some(({ probe }) => probe) && this.#session.protocolVersion === 5 ? 1 : 0;
    this.#session.publish(requestTopic(api), text, { qos }).catch((error: unknown) => {
      // A missing PUBACK proves nothing while answers may still come.
      if (error instanceof ServiceError && error.code === 'BROKER_TIMEOUT' && qos === 1) return;
      for (const { correlationData, reject } of live) if (this.#take(correlationData)) reject(error);
    });
  }

  #received(api: ControlApi, bytes: Uint8Array): void {
    const { responses, events, error } = parseResponsePayload(bytes);
    const foreign: string[] = [];
    for (const answer of responses) {
      if (isStructuralError(answer)) {
        for (const pending of this.#pending.values()) {
          if (pending.api === api && pending.sent) pending.refusalNearby ??= answer.error;
        }
        continue;
      }
      const pending = answer.correlationData === null ? undefined : this.#pending.get(answer.correlationData);
      if (pending?.api === api) this.#settle(pending, answer.data, answer.error);
      else foreign.push(answer.command);
    }
    if (foreign.length > 0) for (const listener of this.#foreignListeners.get(api) ?? []) listener(foreign);
    if (error !== null) {
      for (const pending of [...this.#pending.values()]) {
        if (pending.api === api && pending.sent) this.#settle(pending, undefined, error);
      }
    }
    for (const event of events) {
      for (const listener of this.#listeners.get(api) ?? []) listener(event);
    }
  }

  #settle(
    { api, command, fields, correlationData, resolve, reject }: Pending,
    data: unknown,
    error: string | null,
  ): void {
    this.#take(correlationData);
    if (error === null) resolve(data);
    else reject(refusalOf(api, command, error, fields));
  }

  #take(correlationData: string): Pending | undefined {
    const pending = this.#pending.get(correlationData);
    if (!pending) return undefined;
    this.#pending.delete(correlationData);
    clearTimeout(pending.timer);
    return pending;
  }

  #late(correlationData: string, timeoutMs: number): void {
    const pending = this.#take(correlationData);
    if (!pending) return;
    const { command, refusalNearby } = pending;
    const [words, refusal] =
      refusalNearby === null ? ['', {}] : [`, but refused a request: ${refusalNearby}`, { brokerError: refusalNearby }];
    pending.reject(
      new ServiceError('BROKER_TIMEOUT', `The broker did not answer ${command} in ${timeoutMs} ms${words}`, {
        info: { ...outcomeOf(pending), ...refusal },
      }),
    );
  }

  #disconnected(): void {
    const { message, code } = unreachable(this.#session.status);
    const left = [...this.#pending.values()];
    this.#pending.clear();
    for (const pending of left) {
      clearTimeout(pending.timer);
      pending.reject(new ServiceError(code, message, { info: outcomeOf(pending) }));
    }
  }
}

/** What is known of a command whose answer never came. */
function outcomeOf({ api, command, sent }: Pending): Readonly<Record<string, unknown>> {
  if (!sent) return { api, command, outcome: 'not sent' };
  return isRead(command) ? { api, command } : { api, command, outcome: 'unknown' };
}
