import type { ServiceError } from '../../../platform/errors.ts';
import { Listeners } from '../../../platform/listeners.ts';
import { BrokerLink } from '../../../protocol/mqtt/broker-link.ts';
import type { BrokerMessage, LinkStatus, Stop } from '../../../protocol/mqtt/broker-session.ts';
import { type BrokerLinkOptions, LASTING_LINK } from '../../../protocol/mqtt/link-options.ts';
import type { ListenOptions, StreamMessage, StreamSession } from '../model/stream-session.ts';

export interface StreamSessionOptions extends Omit<BrokerLinkOptions, 'isLasting' | 'clientId' | 'isBoundedByCaller'> {
  /**
   * The client id of the reading connection; the publishing one adds `-out`. The same in each process that runs the
   * streams.
   */
  readonly clientId: string;
}

/**
 * Two connections of the streams to one broker. The reading connection has a persistent session and acknowledges a
 * message when it is released. The publishing connection has a clean session: its PUBACKs do not wait behind unread
 * messages, and the broker stores no incomplete QoS 2 exchange. The reading connection is open only while the
 * publishing one is; the broker then sends unacknowledged messages again.
 */
export class MqttStreamSession implements StreamSession {
  readonly #reading: BrokerLink;
  readonly #publishing: BrokerLink;
  readonly #listeners = new Listeners<[status: LinkStatus]>();
  status: LinkStatus;

  constructor({ clientId, ...options }: StreamSessionOptions) {
    this.#publishing = new BrokerLink({
      ...options,
      clientId: `${clientId}-out`,
      sessionExpirySeconds: 0,
      // The engine bounds unreleased messages. A refused message would be sent and refused again.
      isBoundedByCaller: true,
    });
    this.#reading = new BrokerLink({ ...LASTING_LINK, ...options, clientId });
    this.status = this.#publishing.status;
    this.#publishing.onStatus((status) => {
      if (status.state === 'CONNECTED') this.#reading.open();
      else this.#reading.suspend(status.lastError ?? 'Not connected yet');
      this.#notify();
    });
    this.#reading.onStatus(() => this.#notify());
  }

  open(): void {
    this.#publishing.open();
  }

  readonly onStatus = this.#listeners.add;

  subscribe(filter: string, listener: (message: StreamMessage) => void, options: ListenOptions = {}): Promise<Stop> {
    // The messages of a link with `isLasting` have `hold` and `release`.
    const received = (message: BrokerMessage) => listener(message as BrokerMessage & StreamMessage);
    return this.#reading.subscribe(filter, received, { ...options, qos: 2, retained: false });
  }

  publish(topic: string, payload: Buffer | string, qos: 0 | 1 | 2, done: (error: ServiceError | null) => void): void {
    this.#publishing.sendAgain(topic, payload, { qos }, done);
  }

  pause(): void {
    this.#reading.pause();
  }

  resume(): void {
    this.#reading.resume();
  }

  async close({ discard }: { readonly discard: boolean }): Promise<void> {
    this.#listeners.clear();
    await Promise.all([this.#reading.close({ keepSession: !discard }), this.#publishing.close()]);
  }

  #notify(): void {
    const publishing = this.#publishing.status;
    const status = publishing.state === 'CONNECTED' ? this.#reading.status : publishing;
    const isChanged = status.state !== this.status.state;
    this.status = status;
    if (!isChanged) return;
    this.#listeners.notify(status);
  }
}
