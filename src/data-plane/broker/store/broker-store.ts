import type { BrokerLimits } from '../limits.ts';
import { type AcknowledgementHold, type ClientRef, IncomingStore } from './incoming-store.ts';
import { Journal, type JournalHooks } from './journal.ts';
import { copyOf, type MessageProperties, withExpiry } from './message-properties.ts';
import { type Grant, grantOf, MessageQueues, type Queued } from './message-queues.ts';
import { Quarantine, type QuarantinedRecord, RecordTrial } from './quarantine.ts';
import { checkRecords } from './record-check.ts';
import { isSystem, RetainedStore } from './retained-store.ts';
import { SessionStore } from './session-store.ts';
import type { SharedGroup, Subscription } from './subscription.ts';
import { type Recipient, recipientOf, SubscriptionIndex } from './subscription-index.ts';
import { WillStore } from './will-store.ts';

interface BrokerStoreOptions extends JournalHooks {
  readonly folder: string;
  readonly limits: BrokerLimits;
  readonly onQuarantined?: (record: QuarantinedRecord) => void;
  readonly suspicion?: string | undefined;
}

export interface Publish {
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly messageId?: number | undefined;
  readonly properties?: MessageProperties | undefined;
}

/** What `BrokerStore.accept` has done with a message, and who gets it. */
export interface Accepted {
  /** The queues that have the message. They are on disk after `commit()`. */
  readonly queued: readonly Queued[];
  /** The other clients that get the message, if they are connected. */
  readonly recipients: readonly Recipient[];
  /** Whether the acknowledgement waits for `commit()`. */
  readonly isDurable: boolean;
}

/** The persistent data of one embedded broker. Writes before a resolved `commit()` survive a killed process. */
export class BrokerStore {
  readonly journal: Journal;
  readonly queues: MessageQueues;
  readonly subscriptions = new SubscriptionIndex();
  readonly sessions: SessionStore;
  readonly retained: RetainedStore;
  readonly incoming: IncomingStore;
  readonly wills: WillStore;
  readonly quarantine: Quarantine;
  readonly trial: RecordTrial;
  /** Chooses the member of a shared subscription that gets a message; `null`: none can get it. */
  chooseMember: (group: SharedGroup, message: Publish) => Subscription | null = () => null;

  constructor({ folder, limits, onQuarantined = () => {}, suspicion, ...hooks }: BrokerStoreOptions) {
    this.journal = new Journal(folder, hooks);
    this.quarantine = new Quarantine(this.journal, onQuarantined);
    this.trial = new RecordTrial(this.journal, this.quarantine, suspicion ?? null);
    checkRecords(this.journal, this.quarantine);
    // Records in quarantine must not be loaded.
    this.journal.flush();
    this.queues = new MessageQueues(this.journal, limits);
    this.sessions = new SessionStore(this.journal, this.queues, this.subscriptions);
    this.retained = new RetainedStore(this.journal, limits);
    this.incoming = new IncomingStore(this.journal);
    this.wills = new WillStore(this.journal);
  }

  load(): void {
    this.sessions.load(Date.now());
    this.incoming.load();
    this.wills.load();
  }

  /** See `Journal`. */
  commit(): Promise<void> {
    return this.journal.commit();
  }

  /** See `Journal`. */
  written(): Promise<void> {
    return this.journal.written();
  }

  /** Whether the disk cannot be written. */
  get hasDiskFault(): boolean {
    return this.journal.diskFault !== null;
  }

  /** Whether a publish of a client has to be refused, because it must be stored and the disk cannot be written. */
  cannotStore(publisher: ClientRef, publish: Publish): boolean {
    if (!this.hasDiskFault) return false;
    const { topic, qos, retain } = publish;
    if (retain && !isSystem(topic)) return true;
    if (qos === 2 && publisher.isClean === false) return true;
    return this.#recipients(publish, publisher.id).granted.length > 0;
  }

  /** Takes back what `accept` has done with a publish that could not be stored. */
  withdraw(publisher: ClientRef, { topic, qos, retain, messageId }: Publish, { queued }: Accepted): void {
    for (const { session, entry } of queued) {
      if (session.queue.get(entry.position) === entry) this.queues.settle(session, entry);
      // Another member of a shared subscription has it: it is delivered, although it is not acknowledged.
      else entry.message.isDelivered = true;
    }
    if (retain && !isSystem(topic)) this.retained.restore(topic);
    if (qos === 2 && messageId !== undefined) this.incoming.release(publisher, messageId);
  }

  /**
   * Stores a publish in one transaction: as retained message, in queues, and its QoS 2 packet id, which is in memory
   * only if `isClean` is not `false`. `publisher` is `null` for the broker itself. `hold` delays the acknowledgement.
   */
  accept(publisher: ClientRef | null, publish: Publish, hold: AcknowledgementHold | null = null): Accepted {
    const { topic, payload, qos, retain, messageId, properties } = publish;
    const { recipients, granted } = this.#recipients(publish, publisher?.id ?? null);
    const isStored = retain || granted.length > 0;
    // A stored payload must not keep the buffer of the socket in memory.
    const stored = isStored && typeof payload !== 'string' ? copyOf(payload) : payload;
    const expiring = isStored && properties ? { properties: withExpiry(properties, Date.now()) } : {};
    let isDurable = retain
      ? this.retained.put({ cmd: 'publish', topic, payload: stored, qos, retain: true, ...expiring })
      : false;
    const queued =
      granted.length > 0 ? this.queues.add(granted, { topic, payload: stored, qos, retain, ...expiring }) : NOT_QUEUED;
    if (queued.length > 0) isDurable = true;
    if (publisher && qos === 2 && messageId !== undefined) {
      if (this.incoming.take(publisher, messageId, payload.length, hold)) isDurable = true;
    }
    return { queued, recipients, isDurable };
  }

  /** Whether the limits of retained messages allow this one. */
  mayRetain({ topic, payload, qos, properties }: Publish): boolean {
    const stored = { cmd: 'publish', topic, payload, qos, retain: true } as const;
    return this.retained.hasRoom({ ...stored, properties: properties && withExpiry(properties, Date.now()) });
  }

  /** `granted`: the sessions that queue the message. `recipients`: the other clients that get it. */
  #recipients(publish: Publish, publisherId: string | null) {
    const { topic, qos } = publish;
    const match = this.subscriptions.match(topic, publisherId);
    if (qos === 0 && match.groups.length === 0) return { recipients: match.recipients, granted: NOT_GRANTED };
    const recipients: Recipient[] = [];
    const granted: Grant[] = [];
    const add = (recipient: Recipient) => {
      const grant = grantOf(recipient, publish);
      if (grant) granted.push(grant);
      else recipients.push(recipient);
    };
    for (const recipient of match.recipients) add(recipient);
    for (const group of match.groups) {
      const member = this.chooseMember(group, publish);
      if (member) add(recipientOf(member, group));
    }
    return { recipients, granted };
  }

  endSession(clientId: string): boolean {
    this.incoming.clear(clientId);
    return this.sessions.remove(clientId);
  }

  close(): void {
    this.journal.close();
  }
}

const NOT_QUEUED: readonly Queued[] = [];
const NOT_GRANTED: readonly Grant[] = [];
