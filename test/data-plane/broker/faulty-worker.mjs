/** The worker of an embedded broker that fails, without naming a packet or record, for each message on `fatal`. */
import { SubscriptionIndex } from '../../../src/data-plane/broker/store/subscription-index.ts';

const { match } = SubscriptionIndex.prototype;
SubscriptionIndex.prototype.match = function (topic, publisherId) {
  if (topic === 'fatal') {
    setImmediate(() => {
      throw new Error(`fatal number ${Math.random()}`);
    });
  }
  return match.call(this, topic, publisherId);
};
await import('../../../src/data-plane/broker/worker.ts');
