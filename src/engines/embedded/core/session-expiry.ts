import type { BrokerStore } from '../store/broker-store.ts';
import type { DelayedWill, WillPacket } from '../store/will-store.ts';
import type { ClientRegistry } from './client-registry.ts';
import type { Connection } from './connection.ts';
import { Deadlines } from './deadlines.ts';
import type { Faults } from './faults.ts';
import type { InternalPublisher } from './internal-publisher.ts';

/** Deletions of expired sessions are committed after this many bytes of messages; each adds MESSAGE_BYTES. */
const MAX_DELETED_BYTES = 1_048_576;
const MESSAGE_BYTES = 1_024;

interface SessionExpiryOptions {
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly publisher: InternalPublisher;
  readonly publishWill: (clientId: string, will: DelayedWill) => void;
  readonly faults: Faults;
}

/** Ends sessions and publishes wills when they are due (MQTT 5). The timers of aedes are lost at a restart. */
export class SessionExpiry {
  readonly #options: SessionExpiryOptions;
  readonly #sessions = new Deadlines((clientId) => this.#expire(clientId));
  readonly #wills = new Deadlines((clientId) =>
    this.#guarded(`the delayed will of "${clientId}" could not be published`, () => this.#publishWill(clientId)),
  );
  #deletedBytes = 0;

  constructor(options: SessionExpiryOptions) {
    this.#options = options;
  }

  /** Restores the deadlines of the last run, and publishes the wills of its connections. */
  async resume(now: number): Promise<void> {
    const { sessions, wills, trial } = this.#options.store;
    const connected = wills.all();
    if (trial.isOn) for (const will of connected) await this.#resumeWill(will, now);
    else await Promise.all(connected.map((will) => this.#resumeWill(will, now)));
    for (const { id, about } of [...sessions.all()]) {
      const { expirySeconds = null, lastDisconnect } = about ?? {};
      if (expirySeconds === null) continue;
      const due = (lastDisconnect ?? now) + expirySeconds * 1000;
      if (due <= now) this.#endSession(id);
      else this.#sessions.set(id, due);
    }
    const delayed = [...wills.delayed()];
    for (const [clientId, { due }] of delayed) this.#wills.set(clientId, due);
    if (!trial.isOn) return;
    for (const [clientId, { due }] of delayed) {
      if (due <= now) await trial.run('delayed will', clientId, async () => this.#publishWill(clientId));
    }
  }

  closed(clientId: string, { isClean, expirySeconds }: Connection, now: number): void {
    const { store } = this.#options;
    // The packet ids of QoS 2 publishes belong to the session.
    if (isClean) store.incoming.clear(clientId);
    // A newer connection has ended the session.
    else if (!store.sessions.get(clientId)) return;
    else if (expirySeconds === 0) this.#endSession(clientId);
    else if (expirySeconds !== null) this.#sessions.set(clientId, now + expirySeconds * 1000);
  }

  /** Called when the client reconnects. Its delayed will is cancelled, or published if Clean Start ends the session. */
  returned(clientId: string, { isCleanStart }: Connection): void {
    this.#sessions.delete(clientId);
    if (isCleanStart) this.#publishWill(clientId);
    this.#wills.delete(clientId);
    this.#options.store.wills.takeDelayed(clientId);
  }

  delayWill(clientId: string, will: DelayedWill): void {
    this.#options.store.wills.delay(clientId, will);
    this.#wills.set(clientId, will.due);
  }

  close(): void {
    this.#sessions.close();
    this.#wills.close();
  }

  async #resumeWill(will: WillPacket, now: number): Promise<void> {
    const { publisher, store, faults } = this.#options;
    const { topic, payload, retain, clientId = '', properties, delaySeconds = 0 } = will;
    const qos = will.qos === 0 ? 0 : 1;
    if (delaySeconds > 0) {
      store.wills.delay(clientId, { topic, payload, qos, retain, properties, due: now + delaySeconds * 1000 });
      return;
    }
    try {
      await store.trial.run('will', clientId, () => publisher.publish(topic, payload, { qos, retain, properties }));
    } catch (error) {
      faults.ofRecord(`the will of "${clientId}" could not be published`, error);
      store.quarantine.move('will', [clientId], (error as Error).message);
    }
    store.wills.remove(clientId);
  }

  /** Commits large deletions: one transaction for hundreds of megabytes takes a third of a second. */
  async #expire(clientId: string): Promise<void> {
    const { store } = this.#options;
    const session = store.sessions.get(clientId);
    this.#deletedBytes += (session?.queuedBytes ?? 0) + (session?.queue.size ?? 0) * MESSAGE_BYTES;
    this.#guarded(`the session of "${clientId}" could not be ended`, () => this.#endSession(clientId));
    if (this.#deletedBytes < MAX_DELETED_BYTES) return;
    this.#deletedBytes = 0;
    // If the journal cannot be written, the broker shuts down.
    await store.commit().catch(() => {});
  }

  #guarded(text: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.faults.ofRecord(text, error);
    }
  }

  #endSession(clientId: string): void {
    const { store, registry } = this.#options;
    store.endSession(clientId);
    registry.changed(clientId);
    // [MQTT-3.1.3-9] The will is published at the latest when the session ends.
    this.#publishWill(clientId);
  }

  #publishWill(clientId: string): void {
    this.#wills.delete(clientId);
    const { store, publishWill } = this.#options;
    const will = store.wills.takeDelayed(clientId);
    if (will) publishWill(clientId, will);
  }
}
