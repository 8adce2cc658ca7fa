import { Readable } from 'node:stream';
import { NOWHERE } from './aedes-packets.ts';
import type { BrokerStore } from './broker-store.ts';
import type { ClientRef } from './incoming-store.ts';
import type { WillPacket } from './will-store.ts';

interface PacketRef {
  readonly cmd?: string;
  readonly topic: string;
  readonly payload: Uint8Array | string;
  readonly qos: number;
  readonly retain?: boolean;
  readonly dup?: boolean;
  readonly messageId?: number | undefined;
  readonly brokerCounter?: number;
}

interface BrokerRef {
  readonly id: string;
}

/**
 * The interface of aedes-persistence 10 for the broker's store. A method resolves when its writes survive a killed
 * process. Not committed are the packet id of a sent QoS 1 message and the removal of an acknowledged one, because a
 * loss means one duplicate; and wills.
 */
export class Persistence {
  readonly #store: BrokerStore;
  #broker: BrokerRef | null = null;

  constructor(store: BrokerStore) {
    this.#store = store;
  }

  // aedes requires an async function.
  async setup(broker: BrokerRef): Promise<void> {
    this.#broker = broker;
    this.#store.load();
  }

  /** [MQTT-3.2.2-2] aedes reports a present session if it has subscriptions. This one is never granted. */
  async subscriptionsByClient(client: ClientRef): Promise<{ readonly topic: string; readonly qos: 0 }[]> {
    return this.#store.sessions.get(client.id)?.isResumed ? [{ topic: NOWHERE, qos: 0 }] : [];
  }

  /** aedes publishes to topics without subscribers only, because `PublishHandler` queues and delivers the messages. */
  async subscriptionsByTopic(): Promise<[]> {
    return [];
  }

  async outgoingEnqueueCombi(): Promise<void> {}

  /** For a persistent session, `Admission` has already deleted the earlier one, and created this one. */
  async cleanSubscriptions(client: ClientRef): Promise<void> {
    if (client.clean === false) return;
    if (this.#store.sessions.remove(client.id)) await this.#store.written();
  }

  /** aedes calls it for PUBREL only: `SessionSender` sends the queues. */
  async outgoingUpdate(client: ClientRef, { messageId }: PacketRef): Promise<void> {
    const { sessions, queues } = this.#store;
    const session = sessions.get(client.id);
    const entry = messageId === undefined ? undefined : session?.entryByPacketId(messageId);
    if (!session || !entry) return;
    queues.released(session, entry);
    await this.#store.written();
  }

  async outgoingClearMessageId(client: ClientRef, { messageId }: PacketRef): Promise<undefined> {
    const { sessions, queues } = this.#store;
    const session = sessions.get(client.id);
    const entry = messageId === undefined ? undefined : session?.entryByPacketId(messageId);
    if (session && entry) queues.settle(session, entry);
  }

  outgoingStream(): Readable {
    return Readable.from([]);
  }

  async incomingStorePacket(client: ClientRef, packet: PacketRef): Promise<void> {
    const { cmd, topic, payload: sent, qos, retain, dup, messageId } = packet;
    // The payload of a consumed packet is not needed.
    const payload = topic === NOWHERE ? '' : sent;
    const stored = { cmd, topic, payload, qos, retain, dup, messageId };
    this.#store.incoming.put(client.id, messageId ?? 0, stored, sent.length);
  }

  async incomingGetPacket(client: ClientRef, packet: PacketRef): Promise<object> {
    const found = this.#store.incoming.get(client.id, packet.messageId ?? 0);
    if (!found) throw new Error('no such packet');
    return found;
  }

  async putWill(client: ClientRef, packet: WillPacket): Promise<void> {
    if (this.#broker) packet.brokerId = this.#broker.id;
    packet.clientId = client.id;
    this.#store.wills.put(client.id, packet);
  }

  async delWill(client: ClientRef): Promise<WillPacket | undefined> {
    return this.#store.wills.remove(client.id);
  }

  streamWill(brokers: Readonly<Record<string, unknown>> = {}): Readable {
    return Readable.from(this.#store.wills.all().filter(({ brokerId }) => !brokers[brokerId ?? '']));
  }
}
