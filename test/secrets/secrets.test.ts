import { expect, test } from 'vitest';
import { startRecordedService } from './recorded-service.ts';
import { SECRET_STEPS } from './secret-steps.ts';

test('no secret is in a line of the log, an answer, an error, a row, a file or what is printed', async () => {
  const service = await startRecordedService();
  const { storage, services } = service;
  const broker = await storage.db.broker.findFirstOrThrow({ where: { engine: 'embedded' } });
  const listener = services.cloudBrokers
    .listenersOf(broker.id)
    ?.find(({ protocol, tls }) => protocol === 'MQTT' && !tls);
  const world = { ...service, brokerId: broker.id, mqttUrl: `mqtt://127.0.0.1:${listener?.port}` };
  await expect.poll(() => services.runtimes.isConnected(broker.id)).toBe(true);
  const failed: string[] = [];
  for (const { name, run } of SECRET_STEPS) {
    await run(world).catch((error: Error) => failed.push(`${name}: ${error.stack}`));
  }
  expect(failed).toEqual([]);
  await service.http('GET', '/metrics');
  expect(service.secrets.names.length).toBeGreaterThan(100);
  expect(await service.leaks()).toEqual([]);
});
