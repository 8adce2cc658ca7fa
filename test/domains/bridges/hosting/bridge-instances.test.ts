import { expect, test } from 'vitest';
import { bridgeInstances } from '../../../../src/domains/bridges/hosting/bridge-instances.ts';

const setup = {
  brokerId: 'plant',
  bridgeId: 'some-bridge',
  local: { id: 'plant', url: 'mqtt://127.0.0.1', timeoutMs: 1_000 },
  rules: { allowedHosts: [] },
  folder: '/nowhere',
};

test('configurations are applied one after the other, and a close waits for the last one', async () => {
  const steps: string[] = [];
  const failures: string[] = [];
  const kind = bridgeInstances(async () => ({
    apply: async (config) => {
      steps.push(`apply ${config}`);
      await new Promise((resolve) => setImmediate(resolve));
      steps.push(`applied ${config}`);
      if (config === 'broken') throw new Error('it is broken');
    },
    status: () => [],
    onStatus: () => () => undefined,
    close: async ({ discard }) => {
      steps.push(`close ${discard}`);
    },
  }));
  const context = { emit: () => undefined, fail: (reason: string) => failures.push(reason), problem: () => undefined };
  const { api, close } = await kind.create(setup, context);
  const broken = api.apply('broken');
  const applied = api.apply('good');
  const closed = close(true);
  await expect(broken).rejects.toThrow('it is broken');
  await Promise.all([applied, closed]);
  expect(steps).toEqual(['apply broken', 'applied broken', 'apply good', 'applied good', 'close true']);
  expect(failures).toEqual(['it is broken']);
});
