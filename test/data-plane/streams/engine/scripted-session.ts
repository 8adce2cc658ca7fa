import type { StreamMessage, StreamSession } from '../../../../src/data-plane/streams/model/stream-session.ts';
import { ServiceError } from '../../../../src/platform/errors.ts';
import type { LinkStatus, Stop } from '../../../../src/protocol/mqtt/broker-session.ts';
import { filterMatches } from '../../../../src/protocol/mqtt/filter-match.ts';

/** A subscription that was asked for. */
interface Asked {
  readonly filter: string;
  /** The broker grants it, or refuses it. */
  answer(error?: ServiceError): void;
  /** The broker refuses it when the connection was made again. */
  refuseLater(error: ServiceError): void;
  isGranted: boolean;
  isStopped: boolean;
}

interface Published {
  readonly topic: string;
  readonly payload: string;
  readonly qos: 0 | 1 | 2;
  done(error?: ServiceError): void;
}

/** A broker whose responses and their times are set by the test, for orders of events that are rare with a real one. */
export class ScriptedSession implements StreamSession {
  status: LinkStatus = { state: 'CONNECTED', since: new Date(0).toISOString() };
  readonly asked: Asked[] = [];
  readonly published: Published[] = [];
  /** Answers at once; false: the test does. */
  grantsAtOnce = true;
  takesAtOnce = true;
  isPaused = false;
  /** How often it was paused. */
  pauses = 0;
  readonly #listeners = new Set<(status: LinkStatus) => void>();
  readonly #subscribed = new Map<Asked, (message: StreamMessage) => void>();

  /** Filters that are subscribed now. */
  get filters(): string[] {
    return [...this.#subscribed.keys()].map(({ filter }) => filter).sort();
  }

  onStatus(listener: (status: LinkStatus) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  subscribe(
    filter: string,
    listener: (message: StreamMessage) => void,
    options: { readonly onRefused?: (error: ServiceError) => void } = {},
  ): Promise<Stop> {
    return new Promise((resolve, reject) => {
      const asked: Asked = {
        filter,
        isGranted: false,
        isStopped: false,
        answer: (error) => {
          if (error) {
            reject(error);
            return;
          }
          asked.isGranted = true;
          this.#subscribed.set(asked, listener);
          resolve(() => {
            asked.isStopped = true;
            this.#subscribed.delete(asked);
          });
        },
        refuseLater: (error) => options.onRefused?.(error),
      };
      this.asked.push(asked);
      if (this.grantsAtOnce) asked.answer();
    });
  }

  publish(topic: string, payload: Buffer | string, qos: 0 | 1 | 2, done: (error: ServiceError | null) => void): void {
    this.published.push({ topic, payload: String(payload), qos, done: (error) => done(error ?? null) });
    if (this.takesAtOnce) done(this.status.state === 'CONNECTED' ? null : lostConnection());
  }

  pause(): void {
    this.isPaused = true;
    this.pauses += 1;
  }

  resume(): void {
    this.isPaused = false;
  }

  /** How many listeners got it, and whether all who held it let it go. */
  deliver(topic: string, payload: string, qos: 0 | 1 | 2 = 1): { readonly listeners: number; isReleased(): boolean } {
    let holds = 0;
    let listeners = 0;
    const hold = () => {
      holds += 1;
      return () => {
        holds -= 1;
      };
    };
    for (const [{ filter }, listener] of [...this.#subscribed]) {
      if (!filterMatches(filter, topic)) continue;
      listeners += 1;
      listener({ topic, payload: Buffer.from(payload), qos, hold });
    }
    return { listeners, isReleased: () => holds === 0 };
  }

  lose(): void {
    this.#become({ state: 'UNREACHABLE', since: new Date().toISOString(), lastError: 'The connection was lost' });
  }

  connect(): void {
    this.#become({ state: 'CONNECTED', since: new Date().toISOString() });
  }

  #become(status: LinkStatus): void {
    this.status = status;
    for (const listener of [...this.#listeners]) listener(status);
  }
}

export const lostConnection = (): ServiceError => new ServiceError('BROKER_UNREACHABLE', 'The connection was lost');
export const notAllowed = (): ServiceError => new ServiceError('NOT_ALLOWED', 'Not authorized');
