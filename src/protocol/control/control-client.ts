import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../platform/errors.ts';
import { loopClock } from '../../platform/scheduling/loop-clock.ts';
import { isWithinBounds, MAX_UNREQUESTED_VALUES } from '../../platform/text/json-bounds.ts';
import type { BrokerMessage, BrokerSession, Stop } from '../mqtt/broker-session.ts';
import { unreachable, whenConnected } from '../mqtt/when-connected.ts';
import { type ControlApi, type ControlEvent, otherResponseTopic, requestTopic, responseTopic } from './envelope.ts';
import type { Fields } from './fields.ts';
import { isRead, payloadsOf, type Queued, withoutNulls } from './payloads.ts';
import type { ControlCall } from './plugin.ts';
import { refusalOf } from './refusals.ts';
import { isStructuralError, parseResponsePayload } from './response-payload.ts';

interface CallOptions {
  readonly timeoutMs?: number;
  /** Whether to send with QoS 1 (see ControlClient). Default: false. */
  readonly probe?: boolean;
}

const MAX_PENDING = 10_000;

interface Pending extends Queued {
  readonly api: ControlApi;
  readonly fields: Fields;
  readonly correlationData: string;
  readonly probe: boolean;
  readonly resolve: (data: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly timeoutMs: number;
  cancelTimeout: () => void;
  sent: boolean;
  /** Error of a request that the broker could not read meanwhile, perhaps one of another client. */
  structuralError: string | null;
}

interface ControlClientOptions {
  readonly timeoutMs: number;
  /** Called when a broker executed a probe whose time was over. */
  readonly onLateProbe?: (api: ControlApi) => void;
}

/**
 * Sends commands to the `$CONTROL` topics of a broker and receives the responses.
 *
 * Commands of one event loop iteration to one API are batched in one payload, in order. Every subscriber gets every
 * response, so responses are matched by unique correlation data. Requests have QoS 0: a broker without TCP_NODELAY
 * takes 40 ms to acknowledge QoS 1. `probe` uses QoS 1, because MQTT 5 reports a refused publish in PUBACK.
 *
 * Bounds: MAX_PENDING commands without a response, further ones are refused with BROKER_TIMEOUT; payloads as in
 * payloads.ts. An error without correlation data, for a request that the broker cannot read, is added to the error of
 * commands that then receive no response. Errors: see ControlCaller. If a write gets no response, `info.outcome` is
 * 'unknown': the broker may have executed it.
 */
export class ControlClient {
  readonly #session: BrokerSession;
  readonly #timeoutMs: number;
  readonly #prefix = randomBytes(9).toString('base64url');
  readonly #pending = new Map<string, Pending>();
  readonly #onLateProbe: (api: ControlApi) => void;
  /** Correlation data of the last probe without a response in time. */
  readonly #silentProbes = new Map<ControlApi, string>();
  readonly #queues = new Map<ControlApi, Pending[]>();
  readonly #responses = new Map<ControlApi, Promise<Stop>>();
  readonly #listeners = new Map<ControlApi, Set<(event: ControlEvent) => void>>();
  readonly #foreignListeners = new Map<ControlApi, Set<(commands: readonly string[]) => void>>();
  readonly #stopStatus: Stop;
  #counter = 0;
  #flushing = false;
  #closed = false;

  constructor(session: BrokerSession, { timeoutMs, onLateProbe = () => undefined }: ControlClientOptions) {
    this.#session = session;
    this.#timeoutMs = timeoutMs;
    this.#onLateProbe = onLateProbe;
    this.#stopStatus = session.onStatus(({ state }) => {
      if (state !== 'CONNECTED') this.#disconnected();
    });
  }

  async call(
    api: ControlApi,
    command: string,
    fields: Fields = {},
    { timeoutMs = this.#timeoutMs, probe = false }: CallOptions = {},
  ): Promise<unknown> {
    await this.#ready(api, 1, timeoutMs);
    return this.#enqueue(api, { command, fields }, { timeoutMs, probe, group: null });
  }

  async callAll(api: ControlApi, commands: readonly ControlCall[]): Promise<PromiseSettledResult<unknown>[]> {
    const timeoutMs = this.#timeoutMs;
    try {
      await this.#ready(api, commands.length, timeoutMs);
    } catch (reason) {
      return commands.map(() => ({ status: 'rejected', reason }));
    }
    const group = Symbol(api);
    const options = { timeoutMs, probe: false, group };
    return Promise.allSettled(commands.map((command) => this.#enqueue(api, command, options)));
  }

  /** Reports events on the response topic of an API, which is subscribed by the first call. */
  onEvent(api: ControlApi, listener: (event: ControlEvent) => void): Stop {
    const listeners = this.#listeners.get(api) ?? new Set();
    this.#listeners.set(api, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  onForeignAnswers(api: ControlApi, listener: (commands: readonly string[]) => void): Stop {
    const listeners = this.#foreignListeners.get(api) ?? new Set();
    this.#foreignListeners.set(api, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopStatus();
    this.#disconnected();
    this.#listeners.clear();
    this.#foreignListeners.clear();
    for (const response of this.#responses.values()) response.then((stop) => stop()).catch(() => undefined);
    this.#responses.clear();
  }

  /** Errors: BROKER_UNREACHABLE; BROKER_TIMEOUT if `count` further commands exceed MAX_PENDING. */
  async #ready(api: ControlApi, count: number, timeoutMs: number): Promise<void> {
    await whenConnected(this.#session, timeoutMs);
    await this.#listen(api);
    if (this.#pending.size + count > MAX_PENDING) {
      throw new ServiceError('BROKER_TIMEOUT', 'Too many commands wait for a response of the broker');
    }
  }

  #enqueue(
    api: ControlApi,
    { command, fields = {} }: ControlCall,
    options: Pick<Pending, 'timeoutMs' | 'probe' | 'group'>,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const correlationData = `${this.#prefix}-${(this.#counter++).toString(36)}`;
      const text = JSON.stringify({ ...withoutNulls(api, fields), command, correlationData });
      // A busy broker acknowledges a probe late, so the time of a probe begins with PUBACK, see `#send`.
      const waitMs = options.probe ? Math.max(options.timeoutMs, this.#timeoutMs) : options.timeoutMs;
      const cancelTimeout = this.#timeout(correlationData, waitMs);
      const request = { ...options, api, command, fields, correlationData, text };
      const pending: Pending = { ...request, resolve, reject, cancelTimeout, sent: false, structuralError: null };
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
    if (this.#closed) return Promise.reject(unreachable({ state: 'CLOSED', since: new Date().toISOString() }));
    const known = this.#responses.get(api);
    if (known !== undefined) return known;
    const response = this.#subscribe(api);
    this.#responses.set(api, response);
    // If the broker refused or the connection was lost, the next call subscribes again.
    response.catch(() => this.#responses.delete(api));
    return response;
  }

  async #subscribe(api: ControlApi): Promise<Stop> {
    const receive = ({ payload }: BrokerMessage) => this.#received(api, payload);
    const other = otherResponseTopic(api);
    const [stop, stopOther] = await Promise.all([
      this.#session.subscribe(responseTopic(api), receive),
      other === null ? null : this.#session.subscribe(other, receive).catch(() => null),
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
    const acknowledged = () => {
      for (const pending of live) {
        if (!pending.probe || !this.#pending.has(pending.correlationData)) continue;
        pending.cancelTimeout();
        pending.cancelTimeout = this.#timeout(pending.correlationData, pending.timeoutMs);
      }
    };
    this.#session.publish(requestTopic(api), text, { qos }).then(acknowledged, (error: unknown) => {
      // A missing PUBACK proves nothing while responses may still arrive.
      if (error instanceof ServiceError && error.code === 'BROKER_TIMEOUT' && qos === 1) return;
      for (const { correlationData, reject } of live) if (this.#take(correlationData)) reject(error);
    });
  }

  #received(api: ControlApi, bytes: Uint8Array): void {
    if (!isWithinBounds(bytes, this.#isRequested(api, bytes) ? undefined : MAX_UNREQUESTED_VALUES)) {
      // The payload may be the response to any command of another client.
      this.#reportForeign(api, ['']);
      return;
    }
    const { responses, events, error } = parseResponsePayload(bytes);
    const foreign: string[] = [];
    for (const response of responses) {
      if (isStructuralError(response)) {
        for (const pending of this.#pending.values()) {
          if (pending.api === api && pending.sent) pending.structuralError ??= response.error;
        }
        continue;
      }
      const pending = response.correlationData === null ? undefined : this.#pending.get(response.correlationData);
      if (pending?.api === api) this.#settle(pending, response.data, response.error);
      else if (this.#isLateProbe(api, response.correlationData)) {
        if (response.error === null) this.#onLateProbe(api);
      } else foreign.push(response.command);
    }
    if (foreign.length > 0) this.#reportForeign(api, foreign);
    if (error !== null) {
      for (const pending of [...this.#pending.values()]) {
        if (pending.api === api && pending.sent) this.#settle(pending, undefined, error);
      }
    }
    for (const event of events) {
      for (const listener of this.#listeners.get(api) ?? []) listener(event);
    }
  }

  #isLateProbe(api: ControlApi, correlationData: string | null): boolean {
    if (correlationData === null || this.#silentProbes.get(api) !== correlationData) return false;
    return this.#silentProbes.delete(api);
  }

  #reportForeign(api: ControlApi, commands: readonly string[]): void {
    for (const listener of this.#foreignListeners.get(api) ?? []) listener(commands);
  }

  /** Whether a command waits for a response, and these bytes have correlation data of this client. */
  #isRequested(api: ControlApi, bytes: Uint8Array): boolean {
    if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(this.#prefix)) return false;
    for (const pending of this.#pending.values()) if (pending.api === api && pending.sent) return true;
    return false;
  }

  #settle(pending: Pending, data: unknown, error: string | null): void {
    this.#take(pending.correlationData);
    if (error === null) pending.resolve(data);
    else pending.reject(refusalOf(pending.api, pending.command, error, pending.fields));
  }

  #take(correlationData: string): Pending | undefined {
    const pending = this.#pending.get(correlationData);
    if (!pending) return undefined;
    this.#pending.delete(correlationData);
    pending.cancelTimeout();
    return pending;
  }

  #timeout(correlationData: string, ms: number): () => void {
    return loopClock.after(ms, () => this.#timeOut(correlationData));
  }

  #timeOut(correlationData: string): void {
    const pending = this.#take(correlationData);
    if (!pending) return;
    const { api, command, probe, timeoutMs, structuralError: brokerError } = pending;
    if (probe) this.#silentProbes.set(api, correlationData);
    const text = `The broker did not respond to ${command} within ${timeoutMs} ms`;
    const info = outcomeOf(pending);
    pending.reject(
      brokerError === null
        ? new ServiceError('BROKER_TIMEOUT', text, { info })
        : new ServiceError('BROKER_TIMEOUT', `${text}, but refused a request: ${brokerError}`, {
            info: { ...info, brokerError },
          }),
    );
  }

  #disconnected(): void {
    const { message, code } = unreachable(this.#session.status);
    const failed = [...this.#pending.values()];
    this.#pending.clear();
    this.#silentProbes.clear();
    for (const pending of failed) {
      pending.cancelTimeout();
      pending.reject(new ServiceError(code, message, { info: outcomeOf(pending) }));
    }
  }
}

function outcomeOf({ api, command, sent }: Pending): Fields {
  if (!sent) return { api, command, outcome: 'not sent' };
  return isRead(command) ? { api, command } : { api, command, outcome: 'unknown' };
}
