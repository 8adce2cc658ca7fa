import type { Client, PublishPacket } from 'aedes';
import type { AccessControl, Identity } from '../access.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import { consume } from '../store/consumed-publish.ts';
import type { AcknowledgementHold } from '../store/incoming-store.ts';
import { forwardable } from '../store/message-properties.ts';
import type { DelayedWill, WillPacket } from '../store/will-store.ts';
import { type Connection, RECEIVE_MAXIMUM_EXCEEDED } from './connection.ts';
import type { HandleControl } from './control-handler.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryScheduler } from './delivery-scheduler.ts';
import type { InternalPublisher } from './internal-publisher.ts';
import { PacketQueue } from './packet-queue.ts';
import type { PublishTap } from './publish-tap.ts';

interface PublishHandlerOptions {
  readonly store: BrokerStore;
  readonly access: AccessControl;
  readonly control: HandleControl;
  readonly delivery: Delivery;
  readonly scheduler: DeliveryScheduler;
  readonly publisher: InternalPublisher;
  readonly tap: PublishTap;
  readonly delayWill: (clientId: string, will: DelayedWill) => void;
  /** QoS 2 publishes of one client that wait for PUBREL. A client that exceeds it is disconnected. */
  readonly maxIncoming: number;
  readonly onProblem: (problem: string, error: Error) => void;
}

/** Continues with the packet in aedes. An error closes the connection. */
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
  readonly #options: PublishHandlerOptions;
  refused = 0;

  constructor(options: PublishHandlerOptions) {
    this.#options = options;
  }

  take(client: Client, connection: Connection, packet: PublishPacket, done: Done): void {
    const { access, control, store } = this.#options;
    const { topic, payload, qos } = packet;
    // [MQTT-4.3.3-10] A publish that is repeated before PUBREL is the same message.
    if (!this.#isRepeated(client, packet)) {
      connection.published += 1;
      connection.publishedBytes += payload.length;
    }
    const { identity } = connection;
    if (!identity || !access.mayPublish(identity, topic)) {
      this.refused += 1;
      if (connection.protocolVersion === 5) {
        done(new Error('not authorised'));
        return;
      }
      consume(packet);
      done();
      return;
    }
    if (topic.startsWith('$CONTROL/')) {
      control(client, connection, packet, done);
      return;
    }
    if (qos > 0) {
      this.#takeAcknowledged(client, connection, packet, done);
      return;
    }
    if (packet.properties) Object.assign(packet, { properties: forwardable(packet.properties) });
    const tapped = this.#options.tap.take(packet, true);
    if (!packet.retain && !tapped) {
      done();
      return;
    }
    // aedes would wait for the store, and the next message would overtake this one.
    if (packet.retain) store.accept(client, packet);
    const { properties, retain } = packet;
    consume(packet);
    const delivered = delayAck(connection, tapped, payload.length, done);
    this.#options.delivery.deliver(client.id, { topic, payload, qos, retain, properties }, null, delivered);
    if (retain) store.retained.delivered(topic);
    tapped?.notify();
  }

  /** `identity` is `null` if the client is unknown. */
  takeWill(identity: Identity | null, packet: PublishPacket, done: Done): void {
    const { access, delayWill } = this.#options;
    const { topic, payload, qos, retain } = packet;
    const { delaySeconds = 0 } = packet as WillPacket;
    if (identity && access.mayPublish(identity, topic) && !topic.startsWith('$CONTROL/')) {
      const due = Date.now() + delaySeconds * 1000;
      const will = { topic, payload, qos, retain, properties: forwardable(packet.properties), due };
      if (delaySeconds > 0) delayWill(identity.clientId, will);
      else this.publishWill(identity.clientId, will);
    }
    consume(packet);
    done();
  }

  /** Stores and delivers a will. Access control was checked when the connection ended. */
  publishWill(clientId: string, { topic, payload, qos, retain, properties }: DelayedWill): void {
    const { publisher, onProblem } = this.#options;
    publisher.send(clientId, { topic, payload, qos, retain, properties }, (error) => {
      if (error) onProblem('a will could not be stored', error);
    });
  }

  #isRepeated(client: Client, { qos, messageId }: PublishPacket): boolean {
    return qos === 2 && messageId !== undefined && this.#options.store.incoming.has(client.id, messageId);
  }

  #takeAcknowledged(client: Client, connection: Connection, packet: PublishPacket, done: Done): void {
    const { store, delivery, scheduler, tap, maxIncoming, onProblem } = this.#options;
    const { topic, payload, qos, retain } = packet;
    if (this.#isRepeated(client, packet)) {
      this.#takeRepeated(client, connection, packet, done);
      return;
    }
    if (qos === 2 && store.incoming.count(client.id) >= maxIncoming) {
      // With an error aedes would answer an MQTT 5 client "not authorized", and continue.
      if (connection.protocolVersion === 5) void connection.disconnect(RECEIVE_MAXIMUM_EXCEEDED);
      else done(new Error('too many QoS 2 publishes without PUBREL'));
      return;
    }
    const tapped = tap.take(packet, true);
    const { message, isDurable } = store.accept(client, packet, tapped);
    const properties = forwardable(packet.properties);
    const delivered = delayAck(connection, tapped, payload.length, () => {
      // aedes acknowledges QoS 2 from the stored packet id, and publishes QoS 1 after PUBACK.
      if (qos === 1) consume(packet);
      done();
    });
    const deliver = () => {
      delivery.deliver(client.id, { topic, payload, qos, retain, properties }, message, delivered);
      if (retain) store.retained.delivered(topic);
    };
    // Messages of a client keep their order: one that needs no commit waits for earlier ones that do.
    if (!isDurable && connection.pendingCommits === 0) deliver();
    else {
      countPending(connection, qos, payload.length, 1);
      const finished = () => countPending(connection, qos, payload.length, -1);
      store.commit().then(
        () => {
          scheduler.add(connection, () => {
            deliver();
            finished();
          });
        },
        (error: Error) => {
          finished();
          onProblem('a publish could not be stored', error);
          done(error);
        },
      );
    }
    tapped?.notify();
  }

  /** aedes sends PUBREC from the stored packet id, which must be on disk then. */
  #takeRepeated(client: Client, connection: Connection, packet: PublishPacket, done: Done): void {
    const { store, tap } = this.#options;
    const { messageId = 0, payload } = packet;
    const hold = store.incoming.holdOf(client.id, messageId);
    // The publish was received before a restart: whether the streams have processed it is not known.
    const tapped = hold === 'UNKNOWN' ? tap.take(packet, true) : null;
    if (hold === 'UNKNOWN') store.incoming.setHold(client.id, messageId, tapped);
    const acknowledge = delayAck(connection, hold === 'UNKNOWN' ? tapped : hold, payload.length, done);
    store.commit().then(acknowledge, done);
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
