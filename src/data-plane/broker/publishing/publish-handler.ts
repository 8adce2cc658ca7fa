import { levelProblem } from '../../../protocol/mqtt/topics.ts';
import { type Connection, RECEIVE_MAXIMUM_EXCEEDED } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { DeliveryScheduler } from '../delivery/delivery-scheduler.ts';
import type { LiveMessage } from '../delivery/sent-messages.ts';
import type { ReceivedPublish } from '../packets/incoming-packet.ts';
import { PacketQueue } from '../packets/packet-queue.ts';
import { NO_PROPERTIES } from '../packets/property-rules.ts';
import { invalidName } from '../packets/refused-packet.ts';
import { acknowledge } from '../packets/responses.ts';
import type { AcknowledgementHold } from '../store/incoming-store.ts';
import { forwardable } from '../store/message-properties.ts';

/** Maximum number of unfinished control requests of one client. Its next packet then waits. */
const MAX_PENDING_CONTROL = 64;

/** Reason codes of PUBACK and PUBREC (MQTT 5, 3.4.2.1). */
const NOT_AUTHORIZED = 0x87;
const QUOTA_EXCEEDED = 0x97;

/** A PUBLISH whose topic alias was resolved. `done`: see `PacketHandlers.handle`. */
interface Publish {
  readonly connection: Connection;
  readonly live: LiveMessage & { readonly payload: Buffer; readonly messageId: number };
  readonly done: () => void;
}

/**
 * Handles the publishes of clients: stores and commits QoS 1 and 2, delivers, and then acknowledges. A publish without
 * permission is acknowledged and dropped; MQTT 5 has a reason code for it.
 *
 * Streams get a message when it was delivered. A stream that holds it delays its acknowledgement and those of later
 * publishes of the client, and for QoS 0 the reading of packets.
 */
export class PublishHandler {
  readonly #parts: CoreParts;
  readonly #delivery: Delivery;
  readonly #scheduler: DeliveryScheduler;
  refused = 0;

  constructor(parts: CoreParts, delivery: Delivery) {
    this.#parts = parts;
    this.#delivery = delivery;
    this.#scheduler = new DeliveryScheduler(parts);
  }

  /** Errors: RefusedPacket for a topic with too many levels. */
  take(connection: Connection, packet: ReceivedPublish, done: () => void): void {
    const { access } = this.#parts;
    const { payload, qos, retain, messageId } = packet;
    const topic = topicOf(connection, packet);
    const properties = packet.properties === NO_PROPERTIES ? undefined : forwardable(packet.properties);
    const live = { topic, payload, qos, retain, messageId, properties };
    const publish = { connection, live, done };
    // [MQTT-4.3.3-10] A publish that is repeated before PUBREL is the same message.
    const isRepeated = qos === 2 && this.#parts.store.incoming.has(connection.id, messageId);
    if (!isRepeated) connection.counters.publish(payload.length);
    const { identity } = connection;
    if (!identity || !access.mayPublish(identity, topic)) this.#deny(publish);
    else if (topic.startsWith('$CONTROL/')) this.#takeControl(publish, isRepeated);
    else this.#takeMessage(publish, isRepeated);
  }

  #takeMessage(publish: Publish, isRepeated: boolean): void {
    const { connection, live } = publish;
    const { topic, payload, qos } = live;
    if (!isRepeated) this.#parts.onPublished?.(connection.id, topic, payload.length);
    if (qos === 0) this.#takeUnacknowledged(publish);
    else if (isRepeated) this.#takeRepeated(publish);
    else this.#takeAcknowledged(publish);
  }

  #deny(publish: Publish): void {
    const { connection, live, done } = publish;
    const { topic, qos } = live;
    const isV5 = connection.request.protocolVersion === 5;
    this.refused += 1;
    const reasonCode = isV5 && qos > 0 ? NOT_AUTHORIZED : null;
    this.#parts.onDenied?.(connection, { action: 'PUBLISH', topic, cause: 'FORBIDDEN', reasonCode });
    if (!isV5) this.#drop(publish);
    else if (qos === 0) done();
    else this.#acknowledge(publish, NOT_AUTHORIZED, 'not authorized');
  }

  /** Acknowledges a publish of which nothing is stored. */
  #drop(publish: Publish): void {
    const { connection, live } = publish;
    const { incoming } = this.#parts.store;
    const { qos, messageId, payload } = live;
    if (qos === 2 && !incoming.has(connection.id, messageId)) {
      incoming.remember(connection.id, messageId, payload.length);
    }
    this.#acknowledge(publish);
  }

  /** PUBREC of QoS 2, unless it refuses the publish, is sent when the packet id is stored. */
  #acknowledge({ connection, live: { qos, messageId }, done }: Publish, reasonCode = 0, reason?: string): void {
    const text = reason === undefined ? {} : { reason };
    if (qos > 0) acknowledge(connection, { cmd: qos === 1 ? 'puback' : 'pubrec', messageId, reasonCode, ...text });
    done();
  }

  #takeUnacknowledged({ connection, live, done }: Publish): void {
    const { store, tap } = this.#parts;
    const tapped = tap.take(live, true);
    const isNotRetained = live.retain && store.cannotStore(connection, live);
    if (isNotRetained) store.retained.refused += 1;
    const accepted = store.accept(connection, isNotRetained ? { ...live, retain: false } : live);
    const delivered = delayAck(connection, tapped, live.payload.length, done);
    this.#delivery.deliver(connection.id, live, accepted, delivered);
    tapped?.notify();
  }

  #takeControl(publish: Publish, isRepeated: boolean): void {
    const { serveControl, onProblem } = this.#parts;
    const { connection, live } = publish;
    if (isRepeated) {
      this.#acknowledge(publish);
      return;
    }
    const { topic } = live;
    connection.flow.pendingControl += 1;
    const served = serveControl(connection, topic, Buffer.from(live.payload))
      .catch((error: Error) => onProblem(`a request on ${topic} failed`, error))
      .finally(() => {
        connection.flow.pendingControl -= 1;
      });
    if (connection.flow.pendingControl < MAX_PENDING_CONTROL) this.#drop(publish);
    else void served.then(() => this.#drop(publish));
  }

  #takeAcknowledged(publish: Publish): void {
    const { store, tap, limits, onProblem, onDenied } = this.#parts;
    const { connection, live } = publish;
    const { topic, payload, qos, retain } = live;
    if (qos === 2 && store.incoming.count(connection.id) >= limits.maxIncoming) {
      void connection.disconnect(RECEIVE_MAXIMUM_EXCEEDED);
      return;
    }
    if (store.cannotStore(connection, live)) {
      this.#afterEarlier(publish, () => this.#notStored(publish));
      return;
    }
    if (retain && connection.request.protocolVersion === 5 && !store.mayRetain(live)) {
      onDenied?.(connection, { action: 'PUBLISH', topic, cause: 'TOO_MANY', reasonCode: QUOTA_EXCEEDED });
      store.retained.refused += 1;
      this.#afterEarlier(publish, () => this.#refuse(publish));
      return;
    }
    const tapped = tap.take(live, true);
    const accepted = store.accept(connection, live, tapped);
    let isWithdrawn = false;
    const delivered = delayAck(connection, tapped, payload.length, () => {
      if (isWithdrawn) this.#notStored(publish);
      else this.#acknowledge(publish);
    });
    const deliver = () => this.#delivery.deliver(connection.id, live, accepted, delivered);
    // Messages of a client keep their order: one that needs no commit waits for earlier ones that do.
    if (!accepted.isDurable && connection.counters.pendingCommits === 0) deliver();
    else {
      connection.counters.pending(qos, payload.length, 1);
      const finished = () => connection.counters.pending(qos, payload.length, -1);
      store.commit().then(
        () => {
          this.#scheduler.add(connection, () => {
            deliver();
            finished();
          });
        },
        (error: Error) => {
          finished();
          onProblem('a publish could not be stored', error);
          store.withdraw(connection, live, accepted);
          isWithdrawn = true;
          delivered();
        },
      );
    }
    tapped?.notify();
  }

  /** MQTT 3 has no reason codes, so the connection is closed without an acknowledgement [MQTT-3.3.5-2]. */
  #notStored(publish: Publish): void {
    if (publish.connection.request.protocolVersion === 5) this.#refuse(publish);
    else publish.connection.close();
  }

  #refuse(publish: Publish): void {
    this.refused += 1;
    this.#scheduler.add(publish.connection, () => this.#acknowledge(publish, QUOTA_EXCEEDED));
  }

  /** Behind the acknowledgements of earlier publishes, also of those that cannot be stored. */
  #afterEarlier({ connection, live }: Publish, run: () => void): void {
    delayAck(connection, null, live.payload.length, () => void this.#parts.store.commit().then(run, run))();
  }

  /** PUBREC is sent again when the stored packet id is on disk. */
  #takeRepeated(publish: Publish): void {
    const { store, tap } = this.#parts;
    const { connection, live } = publish;
    const { messageId, payload } = live;
    const hold = store.incoming.holdOf(connection.id, messageId);
    // The publish was received before a restart: whether the streams have processed it is not known.
    const tapped = hold === 'UNKNOWN' ? tap.take(live, true) : null;
    if (hold === 'UNKNOWN') store.incoming.setHold(connection.id, messageId, tapped);
    const run = () => this.#acknowledge(publish);
    const ready = delayAck(connection, hold === 'UNKNOWN' ? tapped : hold, payload.length, run);
    // A broken journal shuts the broker down.
    store.written().then(ready, () => {});
    tapped?.notify();
  }
}

/** MQTT 5, 3.3.2.3.4: an alias stands for the topic that an earlier packet has set. */
function topicOf({ flow: { topicAliases } }: Connection, { topic: sent, properties }: ReceivedPublish): string {
  const topic = sent === '' ? (topicAliases?.get(properties.topicAlias ?? 0) ?? '') : sent;
  const problem = levelProblem(topic);
  if (problem !== null) throw invalidName(`the topic ${problem}`, topic);
  return topic;
}

/** Returns a function that calls `run` when no stream holds the message, after earlier delayed publishes. */
function delayAck(connection: Connection, hold: AcknowledgementHold | null, bytes: number, run: () => void) {
  const earlier = connection.flow.delayedAcks;
  if (!hold && (earlier === null || earlier.isEmpty)) return run;
  connection.flow.delayedAcks ??= new PacketQueue(connection);
  const ready = connection.flow.delayedAcks.add(bytes, run);
  return hold ? () => hold.whenFree(ready) : ready;
}
