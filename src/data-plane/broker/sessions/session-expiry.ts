import type { Connection } from '../clients/connection.ts';
import { Deadlines } from '../clients/deadlines.ts';
import type { CoreParts } from '../core/core-parts.ts';
import type { InternalPublisher } from '../publishing/internal-publisher.ts';
import type { DelayedWill, WillPacket } from '../store/will-store.ts';

/** Deletions of expired sessions are committed after this many bytes of messages; each adds MESSAGE_BYTES. */
const MAX_DELETED_BYTES = 1_048_576;
const MESSAGE_BYTES = 1_024;

/** Publishes wills, and ends sessions when they are due (MQTT 5), also those of an earlier run of the broker. */
export class SessionExpiry {
  readonly #parts: CoreParts;
  readonly #publisher: InternalPublisher;
  readonly #sessions = new Deadlines((clientId) => this.#expire(clientId));
  readonly #wills = new Deadlines((clientId) =>
    this.#guarded(`the delayed will of "${clientId}" could not be published`, () => this.#publishDelayed(clientId)),
  );
  #deletedBytes = 0;

  constructor(parts: CoreParts, publisher: InternalPublisher) {
    this.#parts = parts;
    this.#publisher = publisher;
  }

  async resume(now: number): Promise<void> {
    const { sessions, wills, trial } = this.#parts.store;
    if (trial.isOn) for (const [clientId, will] of wills.all()) await this.#resumeWill(clientId, will, now);
    else await Promise.all(wills.all().map(([clientId, will]) => this.#resumeWill(clientId, will, now)));
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
      if (due <= now) await trial.run('delayed will', clientId, async () => this.#publishDelayed(clientId));
    }
  }

  closed(clientId: string, { isClean, expirySeconds }: Connection, now: number): void {
    const { store } = this.#parts;
    if (isClean) store.incoming.clear(clientId);
    // A newer connection has ended the session.
    else if (!store.sessions.get(clientId)) return;
    else if (expirySeconds === 0) this.#endSession(clientId);
    else if (expirySeconds !== null) this.#sessions.set(clientId, now + expirySeconds * 1000);
  }

  /** Called when the client reconnects. Its delayed will is cancelled, or published if Clean Start ends the session. */
  returned(clientId: string, { request: { isCleanStart } }: Connection): void {
    this.#sessions.delete(clientId);
    if (isCleanStart) this.#publishDelayed(clientId);
    this.#wills.delete(clientId);
    this.#parts.store.wills.takeDelayed(clientId);
  }

  /** Called when a connection is being closed. Its will is published or delayed, unless it is to be discarded. */
  closing(connection: Connection): void {
    const { storedWill: will, discardsWill, id } = connection;
    if (will === null) return;
    connection.storedWill = null;
    this.#parts.faults.run(connection, 'the will of a client could not be published', () => {
      if (!discardsWill) this.#takeWill(connection, will);
      this.#parts.store.wills.remove(id);
    });
  }

  /** Only if the account may publish the will now. For a deleted account, the rights at the time of CONNECT apply. */
  #takeWill({ identity }: Connection, { delaySeconds, ...message }: WillPacket): void {
    const { access, store } = this.#parts;
    if (!identity) return;
    const { clientId, username, couldPublishWill } = identity;
    const isAllowed = access.hasAccount(username) ? access.mayPublish(identity, message.topic) : couldPublishWill;
    if (!isAllowed) return;
    const will = { ...message, due: Date.now() + delaySeconds * 1000 };
    if (delaySeconds === 0) {
      this.#publish(clientId, will);
      return;
    }
    store.wills.delay(clientId, will);
    this.#wills.set(clientId, will.due);
  }

  /** Ends the session of an offline client, as if it had expired. */
  end(clientId: string): void {
    this.#sessions.delete(clientId);
    this.#endSession(clientId);
  }

  close(): void {
    this.#sessions.close();
    this.#wills.close();
  }

  async #resumeWill(clientId: string, { delaySeconds, ...message }: WillPacket, now: number): Promise<void> {
    const { store, faults } = this.#parts;
    if (delaySeconds > 0) {
      store.wills.delay(clientId, { ...message, due: now + delaySeconds * 1000 });
      return;
    }
    const { topic, payload, qos, retain, properties } = message;
    try {
      await store.trial.run('will', clientId, () =>
        this.#publisher.publish(topic, payload, { qos, retain, properties }),
      );
    } catch (error) {
      faults.report({ kind: 'record', text: `the will of "${clientId}" could not be published`, error });
      store.quarantine.move('will', [clientId], (error as Error).message);
    }
    store.wills.remove(clientId);
  }

  /** Commits large deletions: one transaction for hundreds of megabytes takes a third of a second. */
  async #expire(clientId: string): Promise<void> {
    const { store } = this.#parts;
    const session = store.sessions.get(clientId);
    this.#deletedBytes += (session?.queuedBytes ?? 0) + (session?.queue.size ?? 0) * MESSAGE_BYTES;
    this.#guarded(`the session of "${clientId}" could not be ended`, () => this.#endSession(clientId));
    if (this.#deletedBytes < MAX_DELETED_BYTES) return;
    this.#deletedBytes = 0;
    // If the journal cannot be written, the broker shuts down.
    await store.written().catch(() => {});
  }

  #guarded(text: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#parts.faults.report({ kind: 'record', text, error });
    }
  }

  #endSession(clientId: string): void {
    const { store, registry } = this.#parts;
    store.endSession(clientId);
    registry.changed(clientId);
    // [MQTT-3.1.3-9] The will is published at the latest when the session ends.
    this.#publishDelayed(clientId);
  }

  #publishDelayed(clientId: string): void {
    this.#wills.delete(clientId);
    const will = this.#parts.store.wills.takeDelayed(clientId);
    if (will) this.#publish(clientId, will);
  }

  /** Access control was checked when the connection ended. */
  #publish(clientId: string, { topic, payload, qos, retain, properties }: DelayedWill): void {
    this.#publisher.send(clientId, { topic, payload, qos, retain, properties }, (error) => {
      if (error) this.#parts.onProblem('a will could not be stored', error);
    });
  }
}
