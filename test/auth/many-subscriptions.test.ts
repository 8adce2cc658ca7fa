import { expect, test } from 'vitest';
import { startTestService } from '../support/service.ts';

test('a person has a bounded number of subscriptions, whatever the connections, and others are not concerned', async () => {
  const { services, person } = await startTestService();
  const viewerOf = async () => services.auth.viewerOfSecret((await person('VIEWER')).token);
  const viewer = await viewerOf();
  const guards = Array.from({ length: 10_000 }, () => services.auth.guard(viewer, () => {}));
  expect(() => services.auth.guard(viewer, () => {})).toThrow(/Too many subscriptions/);
  services.auth.guard(await viewerOf(), () => {}).stop();
  guards[0]?.stop();
  guards[0]?.stop();
  services.auth.guard(viewer, () => {});
  expect(() => services.auth.guard(viewer, () => {})).toThrow(/Too many subscriptions/);
});
