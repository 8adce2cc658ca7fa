import type { BrokerStore } from '../store/broker-store.ts';
import type { DelayedWill, WillPacket } from '../store/will-store.ts';
import type { ClientRegistry } from './client-registry.ts';
import type { Connection } from './connection.ts';
import { Deadlines } from './deadlines.ts';
import type { Faults } from './faults.ts';
import type { OwnPublishes } from './own-publishes.ts';

/** Bytes of queued messages from which sessions that expire together commit their deletion. Each message counts MESSAGE_BYTES more. */
const MAX_DELETED_BYTES = 1_048_576;
const MESSAGE_BYTES = 1_024;

export interface DeparturesOptions {
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly publishOwn: OwnPublishes['publish'];
  readonly publishWill: (clientId: string, will: DelayedWill) => void;
  readonly faults: Faults;
}

/**
 * What MQTT 5 lets happen some time after a client went: its session ends, its delayed will is published. aedes has timers for
 * both, but they end with the process and hold on to the client; here the journal knows when, and one timer serves all.
 */
export class Departures {
  readonly #options: DeparturesOptions;
  readonly #sessions = new Deadlines((clientId) => this.#expire(clientId));
  readonly #wills = new Deadlines((clientId) =>
    this.#guarded(`the delayed will of "${clientId}" could not be published`, () => this.#publishWill(clientId)),
  );

  #deletedBytes = 0;

  constructor(options: DeparturesOptions) {
    this.#options = options;
  }

  /** What the last run left: its clients went when it ended, or before. Resolves when their wills were published. */
  async resume(now: number): Promise<void> {
    const { sessions, wills, trial } = this.#options.store;
    const left = wills.all();
    if (trial.isOn) for (const will of left) await this.#resumeWill(will, now);
    else await Promise.all(left.map((will) => this.#resumeWill(will, now)));
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

  /** The client is without a connection now. */
  left(clientId: string, { isClean, expirySeconds }: Pick<Connection, 'isClean' | 'expirySeconds'>, now: number): void {
    const { store } = this.#options;
    // The packet ids of QoS 2 publishes belong to the session.
    if (isClean) store.incoming.clear(clientId);
    // A newer connection has ended it.
    else if (!store.sessions.get(clientId)) return;
    else if (expirySeconds === 0) this.#endSession(clientId);
    else if (expirySeconds !== null) this.#sessions.set(clientId, now + expirySeconds * 1000);
  }

  /** Its will is not published if it comes back in time, except that a session that it does not want ends now. */
  returned(clientId: string, { isCleanStart }: Pick<Connection, 'isCleanStart'>): void {
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

  /** Of a client that was connected when the last run ended: its connection ended with it, not by DISCONNECT. */
  async #resumeWill(will: WillPacket, now: number): Promise<void> {
    const { publishOwn, store, faults } = this.#options;
    const { topic, payload, retain, clientId = '', properties, delaySeconds = 0 } = will;
    const qos = will.qos === 0 ? 0 : 1;
    if (delaySeconds > 0) {
      store.wills.delay(clientId, { topic, payload, qos, retain, properties, due: now + delaySeconds * 1000 });
      return;
    }
    try {
      await store.trial.run('will', clientId, () => publishOwn(topic, payload, { qos, retain, properties }));
    } catch (error) {
      faults.ofRecord(`the will of "${clientId}" could not be published`, error);
      store.quarantine.move('will', [clientId], (error as Error).message);
    }
    store.wills.remove(clientId);
  }

  /** Ends the session. Commits large deletions, because one transaction for hundreds of megabytes takes a third of a second. */
  async #expire(clientId: string): Promise<void> {
    const { store } = this.#options;
    const session = store.sessions.get(clientId);
    this.#deletedBytes += (session?.queuedBytes ?? 0) + (session?.queue.size ?? 0) * MESSAGE_BYTES;
    this.#guarded(`the session of "${clientId}" could not be ended`, () => this.#endSession(clientId));
    if (this.#deletedBytes < MAX_DELETED_BYTES) return;
    this.#deletedBytes = 0;
    // A journal that cannot be written ends the broker.
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
    // The will is due when the session ends, at the latest [MQTT-3.1.3-9].
    this.#publishWill(clientId);
  }

  /** If one is put off, it is no more. */
  #publishWill(clientId: string): void {
    this.#wills.delete(clientId);
    const { store, publishWill } = this.#options;
    const will = store.wills.takeDelayed(clientId);
    if (will) publishWill(clientId, will);
  }
}
