import { onTestFinished } from 'vitest';
import { AccessIndex } from '../../../../src/domains/access-control/reading/access-index.ts';
import { AccessWriter } from '../../../../src/domains/access-control/writing/access-writer.ts';
import { WriteQueue } from '../../../../src/domains/access-control/writing/write-queue.ts';
import { BrokerControls } from '../../../../src/protocol/control/broker-controls.ts';
import { connectedLink } from '../../../support/link.ts';
import { ADMIN, type Mosquitto } from '../../../support/mosquitto.ts';

/** Access control of a broker as this service opens it, closed when the test ends. */
export async function openAccess(broker: Mosquitto) {
  const link = await connectedLink({ url: broker.url, ...ADMIN });
  const controls = new BrokerControls(link, { timeoutMs: 30_000 });
  onTestFinished(() => controls.close());
  const index = new AccessIndex({ controls, session: link });
  onTestFinished(() => index.close());
  const writer = new AccessWriter({
    index,
    controls,
    session: link,
    gatewayUsername: ADMIN.username,
    connectedClients: async () => ({ clients: [], isComplete: false }),
  });
  return { controls, index, writer, queue: new WriteQueue((writes) => writer.write(writes)) };
}
