/** The worker of an embedded broker that fails, without naming a packet or record, for each message on `fatal`. */
import { SubscriptionIndex } from '../../../dist/engines/embedded/store/subscription-index.js';

const { match } = SubscriptionIndex.prototype;
SubscriptionIndex.prototype.match = function (topic, publisherId) {
  if (topic === 'fatal') {
    setImmediate(() => {
      throw new Error(`fatal number ${Math.random()}`);
    });
  }
  return match.call(this, topic, publisherId);
};
await import('../../../dist/engines/embedded/worker.js');
