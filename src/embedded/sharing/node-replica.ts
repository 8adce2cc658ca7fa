import type { SharedParts } from '../core/broker-core.ts';
import type { ClientRegistry } from '../core/client-registry.ts';
import { type Connection, SESSION_TAKEN_OVER } from '../core/connection.ts';
import type { LiveMessage } from '../core/delivery.ts';
import type { SharedAdmission } from '../core/shared-changes.ts';
import { subscribeAway } from '../core/subscribe-away.ts';
import type { BrokerLimits } from '../limits.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import type { Held } from '../store/incoming-store.ts';
import { fromText } from '../store/message-properties.ts';
import type { Presence } from '../store/presence-store.ts';
import type { Session, Traffic } from '../store/session.ts';
import type { DelayedWill } from '../store/will-store.ts';
import type { NodeEntries, NodeEntryKind, OwnEntry } from './node-entries.ts';
import type { EntryOrigin, LogEntry, LogPlace, LogReader } from './shared-log.ts';
import { snapshotOf } from './snapshot.ts';

export interface NodeReplicaOptions extends SharedParts {
  readonly store: BrokerStore;
  readonly registry: ClientRegistry;
  readonly limits: Pick<BrokerLimits, 'maxSessions'>;
  readonly nodeId: number;
  /** FULL: own changes are done when they are on disk, and topics are recorded of all nodes. */
  readonly isFull: boolean;
}

/** A publish of this node; who needs it before it is acknowledged. */
export interface HeldPublish extends OwnEntry<'publish'> {
  readonly held: Held | null;
}

/** Of a connection that is gone. */
interface Departure {
  readonly at: number;
  readonly isWilled: boolean;
  readonly expirySeconds: number | null;
  readonly traffic?: Traffic;
}

type Handler<Kind extends NodeEntryKind> = (
  about: NodeEntries[Kind],
  origin: EntryOrigin,
  payload: LogEntry['payload'],
) => unknown;

/**
 * Makes the changes that the nodes of a cluster read from their log, in its order, to what this node has of what they have in common. All
 * that decides is in the entries and in what was made by those before them, so that it becomes the same everywhere: who is connected where,
 * sessions with subscriptions and queues, retained messages, packet ids of QoS 2, wills. Sessions and delayed wills that are due are
 * noticed by all, and end by the first entry that says so.
 *
 * Messages go to those who are connected here as they are read.
 */
export class NodeReplica implements LogReader {
  readonly #options: NodeReplicaOptions;
  /** This run's, by number: those that the others may know. */
  readonly connections = new Map<number, Connection>();
  readonly #handlers: { readonly [Kind in Exclude<NodeEntryKind, 'publish'>]: Handler<Kind> };
  /** Of the entry that is applied; null: none is, or one that no node has appended. */
  #origin: EntryOrigin | null = null;
  /** A node is lost, and what follows from it comes from here. */
  #isHeir = false;
  #run: string | null = null;

  constructor(options: NodeReplicaOptions) {
    this.#options = options;
    this.#handlers = {
      began: ({ at }, { nodeId, run }) => this.#lose(at, (one) => one.nodeId === nodeId && one.run !== run),
      connect: (about, origin, payload) => this.#connect(about, origin, payload),
      left: ({ id, number, ...departure }, { run }) => {
        const presence = this.#current(id, number, run);
        if (presence) this.#gone(presence, departure);
      },
      subscribe: ({ id, number, filter, record }, { run }) => {
        const { sessions } = this.#options.store;
        if (this.#current(id, number, run) && sessions.get(id)) sessions.applySubscribe(id, filter, record);
      },
      unsubscribe: ({ id, number, filter }, { run }) => {
        if (this.#current(id, number, run)) this.#options.store.sessions.applyUnsubscribe(id, filter);
      },
      subscribeAway: ({ id, given, at }) => {
        const { store, delivery } = this.#options;
        const session = store.sessions.get(id);
        if (!session || session.online) return false;
        subscribeAway(store, session, given, () => delivery.number(), at);
        return true;
      },
      unsubscribeAway: ({ id, filter }) => this.#options.store.sessions.applyUnsubscribe(id, filter),
      queues: (about, { run }) => this.#changeQueues(about, run),
      pubrel: ({ id, number, packetId }, { run }) => {
        const { incoming } = this.#options.store;
        if (this.#current(id, number, run)) incoming.applyRelease({ id, clean: false }, packetId);
      },
      sessionDue: ({ id, lastConnect }) => {
        const session = this.#options.store.sessions.get(id);
        if (session && !session.online && session.about?.lastConnect === lastConnect)
          this.#options.departures.endSession(id);
      },
      willDue: ({ id, lastConnect }) => {
        const { store, departures } = this.#options;
        const { lastConnect: last = 0 } = store.sessions.get(id)?.about ?? {};
        if (!store.presences.get(id) && last === lastConnect) departures.publishWill(id);
      },
    };
  }

  isOwn({ nodeId, run }: Presence): boolean {
    return nodeId === this.#options.nodeId && run === this.#run;
  }

  apply(entry: LogEntry, origin: EntryOrigin): void {
    const own = origin.isOwn ? (entry as OwnEntry) : null;
    if (origin.isOwn) this.#run = origin.run;
    this.#origin = origin;
    if (entry.kind === 'publish') this.#publish(entry, origin);
    else {
      // Another version of the broker has appended it: without it this node would not have what the others have.
      if (!Object.hasOwn(this.#handlers, entry.kind))
        throw new Error(`the cluster's log has an entry that this version does not know: ${entry.kind}`);
      const handler = this.#handlers[entry.kind as Exclude<NodeEntryKind, 'publish'>] as Handler<never>;
      const result = handler(entry.about as never, origin, entry.payload);
      const done = own?.done;
      if (done) this.#whenSafe(() => done(result))();
    }
    this.#origin = null;
  }

  told(entry: LogEntry): void {
    // What `NodeChanges.tell` says.
    const { id, topic, properties } = entry.about as Pick<NodeEntries['publish'], 'id' | 'topic' | 'properties'>;
    const payload = bufferOf(entry.payload);
    const live = { topic, payload, qos: 0, retain: false, properties: fromText(properties) } as const;
    this.#record(live, false);
    this.#options.delivery.deliver(id, live, null, () => {});
  }

  reached(place: LogPlace): void {
    const { store, nodeId } = this.#options;
    const sql = 'INSERT OR REPLACE INTO log_place (id, node_id, place, next_message) VALUES (1, ?, ?, ?)';
    store.journal.add(sql, nodeId, JSON.stringify(place), store.queues.nextMessageId);
  }

  lost(nodeId: number, run: string, at: number, isHeir: boolean): void {
    this.#isHeir = isHeir;
    this.#lose(at, (presence) => presence.nodeId === nodeId && presence.run === run);
    this.#isHeir = false;
  }

  snapshot(): Iterable<LogEntry> {
    const { store } = this.#options;
    return snapshotOf(store.journal, store.queues.nextMessageId);
  }

  publishWill(clientId: string, will: Omit<DelayedWill, 'due'>): void {
    const { store, delivery, tap } = this.#options;
    const { topic, payload, qos, retain, properties } = will;
    const live: LiveMessage = { topic, payload: bufferOf(payload), qos, retain, properties };
    const { message } = store.accept({ id: clientId }, live);
    // Where its client was; of a node that is lost, at one of those that are left.
    if (this.#origin?.isOwn || this.#isHeir) tap.take(live, false)?.tell();
    else this.#record(live, false);
    delivery.deliver(clientId, live, message, () => {});
    if (retain) store.retained.handedOn(topic);
  }

  #publish(entry: LogEntry, origin: EntryOrigin): void {
    const { store, delivery } = this.#options;
    const own = origin.isOwn ? (entry as HeldPublish) : null;
    // Nothing else appends under this kind.
    const { id, number, topic, qos, retain, properties: text, ...about } = entry.about as NodeEntries['publish'];
    let { messageId } = about;
    const done = own?.done ?? null;
    if (id !== null && number !== 0 && messageId !== undefined) {
      // The client goes on at another node, and sends it there again.
      if (!this.#current(id, number, origin.run)) return;
      if (store.incoming.has(id, messageId)) {
        if (done) this.#whenSafe(() => done(null))();
        return;
      }
    }
    // It ends with its connection, and is nobody else's.
    if (!own && about.isClean) messageId = undefined;
    const payload = bufferOf(entry.payload);
    const live: LiveMessage = { topic, payload, qos, retain, properties: fromText(text) };
    const held = own ? own.held : about.isHeld ? 'UNKNOWN' : null;
    const publisher = id === null ? null : { id, clean: about.isClean };
    const { message } = store.accept(publisher, { ...live, messageId, at: about.at }, held);
    const delivered = done ? this.#whenSafe(() => done(null)) : () => {};
    this.#record(live, own !== null);
    delivery.deliver(id, live, message, delivered);
    if (retain) store.retained.handedOn(topic);
  }

  /** Of what is published at another node: this one's own the tap has told already. */
  #record(live: LiveMessage, isOwn: boolean): void {
    if (this.#options.isFull && !isOwn) this.#options.tap.watcher?.(live);
  }

  #connect(about: NodeEntries['connect'], origin: EntryOrigin, payload: LogEntry['payload']): SharedAdmission {
    const { store, departures, registry, limits } = this.#options;
    const { id, number, isCleanStart, expirySeconds, at } = about;
    const { nodeId, run } = origin;
    const before = store.presences.get(id);
    if (before) this.#gone(before, { at, isWilled: true, expirySeconds: before.expirySeconds });
    departures.returned(id, { isCleanStart });
    const hasSession = store.sessions.get(id) !== undefined;
    // MQTT 5: an earlier session goes on although this connection wants none that outlives it.
    const isClean = about.isClean && (isCleanStart || !hasSession);
    const isTooMany = !isClean && !hasSession && store.sessions.count >= limits.maxSessions;
    if (isTooMany) return { isAdmitted: false, isClean };
    if (isCleanStart) store.endSession(id);
    const will = about.will && {
      ...about.will,
      payload: bufferOf(payload),
      properties: fromText(about.will.properties),
    };
    store.presences.put({ clientId: id, nodeId, run, number, isClean, expirySeconds, will });
    const owner = origin.isOwn ? (this.connections.get(number) ?? {}) : null;
    if (!isClean) store.sessions.open(id, { ...about.about, nodeId }, owner);
    registry.changed(id);
    return { isAdmitted: true, isClean };
  }

  /** The connection that a client had is gone: it left, was taken over, or its node is lost. */
  #gone(presence: Presence, { at, isWilled, expirySeconds, traffic }: Departure): void {
    const { store, departures, registry } = this.#options;
    const { clientId, number, isClean, will } = presence;
    store.presences.delete(clientId);
    const connection = this.isOwn(presence) ? this.connections.get(number) : undefined;
    if (connection) {
      this.connections.delete(number);
      void connection.end(SESSION_TAKEN_OVER);
    }
    const session = store.sessions.get(clientId);
    if (session) store.sessions.leave(session, at, expirySeconds, traffic);
    // When the session ends, a will that is put off is due.
    if (isWilled && will && will.delaySeconds > 0) {
      departures.delayWill(clientId, { ...will, due: at + will.delaySeconds * 1_000 });
    }
    departures.left(clientId, { isClean, expirySeconds }, at);
    if (isWilled && will && will.delaySeconds === 0) this.publishWill(clientId, will);
    registry.changed(clientId);
  }

  #lose(at: number, isLost: (presence: Presence) => boolean): void {
    for (const presence of [...this.#options.store.presences.all()].filter(isLost)) {
      this.#gone(presence, { at, isWilled: true, expirySeconds: presence.expirySeconds });
    }
  }

  #changeQueues({ sent, released, settled }: NodeEntries['queues'], run: string): void {
    const { queues } = this.#options.store;
    for (const [id, number, position, packetId] of sent) {
      if (!this.#current(id, number, run)) continue;
      this.#queued(id, position, (session, entry) => queues.applySent(session, entry, packetId));
    }
    for (const [id, position] of released) {
      this.#queued(id, position, (session, entry) => queues.applyReleased(session, entry));
    }
    for (const [id, position] of settled) {
      this.#queued(id, position, (session, entry) => queues.applySettled(session, entry));
    }
  }

  #queued(
    id: string,
    position: number,
    change: (session: Session, entry: NonNullable<ReturnType<Session['queue']['get']>>) => void,
  ): void {
    const session = this.#options.store.sessions.get(id);
    const entry = session?.queue.get(position);
    if (session && entry) change(session, entry);
  }

  /** Undefined: the client has another connection by now, or none. */
  #current(id: string, number: number, run: string): Presence | undefined {
    const presence = this.#options.store.presences.get(id);
    return presence?.run === run && presence.number === number ? presence : undefined;
  }

  /** Calls when what was made until now is as safe as it is to be, and the returned function was called. */
  #whenSafe(done: () => void): () => void {
    if (!this.#options.isFull) return done;
    const committed = this.#options.store.journal.commit();
    // A journal that cannot be written ends the broker.
    return () => void committed.then(done, () => {});
  }
}

function bufferOf(payload: Uint8Array | string | undefined): Buffer {
  if (payload === undefined) return Buffer.alloc(0);
  if (typeof payload === 'string') return Buffer.from(payload);
  if (Buffer.isBuffer(payload)) return payload;
  return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
}
