import type { PluginHost } from '../../../protocol/control/plugin.ts';
import type { SessionAction, TakenSession } from '../../../protocol/mqtt/broker-session.ts';
import { announceTakeover, whenEnded } from '../inspect/followed-account.ts';

/** Takes over sessions of one broker's clients, one at a time per client, and announces it to the list of clients. */
export class SessionTakeovers {
  readonly #host: PluginHost;
  readonly #endMs: number;
  readonly #running = new Map<string, Promise<unknown>>();

  /** @param endMs longest wait for the log line of the end */
  constructor(host: PluginHost, endMs: number) {
    this.#host = host;
    this.#endMs = endMs;
  }

  /** Resolves when the list of clients shows the result. Errors: as in take-over.ts. */
  run(clientid: string, connection: number, action: SessionAction): Promise<TakenSession> {
    const previous = this.#running.get(clientid) ?? Promise.resolve();
    const running = previous
      .catch(() => undefined)
      .then(() => this.#take(clientid, connection, action))
      .finally(() => {
        if (this.#running.get(clientid) === running) this.#running.delete(clientid);
      });
    this.#running.set(clientid, running);
    return running;
  }

  async #take(clientid: string, connection: number, action: SessionAction): Promise<TakenSession> {
    const { session, controls } = this.#host;
    if (!session.takeOver || !controls) throw new Error('The MQTT session of this broker cannot take over sessions');
    await announceTakeover(controls, clientid, 'BEFORE');
    try {
      const taken = await session.takeOver(clientid, action);
      await whenEnded(controls, { clientid, connection }, this.#endMs);
      return taken;
    } finally {
      await announceTakeover(controls, clientid, 'AFTER').catch(() => undefined);
    }
  }
}
