import type { StoreLimits } from '../limits.ts';
import { type AcknowledgementHold, type ClientRef, IncomingStore } from './incoming-store.ts';
import { Journal } from './journal.ts';
import { type MessageProperties, withExpiry } from './message-properties.ts';
import { type DeliveryNumber, MessageQueues } from './message-queues.ts';
import { Quarantine, type QuarantinedRecord } from './quarantine.ts';
import { checkRecords } from './record-check.ts';
import { RecordTrial } from './record-trial.ts';
import { RetainedStore } from './retained-store.ts';
import type { StoredMessage } from './session.ts';
import { SessionStore } from './session-store.ts';
import { WillStore } from './will-store.ts';

export interface BrokerStoreOptions {
  readonly folder: string;
  readonly limits: StoreLimits;
  readonly onBroken: (error: Error) => void;
  /** Called for each stored record that was moved into quarantine. */
  readonly onQuarantined?: (record: QuarantinedRecord) => void;
  /** The reason by which the broker ended repeatedly; see `RecordTrial`. */
  readonly suspicion?: string | undefined;
}

export interface Publish {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly messageId?: number | undefined;
  readonly properties?: MessageProperties | undefined;
  /** Epoch milliseconds, when it was published; missing: now. */
  readonly at?: number | undefined;
}

/** What one accepted publish left behind. */
export interface Accepted {
  /** Null: no session queues it. */
  readonly message: StoredMessage | null;
  /** Whether the acknowledgement has to wait for `commit()`. */
  readonly isDurable: boolean;
}

/**
 * What one embedded broker keeps, in memory over one journal (`journal.ts`). What a resolved `commit()` covers survives a killed
 * process; what nobody waits for is on disk within the journal's lazy time.
 */
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
    this.journal = new Journal({ folder, onBroken });
    this.quarantine = new Quarantine(this.journal, onQuarantined);
    this.trial = new RecordTrial(this.journal, this.quarantine, suspicion ?? null);
    checkRecords(this.journal, this.quarantine);
    // What was moved is not to be loaded.
    this.journal.flush();
    this.queues = new MessageQueues(this.journal, limits);
    this.sessions = new SessionStore(this.journal, this.queues);
    const { retainedMessages: maxCount, retainedBytes: maxBytes } = limits;
    this.retained = new RetainedStore(this.journal, { maxCount, maxBytes });
    this.incoming = new IncomingStore(this.journal);
    this.wills = new WillStore(this.journal);
  }

  /** What earlier runs left; `number` gives each queued message its place among what the broker core delivers. */
  load(number: () => DeliveryNumber): void {
    this.sessions.load(number, Date.now());
    this.incoming.load();
    this.wills.load();
  }

  commit(): Promise<void> {
    return this.journal.commit();
  }

  /**
   * Takes a publish in: retains it, queues it, and remembers its QoS 2 packet id, all in one transaction. `publisher` is null for
   * the broker itself; without `clean` no packet id is remembered on disk. `held`: who needs it before it is acknowledged. Whoever calls
   * tells `retained` when one to be retained was handed on.
   */
  accept(publisher: ClientRef | null, publish: Publish, held: AcknowledgementHold | null = null): Accepted {
    const { topic, payload, qos, retain, messageId, properties } = publish;
    const matches = qos > 0 ? this.sessions.match(topic) : [];
    // What is kept must not hold on to the socket buffer it was read in.
    const kept = retain || matches.length > 0 ? compact(payload) : payload;
    const kind =
      properties && (retain || matches.length > 0)
        ? { properties: withExpiry(properties, publish.at ?? Date.now()) }
        : {};
    let isDurable = retain
      ? this.retained.put({ cmd: 'publish', topic, payload: kept, qos, retain: true, ...kind })
      : false;
    if (retain) this.retained.accepted(topic);
    const queued = { topic, payload: kept, retain, publisherId: publisher?.id ?? null, ...kind };
    const message = qos > 0 ? this.sessions.enqueue(matches, { ...queued, qos: qos === 2 ? 2 : 1 }) : null;
    if (message) isDurable = true;
    if (publisher && qos === 2 && messageId !== undefined) {
      if (this.incoming.take(publisher, messageId, payload.length, held)) isDurable = true;
    }
    return { message, isDurable };
  }

  /** The message that is delivered under this number leaves the queue of a session unsent. */
  discard(clientId: string, counter: number): void {
    const session = this.sessions.get(clientId);
    const entry = session?.byCounter.get(counter);
    if (session && entry) this.queues.settle(session, entry);
  }

  /** Nothing of what the client left stays. Says whether the journal has something to commit. */
  endSession(clientId: string): boolean {
    this.incoming.clear(clientId);
    return this.sessions.remove(clientId);
  }

  close(): void {
    this.journal.close();
  }
}

function compact(payload: Uint8Array | string): Uint8Array | string {
  if (typeof payload === 'string') return payload;
  const copy = Buffer.allocUnsafeSlow(payload.length);
  copy.set(payload);
  return copy;
}
