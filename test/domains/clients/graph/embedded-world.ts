import { readFileSync } from 'node:fs';
import type { IClientOptions } from 'mqtt';
import { startClient } from '../../../support/mosquitto.ts';
import { startTestService } from '../../../support/service.ts';

/** A service with an embedded broker. `join` connects clients with its account. */
export async function embeddedWorld() {
  const service = await startTestService({ embeddedBroker: true });
  const { mqtt } = service.report;
  if (!mqtt) throw new Error('The embedded broker did not start');
  const { id: brokerId } = await service.storage.db.broker.findFirstOrThrow();
  const password = readFileSync(mqtt.passwordFile, 'utf8').trim();
  const join = (clientId: string, options: IClientOptions = {}) =>
    startClient(mqtt.url, { clientId, username: mqtt.username, password, ...options });
  return { service, brokerId, join };
}
