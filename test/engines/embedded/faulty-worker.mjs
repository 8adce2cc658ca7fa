/** The worker of an embedded broker that ends with an exception which names no packet and no record, whenever a message on `fatal` is delivered. */
import MQEmitter from 'mqemitter';

const { emit } = MQEmitter.prototype;
MQEmitter.prototype.emit = function (message, done) {
  if (message.topic === 'fatal') {
    setImmediate(() => {
      throw new Error(`fatal number ${Math.random()}`);
    });
  }
  return emit.call(this, message, done);
};
await import('../../../dist/engines/embedded/worker.js');
