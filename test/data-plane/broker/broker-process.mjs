/**
 * A process that runs one embedded broker from the build, so that tests can kill it: `broker-process.mjs <folder>
 * <listeners as JSON> <URL of the worker>`. It sends `running` with the listeners or `failed`, and each state, log line
 * and stall. It closes the broker, and ends, when it is sent `close`.
 */
import { startEmbeddedBroker } from '../../../src/data-plane/broker/embedded-broker.ts';

const [folder, listeners = '[]', worker = ''] = process.argv.slice(2);
const send = (message) => process.connected && process.send?.(message);
const stalls = new BroadcastChannel('stalls');
stalls.unref();
stalls.onmessage = ({ data: ms }) => send({ type: 'stall', ms });
const logged = (level) => (fields, text) => send({ type: 'log', level, fields, text });
try {
  const broker = await startEmbeddedBroker({
    id: 'killed',
    folder,
    listeners: JSON.parse(listeners),
    administrator: { username: 'admin', password: 'correct horse' },
    workerUrl: new URL(worker),
    log: { info: () => {}, warn: logged('warn'), error: logged('error') },
    onState: (state, error) => send({ type: 'state', state, error }),
  });
  process.on('message', async (message) => {
    if (message !== 'close') return;
    await broker.close();
    process.disconnect();
  });
  send({ type: 'running', listeners: broker.listeners });
} catch (error) {
  send({ type: 'failed', reason: error.message });
  process.exitCode = 1;
}
