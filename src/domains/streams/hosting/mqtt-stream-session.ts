import { ServiceError } from '../../../platform/errors.ts';
import { BrokerLink, type BrokerLinkOptions } from '../../../protocol/mqtt/broker-link.ts';
import type { BrokerMessage, LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { MESSAGE_LINK_LIMITS } from '../../../protocol/mqtt/packet-limits.ts';
import type { ListenOptions, StreamMessage, StreamSession } from '../model/stream-session.ts';

/** How the streams of one broker reach it. */
export interface StreamSessionOptions
  extends Omit<BrokerLinkOptions, 'isLasting' | 'receiveMaximum' | 'clientId' | 'isBoundedByCaller'> {
  /**
   * Of the connection that reads; that which publishes adds `-out`. The same in each process that runs the broker's
   * streams.
   */
  readonly clientId: string;
  /** Default 4000. */
  readonly receiveMaximum?: number;
}

/** What the gateway was away for at most, for messages to wait for it (MQTT 5; with 3.1.1 the broker decides). */
const SESSION_EXPIRY_SECONDS = 24 * 60 * 60;
/**
 * A broker keeps messages of QoS 1 and 2 beyond these in a queue that may be short: 1,000 in Mosquitto, which then
 * drops them.
 */
const RECEIVE_MAXIMUM = 4_000;

/**
 * Two connections to one broker. One reads, in a session that outlives the process, and acknowledges what is released;
 * the other one publishes in a clean session, so that answers to what is published never wait behind messages that are
 * not read yet, and nothing half published stays with the broker. The first is up only while the second is: what could
 * not be published comes again.
 */
export class MqttStreamSession implements StreamSession {
  readonly #reading: BrokerLink;
  readonly #publishing: BrokerLink;
  readonly #listeners = new Set<(status: LinkStatus) => void>();
  #status: LinkStatus;

  constructor({ clientId, receiveMaximum = RECEIVE_MAXIMUM, ...options }: StreamSessionOptions) {
    this.#publishing = new BrokerLink({
      ...options,
      clientId: `${clientId}-out`,
      sessionExpirySeconds: 0,
      // By the messages that the engine has not released; one that was refused would come again, and be refused again.
      isBoundedByCaller: true,
    });
    this.#reading = new BrokerLink({
      sessionExpirySeconds: SESSION_EXPIRY_SECONDS,
      limits: MESSAGE_LINK_LIMITS,
      ...options,
      clientId,
      receiveMaximum,
      isLasting: true,
    });
    this.#status = this.#publishing.status;
    this.#publishing.onStatus((status) => {
      if (status.state === 'CONNECTED') this.#reading.open();
      else this.#reading.suspend(status.lastError ?? 'Not connected yet');
      this.#tell();
    });
    this.#reading.onStatus(() => this.#tell());
  }

  get status(): LinkStatus {
    return this.#status;
  }

  /** Errors: INVALID settings. */
  open(): void {
    this.#publishing.open();
  }

  onStatus(listener: (status: LinkStatus) => void): Stop {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  subscribe(filter: string, listener: (message: StreamMessage) => void, options: ListenOptions = {}): Promise<Stop> {
    // A link that lasts tells of messages that can be held.
    const told = (message: BrokerMessage) => listener(message as BrokerMessage & StreamMessage);
    return this.#reading.subscribe(filter, told, { ...options, qos: 2, retained: false });
  }

  publish(topic: string, payload: Buffer | string, qos: 0 | 1 | 2, done: (error: ServiceError | null) => void): void {
    this.#publishing.send(topic, payload, { qos }, (error) => {
      if (error?.code !== 'BROKER_TIMEOUT') {
        done(error);
        return;
      }
      // Whether it was taken cannot be known: the end of the connection lets all that has no answer come again.
      done(new ServiceError('BROKER_UNREACHABLE', error.message, { cause: error }));
      this.#publishing.restart(error.message);
    });
  }

  pause(): void {
    this.#reading.pause();
  }

  resume(): void {
    this.#reading.resume();
  }

  /**
   * `discard`: the broker forgets the session, if it can be reached; otherwise what is not acknowledged waits for the
   * next one.
   */
  async close({ discard }: { readonly discard: boolean }): Promise<void> {
    this.#listeners.clear();
    await Promise.all([this.#reading.close({ keepSession: !discard }), this.#publishing.close()]);
  }

  #tell(): void {
    const publishing = this.#publishing.status;
    const status = publishing.state === 'CONNECTED' ? this.#reading.status : publishing;
    const isNews = status.state !== this.#status.state;
    this.#status = status;
    if (!isNews) return;
    for (const listener of [...this.#listeners]) if (this.#listeners.has(listener)) listener(status);
  }
}
