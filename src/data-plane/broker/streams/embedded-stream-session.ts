import { ServiceError } from '../../../platform/errors.ts';
import { Listeners } from '../../../platform/listeners.ts';
import type { LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { StreamMessage, StreamSession } from '../../streams/model/stream-session.ts';
import { topicNameProblem } from '../connecting/topic-rules.ts';
import type { BrokerCore } from '../core/broker-core.ts';

const MAX_DEPTH = 50;

/** The session of streams. While it is paused, publishers of matching messages wait; streams may publish. */
export class EmbeddedStreamSession implements StreamSession {
  readonly #core: Pick<BrokerCore, 'tap' | 'publisher'>;
  readonly #subscriptions = new Set<Stop>();
  readonly #listeners = new Listeners<[status: LinkStatus]>();
  #depth = 0;
  status: LinkStatus = { state: 'CONNECTED', since: new Date().toISOString() };

  constructor(core: Pick<BrokerCore, 'tap' | 'publisher'>) {
    this.#core = core;
  }

  readonly onStatus = this.#listeners.add;

  async subscribe(filter: string, listener: (message: StreamMessage) => void): Promise<Stop> {
    if (this.#isClosed) throw closedError();
    if (filter.startsWith('$')) throw new ServiceError('BROKER_REJECTED', 'Topics that begin with $ feed no stream');
    const unlisten = this.#core.tap.listen(filter, listener);
    const stop = () => {
      this.#subscriptions.delete(stop);
      unlisten();
    };
    this.#subscriptions.add(stop);
    return stop;
  }

  publish(topic: string, payload: Buffer | string, qos: 0 | 1 | 2, done: (error: ServiceError | null) => void): void {
    if (this.#isClosed) {
      done(closedError());
      return;
    }
    const problem = topicNameProblem(topic);
    if (problem !== null) {
      done(new ServiceError('BROKER_REJECTED', `The topic ${problem}`));
      return;
    }
    const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
    const live = { topic, payload: bytes, qos, retain: false, properties: undefined };
    this.#nested(() =>
      this.#core.publisher.send(null, live, (error) => {
        // If the journal cannot be written, the broker shuts down.
        this.#nested(() => done(error && closedError(error)));
      }),
    );
  }

  pause(): void {
    if (!this.#isClosed) this.#core.tap.pause();
  }

  resume(): void {
    this.#core.tap.resume();
  }

  close(): void {
    if (this.#isClosed) return;
    this.status = { state: 'CLOSED', since: new Date().toISOString() };
    for (const stop of [...this.#subscriptions]) stop();
    this.#core.tap.resume();
    this.#listeners.notify(this.status);
  }

  /** A publish may trigger thousands of others. Beyond `MAX_DEPTH` they continue in the next iteration. */
  #nested(work: () => void): void {
    if (this.#depth >= MAX_DEPTH) {
      setImmediate(() => this.#nested(work));
      return;
    }
    this.#depth += 1;
    work();
    this.#depth -= 1;
  }

  get #isClosed(): boolean {
    return this.status.state === 'CLOSED';
  }
}

const closedError = (cause?: unknown) =>
  new ServiceError('BROKER_UNREACHABLE', 'The broker is stopped', cause === undefined ? {} : { cause });
