import type { BrokerLimits } from '../limits.ts';
import { type AcknowledgementHold, type ClientRef, IncomingStore } from './incoming-store.ts';
import { Journal } from './journal.ts';
import { copyOf, type MessageProperties, withExpiry } from './message-properties.ts';
import { type DeliveryNumber, MessageQueues } from './message-queues.ts';
import { Quarantine, type QuarantinedRecord, RecordTrial } from './quarantine.ts';
import { checkRecords } from './record-check.ts';
import { RetainedStore } from './retained-store.ts';
import { SessionStore } from './session-store.ts';
import { WillStore } from './will-store.ts';

interface BrokerStoreOptions {
  readonly folder: string;
  readonly limits: BrokerLimits;
  readonly onBroken: (error: Error) => void;
  readonly onQuarantined?: (record: QuarantinedRecord) => void;
  readonly suspicion?: string | undefined;
}

interface Publish {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly messageId?: number | undefined;
  readonly properties?: MessageProperties | undefined;
}

/** The persistent data of one embedded broker. Writes before a resolved `commit()` survive a killed process. */
export class BrokerStore {
  readonly journal: Journal;
  readonly queues: MessageQueues;
  readonly sessions: SessionStore;
  readonly retained: RetainedStore;
  readonly incoming: IncomingStore;
  readonly wills: WillStore;
  readonly quarantine: Quarantine;
  readonly trial: RecordTrial;

  constructor({ folder, limits, onBroken, onQuarantined = () => {}, suspicion }: BrokerStoreOptions) {
    this.journal = new Journal(folder, onBroken);
    this.quarantine = new Quarantine(this.journal, onQuarantined);
    this.trial = new RecordTrial(this.journal, this.quarantine, suspicion ?? null);
    checkRecords(this.journal, this.quarantine);
    // Records in quarantine must not be loaded.
    this.journal.flush();
    this.queues = new MessageQueues(this.journal, limits);
    this.sessions = new SessionStore(this.journal, this.queues);
    this.retained = new RetainedStore(this.journal, limits);
    this.incoming = new IncomingStore(this.journal);
    this.wills = new WillStore(this.journal);
  }

  load(number: () => DeliveryNumber): void {
    this.sessions.load(number, Date.now());
    this.incoming.load();
    this.wills.load();
  }

  commit(): Promise<void> {
    return this.journal.commit();
  }

  /**
   * Stores a publish in one transaction: as retained message, in queues, and its QoS 2 packet id, which is in memory
   * only without `clean`. `publisher` is `null` for the broker itself. `hold` delays the acknowledgement, which waits
   * for `commit()` if `isDurable`. The caller calls `retained.delivered` after the delivery of a retained message.
   */
  accept(publisher: ClientRef | null, publish: Publish, hold: AcknowledgementHold | null = null) {
    const { topic, payload, qos, retain, messageId, properties } = publish;
    const matches = qos > 0 ? this.sessions.match(topic) : [];
    // A stored payload must not keep the buffer of the socket in memory.
    const stored = typeof payload !== 'string' && (retain || matches.length > 0) ? copyOf(payload) : payload;
    const expiring =
      properties && (retain || matches.length > 0) ? { properties: withExpiry(properties, Date.now()) } : {};
    let isDurable = retain
      ? this.retained.put({ cmd: 'publish', topic, payload: stored, qos, retain: true, ...expiring })
      : false;
    if (retain) this.retained.accepted(topic);
    const queued = { topic, payload: stored, retain, publisherId: publisher?.id ?? null, ...expiring };
    const message = qos > 0 ? this.sessions.enqueue(matches, { ...queued, qos: qos === 2 ? 2 : 1 }) : null;
    if (message) isDurable = true;
    if (publisher && qos === 2 && messageId !== undefined) {
      if (this.incoming.take(publisher, messageId, payload.length, hold)) isDurable = true;
    }
    return { message, isDurable };
  }

  discard(clientId: string, counter: number): void {
    const session = this.sessions.get(clientId);
    const entry = session?.byCounter.get(counter);
    if (session && entry) this.queues.settle(session, entry);
  }

  endSession(clientId: string): boolean {
    this.incoming.clear(clientId);
    return this.sessions.remove(clientId);
  }

  close(): void {
    this.journal.close();
  }
}
