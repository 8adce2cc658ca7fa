import type { Client, PublishPacket } from 'aedes';
import type { AccessControl, Identity } from '../access.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import { consume } from '../store/consumed-publish.ts';
import type { Held } from '../store/incoming-store.ts';
import { forwardable } from '../store/message-properties.ts';
import type { DelayedWill, WillPacket } from '../store/will-store.ts';
import { type Connection, RECEIVE_MAXIMUM_EXCEEDED } from './connection.ts';
import type { ControlIntake } from './control-intake.ts';
import type { Delivery } from './delivery.ts';
import type { DeliveryTurns } from './delivery-turns.ts';
import type { OwnPublishes } from './own-publishes.ts';
import { PacketQueue } from './packet-queue.ts';
import type { PublishTap } from './publish-tap.ts';

export interface PublishIntakeOptions {
  readonly store: BrokerStore;
  readonly access: AccessControl;
  readonly control: ControlIntake;
  readonly delivery: Delivery;
  readonly turns: DeliveryTurns;
  readonly own: OwnPublishes;
  readonly tap: PublishTap;
  readonly delayWill: (clientId: string, will: DelayedWill) => void;
  /** QoS 2 publishes of one client that wait for PUBREL; a client with more is disconnected. */
  readonly maxIncoming: number;
  readonly onProblem: (problem: string, error: Error) => void;
}

/** Lets aedes go on with the packet, or ends the connection. */
type Done = (error?: Error | null) => void;

/**
 * What happens when a client publishes.
 *
 * aedes acknowledges a QoS 1 publish before it stores it, numbers a message before it stores it and then drops what is overtaken
 * as a duplicate, and closes the connection of a client that may not publish. So every publish of QoS 1 or 2 is taken in here:
 * stored and committed, then delivered, then acknowledged; aedes is left with a packet for a topic that nobody has. What a client
 * may not publish is acknowledged and dropped, as Mosquitto does; MQTT 5 tells it so in the acknowledgement.
 *
 * Who listens at the tap is told of a message as soon as it was handed on, while the journal may still be writing it. Who holds it
 * puts off its acknowledgement, and those of what its client sent afterwards; of QoS 0, the reading of what follows.
 */
export class PublishIntake {
  readonly #options: PublishIntakeOptions;
  #refused = 0;

  constructor(options: PublishIntakeOptions) {
    this.#options = options;
  }

  /** Publishes dropped because their client may not send them, since the start. */
  get refused(): number {
    return this.#refused;
  }

  take(client: Client, connection: Connection, packet: PublishPacket, done: Done): void {
    const { access, control, store } = this.#options;
    const { topic, payload, qos } = packet;
    // Sent again before PUBREL it is the same message (MQTT-4.3.3-10).
    if (!this.#isRepeated(client, packet)) {
      connection.published += 1;
      connection.publishedBytes += payload.length;
    }
    const { identity } = connection;
    if (!identity || !access.mayPublish(identity, topic)) {
      this.#refused += 1;
      if (connection.protocolVersion === 5) {
        done(new Error('not authorised'));
        return;
      }
      consume(packet);
      done();
      return;
    }
    if (topic.startsWith('$CONTROL/')) {
      control.take(client, connection, packet, done);
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
    // aedes would wait for it to be stored and be overtaken by the next message.
    if (packet.retain) store.accept(client, packet);
    const { properties, retain } = packet;
    consume(packet);
    const delivered = putOff(connection, tapped, payload.length, done);
    this.#options.delivery.deliver(client.id, { topic, payload, qos, retain, properties }, null, delivered);
    if (retain) store.retained.handedOn(topic);
    tapped?.tell();
  }

  /** `identity` is null where its client is not known any more. */
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

  /** Stores and delivers it, whether or not its client may still publish. */
  publishWill(clientId: string, { topic, payload, qos, retain, properties }: DelayedWill): void {
    const { own, onProblem } = this.#options;
    own.send(clientId, { topic, payload, qos, retain, properties }, (error) => {
      if (error) onProblem('a will could not be stored', error);
    });
  }

  #isRepeated(client: Client, { qos, messageId }: PublishPacket): boolean {
    return qos === 2 && messageId !== undefined && this.#options.store.incoming.has(client.id, messageId);
  }

  #takeAcknowledged(client: Client, connection: Connection, packet: PublishPacket, done: Done): void {
    const { store, delivery, turns, tap, maxIncoming, onProblem } = this.#options;
    const { topic, payload, qos, retain } = packet;
    if (this.#isRepeated(client, packet)) {
      this.#takeRepeated(client, connection, packet, done);
      return;
    }
    if (qos === 2 && store.incoming.count(client.id) >= maxIncoming) {
      // aedes tells a client of MQTT 5 that it may not publish this one, and goes on.
      if (connection.protocolVersion === 5) void connection.end(RECEIVE_MAXIMUM_EXCEEDED);
      else done(new Error('too many QoS 2 publishes without PUBREL'));
      return;
    }
    const tapped = tap.take(packet, true);
    const { message, isDurable } = store.accept(client, packet, tapped);
    const properties = forwardable(packet.properties);
    const delivered = putOff(connection, tapped, payload.length, () => {
      // QoS 2 is answered from its stored packet id; QoS 1 is still published by aedes after PUBACK.
      if (qos === 1) consume(packet);
      done();
    });
    const deliver = () => {
      delivery.deliver(client.id, { topic, payload, qos, retain, properties }, message, delivered);
      if (retain) store.retained.handedOn(topic);
    };
    // Messages of one client keep their order, so one that needs no commit waits for those before it that do.
    if (!isDurable && connection.pendingCommits === 0) deliver();
    else {
      countPending(connection, qos, payload.length, 1);
      const finished = () => countPending(connection, qos, payload.length, -1);
      store.commit().then(
        () => {
          turns.add(connection, () => {
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
    tapped?.tell();
  }

  /** aedes answers PUBREC from the stored packet id, which must be on disk by then. */
  #takeRepeated(client: Client, connection: Connection, packet: PublishPacket, done: Done): void {
    const { store, tap } = this.#options;
    const { messageId = 0, payload } = packet;
    const held = store.incoming.heldBy(client.id, messageId);
    // It came before the broker was started again: whether those who held it had it is not known.
    const tapped = held === 'UNKNOWN' ? tap.take(packet, true) : null;
    if (held === 'UNKNOWN') store.incoming.hold(client.id, messageId, tapped);
    const answer = putOff(connection, held === 'UNKNOWN' ? tapped : held, payload.length, done);
    store.commit().then(answer, done);
    tapped?.tell();
  }
}

/**
 * Calls when nobody holds the message any more, once the returned function was called, and after those that its connection sent
 * before.
 */
function putOff(connection: Connection, held: Held | null, bytes: number, run: () => void): () => void {
  const before = connection.held;
  if (!held && (before === null || before.isEmpty)) return run;
  connection.held ??= new PacketQueue(connection);
  const ready = connection.held.add(bytes, run);
  return held ? () => held.whenFree(ready) : ready;
}

function countPending(connection: Connection, qos: 0 | 1 | 2, bytes: number, sign: 1 | -1): void {
  connection.pendingCommits += sign;
  connection.pendingBytes += sign * bytes;
  if (qos !== 2) return;
  connection.pendingQos2 += sign;
  connection.pendingQos2Bytes += sign * bytes;
}
