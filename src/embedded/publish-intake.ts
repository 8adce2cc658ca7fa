import type { Client, PublishPacket } from 'aedes';
import type { AccessControl, Identity } from './access.ts';
import type { BrokerStore } from './broker-store.ts';
import type { Connection } from './connection.ts';
import { consume } from './consumed-publish.ts';
import type { ControlIntake } from './control-intake.ts';
import type { Delivery } from './delivery.ts';

export interface PublishIntakeOptions {
  readonly store: BrokerStore;
  readonly access: AccessControl;
  readonly control: ControlIntake;
  readonly delivery: Delivery;
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
 * may not publish is acknowledged and dropped, as Mosquitto does.
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
    connection.published += 1;
    connection.publishedBytes += payload.length;
    const { identity } = connection;
    if (!identity || !access.mayPublish(identity, topic)) {
      this.#refused += 1;
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
    if (packet.retain) {
      store.accept(null, packet);
      // Stored; aedes would wait for it to be stored again and be overtaken by the next message.
      packet.retain = false;
    }
    done();
  }

  /** `identity` is null where its client is not known any more. */
  takeWill(identity: Identity | null, packet: PublishPacket, done: Done): void {
    const { store, access, delivery, onProblem } = this.#options;
    const { topic, payload, qos } = packet;
    if (identity && access.mayPublish(identity, topic) && !topic.startsWith('$CONTROL/')) {
      const { message } = store.accept(null, packet);
      store
        .commit()
        .then(() => delivery.deliver(identity.clientId, { topic, payload, qos }, message, () => {}))
        .catch((error: Error) => onProblem('a will could not be stored', error));
    }
    consume(packet);
    done();
  }

  #takeAcknowledged(client: Client, connection: Connection, packet: PublishPacket, done: Done): void {
    const { store, delivery, maxIncoming, onProblem } = this.#options;
    const { topic, payload, qos, messageId } = packet;
    const isRepeated = qos === 2 && messageId !== undefined && store.incoming.has(client.id, messageId);
    if (isRepeated) {
      // aedes answers PUBREC from the stored packet id, which must be on disk by then.
      store.commit().then(() => done(), done);
      return;
    }
    if (qos === 2 && store.incoming.count(client.id) >= maxIncoming) {
      done(new Error('too many QoS 2 publishes without PUBREL'));
      return;
    }
    const { message, isDurable } = store.accept(client, packet);
    const deliver = () =>
      delivery.deliver(client.id, { topic, payload, qos }, message, () => {
        // QoS 2 is answered from its stored packet id; QoS 1 is still published by aedes after PUBACK.
        if (qos === 1) consume(packet);
        done();
      });
    // Messages of one client keep their order, so one that needs no commit waits for those before it that do.
    if (!isDurable && connection.pendingCommits === 0) {
      deliver();
      return;
    }
    connection.pendingCommits += 1;
    store
      .commit()
      .then(deliver, (error: Error) => {
        onProblem('a publish could not be stored', error);
        done(error);
      })
      .finally(() => {
        connection.pendingCommits -= 1;
      });
  }
}
