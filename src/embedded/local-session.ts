import type { BrokerMessage, BrokerSession, LinkStatus, PublishOptions, Stop } from '../mqtt/broker-session.ts';
import type { BrokerCore } from './broker-core.ts';

/** A plugin's session inside the broker: always connected, sees and may do everything. */
export class LocalSession implements BrokerSession {
  readonly clientId: string;
  readonly protocolVersion = 4;
  readonly status: LinkStatus = { state: 'CONNECTED', since: Date.now() };
  readonly #core: BrokerCore;

  constructor(core: BrokerCore, name: string) {
    this.#core = core;
    this.clientId = name;
  }

  /** The status of a session inside the broker never changes. */
  onStatus(): Stop {
    return () => {};
  }

  publish(topic: string, payload: Uint8Array | string, options: PublishOptions = {}): Promise<void> {
    return this.#core.publish(topic, payload, options);
  }

  async subscribe(filter: string, listener: (message: BrokerMessage) => void): Promise<Stop> {
    return this.#core.subscribe(filter, ({ topic, payload, qos, retain }) => {
      listener({ topic, payload: Buffer.from(payload), qos, retain });
    });
  }
}
