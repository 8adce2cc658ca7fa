import type { BrokerClient } from '../clients/broker-client.ts';
import { type Connection, RECEIVE_MAXIMUM_EXCEEDED } from '../clients/connection.ts';
import type { CoreParts } from '../core/core-parts.ts';
import type { Delivery } from '../delivery/delivery.ts';
import { DeliveryScheduler } from '../delivery/delivery-scheduler.ts';
import { PacketQueue } from '../packets/packet-queue.ts';
import { writeResponse } from '../packets/responses.ts';
import { consume, type ReceivedPublish } from '../store/aedes-packets.ts';
import type { AcknowledgementHold } from '../store/incoming-store.ts';
import { forwardable } from '../store/message-properties.ts';

/** Maximum number of unfinished control requests of one client. Its next packet then waits. */
const MAX_PENDING_CONTROL = 64;

/** Reason codes of PUBACK and PUBREC (MQTT 5, 3.4.2.1). */
const NOT_AUTHORIZED = 0x87;
const QUOTA_EXCEEDED = 0x97;

type Done = (error?: Error | null) => void;

/**
 * Handles the publishes of clients: stores and commits QoS 1 and 2, delivers, and then acknowledges. aedes gets a
 * packet with a topic that has no subscribers, because aedes acknowledges QoS 1 before it is stored, drops overtaken
 * messages as duplicates, and closes the connection of a client that may not publish. Such a publish is acknowledged
 * and dropped, as in Mosquitto.
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

  take(client: BrokerClient, connection: Connection, packet: ReceivedPublish, done: Done): void {
    const { access, store, tap } = this.#parts;
    const { topic, payload, qos } = packet;
    // [MQTT-4.3.3-10] A publish that is repeated before PUBREL is the same message.
    if (!this.#isRepeated(client, packet)) {
      connection.published += 1;
      connection.publishedBytes += payload.length;
    }
    const { identity } = connection;
    if (!identity || !access.mayPublish(identity, topic)) {
      this.refused += 1;
      const reasonCode = connection.protocolVersion === 5 && qos > 0 ? NOT_AUTHORIZED : null;
      this.#parts.onDenied?.(connection, { action: 'PUBLISH', topic, cause: 'FORBIDDEN', reasonCode });
      if (connection.protocolVersion === 5) {
        done(new Error('not authorised'));
        return;
      }
      consume(packet);
      done();
      return;
    }
    if (topic.startsWith('$CONTROL/')) {
      this.#takeControl(client, connection, packet, done);
      return;
    }
    if (qos > 0) {
      this.#takeAcknowledged(client, connection, packet, done);
      return;
    }
    if (packet.properties) Object.assign(packet, { properties: forwardable(packet.properties) });
    const tapped = tap.take(packet, true);
    const { properties, retain } = packet;
    const isNotRetained = retain && store.cannotStore(client, packet);
    if (isNotRetained) store.retained.refused += 1;
    const accepted = store.accept(client, isNotRetained ? { ...packet, retain: false } : packet);
    consume(packet);
    const delivered = delayAck(connection, tapped, payload.length, done);
    this.#delivery.deliver(client.id, { topic, payload, qos, retain, properties }, accepted, delivered);
    tapped?.notify();
  }

  #takeControl(client: BrokerClient, connection: Connection, packet: ReceivedPublish, done: Done): void {
    const { serveControl, onProblem } = this.#parts;
    // The command has run, and aedes acknowledges the stored packet id.
    if (this.#isRepeated(client, packet)) {
      done();
      return;
    }
    const { topic } = packet;
    const payload = Buffer.from(packet.payload);
    consume(packet);
    connection.pendingControl += 1;
    const served = serveControl(client, topic, payload)
      .catch((error: Error) => onProblem(`a request on ${topic} failed`, error))
      .finally(() => {
        connection.pendingControl -= 1;
      });
    if (connection.pendingControl < MAX_PENDING_CONTROL) done();
    else void served.then(() => done());
  }

  #isRepeated(client: BrokerClient, { qos, messageId }: ReceivedPublish): boolean {
    return qos === 2 && messageId !== undefined && this.#parts.store.incoming.has(client.id, messageId);
  }

  #takeAcknowledged(client: BrokerClient, connection: Connection, packet: ReceivedPublish, done: Done): void {
    const { store, tap, limits, onProblem, onDenied } = this.#parts;
    const { topic, payload, qos, retain } = packet;
    if (this.#isRepeated(client, packet)) {
      this.#takeRepeated(client, connection, packet, done);
      return;
    }
    if (qos === 2 && store.incoming.count(client.id) >= limits.maxIncoming) {
      // With an error aedes would answer an MQTT 5 client "not authorized", and continue.
      if (connection.protocolVersion === 5) void connection.disconnect(RECEIVE_MAXIMUM_EXCEEDED);
      else done(new Error('too many QoS 2 publishes without PUBREL'));
      return;
    }
    if (store.cannotStore(client, packet)) {
      this.#afterEarlier(connection, packet, () => this.#notStored(client, connection, packet, done));
      return;
    }
    if (retain && connection.protocolVersion === 5 && !store.mayRetain(packet)) {
      onDenied?.(connection, { action: 'PUBLISH', topic, cause: 'TOO_MANY', reasonCode: QUOTA_EXCEEDED });
      store.retained.refused += 1;
      this.#afterEarlier(connection, packet, () => this.#refuse(client, connection, packet));
      return;
    }
    const tapped = tap.take(packet, true);
    const accepted = store.accept(client, packet, tapped);
    const properties = forwardable(packet.properties);
    let isWithdrawn = false;
    const delivered = delayAck(connection, tapped, payload.length, () => {
      if (isWithdrawn) {
        this.#notStored(client, connection, packet, done);
        return;
      }
      // aedes acknowledges QoS 2 from the stored packet id, and publishes QoS 1 after PUBACK.
      if (qos === 1) consume(packet);
      done();
    });
    const deliver = () =>
      this.#delivery.deliver(client.id, { topic, payload, qos, retain, properties }, accepted, delivered);
    // Messages of a client keep their order: one that needs no commit waits for earlier ones that do.
    if (!accepted.isDurable && connection.pendingCommits === 0) deliver();
    else {
      countPending(connection, qos, payload.length, 1);
      const finished = () => countPending(connection, qos, payload.length, -1);
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
          store.withdraw(client, packet, accepted);
          isWithdrawn = true;
          delivered();
        },
      );
    }
    tapped?.notify();
  }

  /** MQTT 3 has no reason codes, so the connection is closed without an acknowledgement [MQTT-3.3.5-2]. */
  #notStored(client: BrokerClient, connection: Connection, packet: ReceivedPublish, done: Done): void {
    if (connection.protocolVersion === 5) this.#refuse(client, connection, packet);
    else done(new Error('a publish could not be stored'));
  }

  /** Responds to MQTT 5 instead of aedes. */
  #refuse(client: BrokerClient, connection: Connection, { qos, messageId = 0 }: ReceivedPublish): void {
    this.refused += 1;
    const response = { cmd: qos === 1 ? 'puback' : 'pubrec', messageId, reasonCode: QUOTA_EXCEEDED } as const;
    this.#scheduler.add(connection, () => {
      if (!client.closed) writeResponse(client, response);
    });
  }

  /** Behind the acknowledgements of earlier publishes, also of those that cannot be stored. */
  #afterEarlier(connection: Connection, { payload }: ReceivedPublish, run: () => void): void {
    delayAck(connection, null, payload.length, () => void this.#parts.store.commit().then(run, run))();
  }

  /** aedes sends PUBREC from the stored packet id, which must be on disk then. */
  #takeRepeated(client: BrokerClient, connection: Connection, packet: ReceivedPublish, done: Done): void {
    const { store, tap } = this.#parts;
    const { messageId = 0, payload } = packet;
    const hold = store.incoming.holdOf(client.id, messageId);
    // The publish was received before a restart: whether the streams have processed it is not known.
    const tapped = hold === 'UNKNOWN' ? tap.take(packet, true) : null;
    if (hold === 'UNKNOWN') store.incoming.setHold(client.id, messageId, tapped);
    const acknowledge = delayAck(connection, hold === 'UNKNOWN' ? tapped : hold, payload.length, done);
    store.written().then(acknowledge, done);
    tapped?.notify();
  }
}

/** Returns a function that calls `run` when no stream holds the message, after earlier delayed publishes. */
function delayAck(connection: Connection, hold: AcknowledgementHold | null, bytes: number, run: () => void) {
  const earlier = connection.delayedAcks;
  if (!hold && (earlier === null || earlier.isEmpty)) return run;
  connection.delayedAcks ??= new PacketQueue(connection);
  const ready = connection.delayedAcks.add(bytes, run);
  return hold ? () => hold.whenFree(ready) : ready;
}

function countPending(connection: Connection, qos: 0 | 1 | 2, bytes: number, sign: 1 | -1): void {
  connection.pendingCommits += sign;
  connection.pendingBytes += sign * bytes;
  if (qos !== 2) return;
  connection.pendingQos2 += sign;
  connection.pendingQos2Bytes += sign * bytes;
}
