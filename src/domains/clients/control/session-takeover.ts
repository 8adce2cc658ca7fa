import type { PluginHost } from '../../../protocol/control/plugin.ts';
import type { SessionAction, TakenSession } from '../../../protocol/mqtt/broker-session.ts';
import { announceTakeover, whenEnded } from '../inspect/followed-account.ts';

/**
 * Takes sessions of one broker's clients over, one at a time for each client, and lets the list of clients know that the lines of
 * the log are then about us.
 */
export class SessionTakeovers {
  readonly #host: PluginHost;
  readonly #endMs: number;
  /** The last takeover of a client that is under way. */
  readonly #running = new Map<string, Promise<unknown>>();

  /** @param endMs how long the log has to tell the end */
  constructor(host: PluginHost, endMs: number) {
    this.#host = host;
    this.#endMs = endMs;
  }

  /** Resolves when the list of clients shows what came of it. Errors: as take-over.ts says. */
  run(clientid: string, connection: number, action: SessionAction): Promise<TakenSession> {
    const before = this.#running.get(clientid) ?? Promise.resolve();
    const running = before.catch(() => undefined).then(() => this.#take(clientid, connection, action));
    this.#running.set(clientid, running);
    const forget = () => {
      if (this.#running.get(clientid) === running) this.#running.delete(clientid);
    };
    running.then(forget, forget);
    return running;
  }

  async #take(clientid: string, connection: number, action: SessionAction): Promise<TakenSession> {
    const { session, controls } = this.#host;
    if (!session.takeOver || !controls) throw new Error('a session that takes nothing over');
    await announceTakeover(controls, clientid, true);
    try {
      const taken = await session.takeOver(clientid, action);
      await whenEnded(controls, { clientid, connection }, this.#endMs);
      return taken;
    } finally {
      await announceTakeover(controls, clientid, false).catch(() => undefined);
    }
  }
}
