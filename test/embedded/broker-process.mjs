/** A process that runs one embedded broker from the build, so that tests can kill it: `broker-process.mjs <folder> <port>`. */
import { startEmbeddedBroker } from '../../dist/embedded/embedded-broker.js';

const [folder, port] = process.argv.slice(2);
const broker = await startEmbeddedBroker({
  id: 'killed',
  folder,
  listeners: [
    { number: 1, protocol: 'MQTT', host: '127.0.0.1', port: Number(port), tls: false, requireCertificate: false },
  ],
  administrator: { username: 'admin', password: 'correct horse' },
  log: { info: () => {}, warn: console.error, error: console.error },
});
process.send?.({ port: broker.listeners[0]?.port });
