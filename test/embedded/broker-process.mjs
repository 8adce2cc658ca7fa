/** A process that runs one embedded broker from the build, so that tests can kill it: `broker-process.mjs <folder> <listeners as JSON> <URL of the worker> [own-process]`. */
import { startEmbeddedBroker } from '../../dist/embedded/embedded-broker.js';

const [folder, listeners = '[]', worker = '', where] = process.argv.slice(2);
const broker = await startEmbeddedBroker({
  id: 'killed',
  folder,
  listeners: JSON.parse(listeners),
  administrator: { username: 'admin', password: 'correct horse' },
  workerUrl: new URL(worker),
  ownProcess: where === 'own-process',
  log: { info: () => {}, warn: console.error, error: console.error },
});
process.send?.(broker.listeners);
