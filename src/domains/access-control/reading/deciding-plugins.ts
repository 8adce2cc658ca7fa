import { listPlugins, otherDecidingPlugins } from '../../../protocol/control/broker-plugins.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { BrokerSession } from '../../../protocol/mqtt/broker-session.ts';

/** The other plugins of a broker that may decide on access, read once per connection: a restart may change them. */
export class DecidingPlugins {
  readonly #controls: ControlCaller;
  readonly #session: Pick<BrokerSession, 'status'>;
  #names: Promise<readonly string[] | null> | null = null;
  #connectedSince: string | null = null;

  constructor(controls: ControlCaller, session: Pick<BrokerSession, 'status'>) {
    this.#controls = controls;
    this.#session = session;
  }

  /** Their names; `null` if the broker does not list its plugins, like Mosquitto 2.0. Never rejects. */
  async read(): Promise<readonly string[] | null> {
    const { since } = this.#session.status;
    if (this.#connectedSince !== since) this.#names = null;
    this.#connectedSince = since;
    this.#names ??= listPlugins(this.#controls).then(otherDecidingPlugins, () => null);
    const names = await this.#names;
    // A permission may be granted later.
    if (names === null) this.#names = null;
    return names;
  }
}
