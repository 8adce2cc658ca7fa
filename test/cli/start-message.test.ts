import { expect, test } from 'vitest';
import { startMessage } from '../../src/cli/serve.ts';
import { temporaryFolder } from '../support/database.ts';
import { startTestService } from '../support/service.ts';

test('a broker keeps the ports that it was made with, and the start says which settings it does not follow', async () => {
  const folder = { embeddedBroker: true, dataDir: temporaryFolder() };
  const first = await startTestService(folder);
  expect(first.report.unusedPorts).toEqual([]);
  expect(startMessage(first.report)).not.toContain('MQTT_');
  await first.close();
  const env = { MQTT_PORT: '1', MQTT_WS_PORT: '2', DATABASE_URL: first.config.databaseUrl ?? '' };
  const second = await startTestService({ ...folder, env });
  expect(second.report.mqtt?.url).not.toMatch(/:1$/);
  expect(startMessage(second.report)).toContain('MQTT_PORT=1 and MQTT_WS_PORT=2 would count for a new broker only');
});
