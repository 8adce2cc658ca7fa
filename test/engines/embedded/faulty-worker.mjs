/** The worker of an embedded broker that fails, without naming a packet or record, for each message on `fatal`. */
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
