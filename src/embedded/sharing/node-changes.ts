import type { Connection } from '../core/connection.ts';
import type { LiveMessage } from '../core/delivery.ts';
import type { SharedAdmission, SharedChanges, SharedPublish } from '../core/shared-changes.ts';
import type { GivenSubscription } from '../core/subscribe-away.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import { forwardable, toText } from '../store/message-properties.ts';
import type { SessionAbout, SubscriptionRecord } from '../store/session.ts';
import { type AboutWill, type NodeEntries, type NodeEntryKind, OwnEntry } from './node-entries.ts';
import type { HeldPublish, NodeReplica } from './node-replica.ts';
import { QueueChanges } from './queue-changes.ts';
import type { SharedLog } from './shared-log.ts';

export interface NodeChangesOptions {
  readonly store: BrokerStore;
  readonly log: SharedLog;
  readonly replica: NodeReplica;
  /** What is acknowledged is on this node's disk, too. */
  readonly isFull: boolean;
}

/** Bytes that wait for the log: beyond it nothing more is read from those who publish. */
const MAX_PENDING_BYTES = 32 * 1_048_576;

/**
 * What this broker changes as a node of a cluster: each change is an entry of the common log, and done when it was read back and applied
 * (`NodeReplica`). From when it is made, the store has its changes of sessions made by this, too, and `BrokerStore.commit` waits for
 * all that were asked for until then.
 */
export class NodeChanges implements SharedChanges {
  readonly #options: NodeChangesOptions;
  readonly #queues: QueueChanges;
  #lastNumber = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: NodeChangesOptions) {
    this.#options = options;
    const { store } = options;
    this.#queues = new QueueChanges(
      (clientId) => this.#numberOf(clientId),
      (entry) => this.#send(entry),
    );
    store.shared = () => this.#applied();
    store.queues.shared = this.#queues;
    store.incoming.shared = (id, packetId) => {
      const number = this.#numberOf(id);
      if (number !== 0) this.#append('pubrel', { id, number, packetId });
    };
    store.sessions.shared = {
      subscribe: (id, filter, record) => this.#subscribe(id, filter, record),
      unsubscribe: (id, filter) => {
        const number = this.#numberOf(id);
        if (number !== 0) this.#append('unsubscribe', { id, number, filter });
      },
    };
  }

  get isReached(): boolean {
    return this.#options.log.isReached;
  }

  get isCongested(): boolean {
    return this.#options.log.pendingBytes > MAX_PENDING_BYTES;
  }

  /** The first entry of a run. When it resolves, all that was in the log before is applied. */
  async begin(): Promise<void> {
    this.#append('began', { at: Date.now() });
    await this.#last;
  }

  connect(id: string, connection: Connection, about: SessionAbout): Promise<SharedAdmission> {
    const { replica } = this.#options;
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    connection.sharedNumber = number;
    replica.connections.set(number, connection);
    const { isCleanStart, isClean, expirySeconds, will } = connection;
    const change = { id, number, isCleanStart, isClean, expirySeconds, about, will: aboutWill(connection) };
    return new Promise((resolve) => {
      // What `connect` of the replica says.
      const done = (result: unknown) => resolve(result as SharedAdmission);
      this.#append('connect', { ...change, at: Date.now() }, will?.payload, done);
    });
  }

  has(connection: Connection): boolean {
    return connection.sharedNumber !== 0;
  }

  left(connection: Connection, at: number, isWilled: boolean): void {
    const { sharedNumber: number, identity, expirySeconds, traffic } = connection;
    // Otherwise it was taken over, which all know.
    if (!identity || !this.#options.replica.connections.delete(number)) return;
    this.#append('left', { id: identity.clientId, number, expirySeconds, isWilled, traffic, at });
  }

  publish({ connection, publisherId, messageId, held, ...live }: SharedPublish, done: () => void): void {
    const { topic, payload, qos, retain, properties } = live;
    const about = {
      id: publisherId,
      number: connection?.sharedNumber ?? 0,
      topic,
      qos,
      retain,
      properties: toText(properties),
      messageId: qos === 2 ? messageId : undefined,
      isClean: connection?.isClean ?? true,
      isHeld: held !== null,
      at: Date.now(),
    };
    const entry: HeldPublish = Object.assign(new OwnEntry('publish', about, payload, done), { held });
    this.#queues.flush();
    this.#send(entry);
  }

  tell(id: string | null, { topic, payload, properties }: LiveMessage): void {
    const about = { id, topic, properties: toText(forwardable(properties)) };
    this.#options.log.tell({ kind: 'publish', about, payload });
  }

  publishWill(...will: Parameters<SharedChanges['publishWill']>): void {
    this.#options.replica.publishWill(...will);
  }

  subscribeAway(id: string, given: GivenSubscription): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (result: unknown) => resolve(result === true);
      this.#append('subscribeAway', { id, given, at: Date.now() }, undefined, done);
    });
  }

  unsubscribeAway(id: string, filter: string): Promise<void> {
    return new Promise((resolve) => this.#append('unsubscribeAway', { id, filter }, undefined, () => resolve()));
  }

  sessionDue(id: string): void {
    const session = this.#options.store.sessions.get(id);
    if (session?.about && !session.online) this.#append('sessionDue', { id, lastConnect: session.about.lastConnect });
  }

  willDue(id: string): void {
    const { lastConnect = 0 } = this.#options.store.sessions.get(id)?.about ?? {};
    this.#append('willDue', { id, lastConnect });
  }

  #subscribe(id: string, filter: string, record: SubscriptionRecord): void {
    const number = this.#numberOf(id);
    if (number !== 0) this.#append('subscribe', { id, number, filter, record });
  }

  /** Of the connection that has the client, if it is one of this run. */
  #numberOf(clientId: string): number {
    const presence = this.#options.store.presences.get(clientId);
    return presence && this.#options.replica.connections.has(presence.number) && this.#options.replica.isOwn(presence)
      ? presence.number
      : 0;
  }

  async #applied(): Promise<void> {
    const { store, isFull } = this.#options;
    this.#queues.flush();
    await this.#last;
    if (isFull) await store.journal.commit();
  }

  #append<Kind extends NodeEntryKind>(
    kind: Kind,
    about: NodeEntries[Kind],
    payload?: Uint8Array | string,
    done: ((result: unknown) => void) | null = null,
  ): void {
    this.#queues.flush();
    this.#send(new OwnEntry(kind, about, payload, done));
  }

  #send(entry: OwnEntry): void {
    this.#last = this.#options.log.append(entry);
    // The log says itself that the node has to end.
    this.#last.catch(() => {});
  }
}

function aboutWill({ will, expirySeconds, client }: Connection): AboutWill | null {
  if (!will || !client) return null;
  const { topic, qos, retain, delayInterval } = will;
  const { properties } = (client as unknown as { _will?: { properties?: object } })._will ?? {};
  return {
    topic,
    // As CONNECT said.
    qos: qos as 0 | 1 | 2,
    retain,
    properties: toText(forwardable(properties)),
    delaySeconds: Math.min(delayInterval, expirySeconds ?? Number.MAX_SAFE_INTEGER),
  };
}
