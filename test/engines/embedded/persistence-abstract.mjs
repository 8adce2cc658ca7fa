/** aedes-persistence's own suite, run by node:test against the built persistence; `persistence.test.ts` starts it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, test } from 'node:test';
import abstractPersistence from 'aedes-persistence/abstract.js';
import { BROKER_LIMITS } from '../../../dist/engines/embedded/limits.js';
import { BrokerStore } from '../../../dist/engines/embedded/store/broker-store.js';
import { Persistence } from '../../../dist/engines/embedded/store/persistence.js';

const root = mkdtempSync(join(tmpdir(), 'persistence-'));
after(() => rmSync(root, { recursive: true, force: true }));

/** Adds the methods that aedes does not call in the broker, so that the suite can use the whole store. */
class WholePersistence extends Persistence {
  #store;
  broker;

  constructor(store) {
    super(store, () => true);
    this.#store = store;
  }

  async setup(broker) {
    this.broker = broker;
    await super.setup(broker);
  }

  async storeRetained(packet) {
    if (this.#store.retained.put({ ...packet })) await this.#store.commit();
  }

  createRetainedStream(filter) {
    return this.createRetainedStreamCombi([filter]);
  }

  createRetainedStreamCombi(filters) {
    return Readable.from(this.#store.retained.matching(filters));
  }

  async subscriptionsByTopic(topic) {
    return this.#store.sessions.match(topic);
  }

  async countOffline() {
    const subscribed = [...this.#store.sessions.all()].filter(({ subscriptions }) => subscriptions.size > 0);
    const queueing = subscribed.flatMap(({ subscriptions }) =>
      [...subscriptions.values()].filter(({ qos }) => qos > 0),
    );
    return { subsCount: queueing.length, clientsCount: subscribed.length };
  }

  async outgoingEnqueue(subscription, packet) {
    await this.outgoingEnqueueCombi([subscription], packet);
  }

  async outgoingEnqueueCombi(subscriptions, { topic, payload, properties, qos, brokerId, brokerCounter }) {
    const { sessions, queues } = this.#store;
    const message = sessions.enqueue(subscriptions, { topic, payload, properties, qos: qos === 2 ? 2 : 1 });
    if (!message) return;
    queues.number(message, { brokerId, counter: brokerCounter });
    await this.#store.commit();
  }

  async incomingDelPacket(client, { messageId }) {
    if (!this.#store.incoming.release(client, messageId)) throw new Error('no such packet');
    await this.#store.commit();
  }

  async getWill({ id }) {
    return this.#store.wills.all().find(({ clientId }) => clientId === id);
  }

  getClientList(filter) {
    const sessions = [...this.#store.sessions.all()].filter(({ subscriptions }) => subscriptions.has(filter));
    return Readable.from(sessions.map(({ id }) => id));
  }

  async destroy() {
    this.#store.close();
  }
}

abstractPersistence({
  test,
  testAsync: true,
  persistence: () =>
    new WholePersistence(
      new BrokerStore({
        folder: mkdtempSync(join(root, 'broker-')),
        limits: BROKER_LIMITS,
        onBroken: (error) => {
          throw error;
        },
      }),
    ),
});
