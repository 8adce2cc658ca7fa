import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import pino from 'pino';
import { expect, test } from 'vitest';
import { startService } from '../../src/app/service.ts';
import { readConfig } from '../../src/platform/config/config.ts';
import { temporaryFolder } from '../support/database.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

async function startAndEnd(dataDir: string): Promise<WeakRef<object>> {
  const config = readConfig({ DATA_DIR: dataDir, PORT: '0', EMBEDDED_BROKER: 'off' });
  const service = await startService(config, { log: pino({ level: 'silent' }) });
  await fetch(`${service.report.url}/metrics`);
  await service.close();
  return new WeakRef(service.services);
}

test('a service that has ended is not kept in memory', async () => {
  const ended = await startAndEnd(temporaryFolder());
  await expect
    .poll(async () => {
      await setImmediate();
      collectGarbage();
      return ended.deref() === undefined;
    })
    .toBe(true);
});
