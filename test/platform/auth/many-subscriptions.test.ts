import { expect, onTestFinished, test } from 'vitest';
import { AuthService } from '../../../src/platform/auth/auth-service.ts';
import type { RightsGuard } from '../../../src/platform/auth/rights-guards.ts';
import { requireProjectRole, rightsKey } from '../../../src/platform/auth/viewer.ts';
import type { ServiceError } from '../../../src/platform/errors.ts';
import type { Database } from '../../../src/platform/storage/database.ts';
import { silentLog } from '../../support/database.ts';
import { startTestService, type TestService } from '../../support/service.ts';

test('a person has a bounded number of subscriptions, whatever the connections, and others are not concerned', async () => {
  const { services, person } = await startTestService();
  const viewerOf = async () => services.auth.viewerOfSecret((await person('VIEWER')).token);
  const viewer = await viewerOf();
  const guards = Array.from({ length: 10_000 }, () => services.auth.guards.guard(viewer, () => {}));
  expect(() => services.auth.guards.guard(viewer, () => {})).toThrow(/Too many concurrent subscriptions/);
  services.auth.guards.guard(await viewerOf(), () => {}).stop();
  guards[0]?.stop();
  guards[0]?.stop();
  services.auth.guards.guard(viewer, () => {});
  expect(() => services.auth.guards.guard(viewer, () => {})).toThrow(/Too many concurrent subscriptions/);
});

const NO_SECRETS = { seal: () => '', open: () => '', sign: () => '' };

/** A second AuthService, and the number of sessions and tokens that it has read. `fail`: whether reads fail. */
function counting({ storage }: TestService) {
  const counter = { reads: 0, fail: false };
  const count = async ({ args, query }: { args: object; query: (args: object) => Promise<unknown> }) => {
    counter.reads += 1;
    if (counter.fail) throw new Error('The database does not respond');
    return query(args);
  };
  const extension = { query: { session: { findUnique: count }, projectToken: { findUnique: count } } };
  const db = storage.db.$extends(extension as object) as unknown as Database;
  const auth = new AuthService({
    db,
    engine: storage.engine,
    changes: storage.changes,
    sealer: NO_SECRETS,
    log: silentLog,
  });
  onTestFinished(() => auth.close());
  return { auth, counter };
}

/** Why all of them ended. */
async function endOf(guards: readonly RightsGuard[]) {
  const reasons = await Promise.all(
    guards.map(
      ({ signal }) =>
        new Promise<ServiceError>((resolve) => {
          if (signal.aborted) resolve(signal.reason);
          else signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
        }),
    ),
  );
  return [...new Set(reasons.map(({ code }) => code))];
}

test('a session with 2,000 subscriptions is read once for each change, and all of them end with it', async () => {
  const service = await startTestService();
  const { token, email, id } = await service.person('EDITOR');
  const { projectId, services } = service;
  const { auth, counter } = counting(service);
  const viewer = await auth.viewerOfSecret(token);
  const open = (role: 'VIEWER' | 'EDITOR') =>
    Array.from({ length: 1_000 }, () => auth.guards.guard(viewer, (now) => requireProjectRole(now, projectId, role)));
  const [looking, editing] = [open('VIEWER'), open('EDITOR')];
  expect(counter.reads).toBe(1);

  await services.projects.setMember(projectId, email, 'VIEWER');
  expect(await endOf(editing)).toEqual(['NOT_ALLOWED']);
  expect(counter.reads).toBe(2);
  expect(looking.some(({ signal }) => signal.aborted)).toBe(false);
  expect(new Set(looking.map((guard) => guard.viewer)).size).toBe(1);
  expect(looking[0]?.viewer.projectRoles.get(projectId)).toBe('VIEWER');

  await services.users.remove(id);
  expect(await endOf(looking)).toEqual(['UNAUTHORIZED']);
  expect(counter.reads).toBe(3);
});

test('changes that come while a session is being read are read together', async () => {
  const service = await startTestService();
  const { token, email, id } = await service.person('VIEWER');
  const { auth, counter } = counting(service);
  const viewer = await auth.viewerOfSecret(token);
  const guard = auth.guards.guard(viewer, (now) => requireProjectRole(now, service.projectId, 'VIEWER'));
  const key = rightsKey(guard.viewer);
  await Promise.all(Array.from({ length: 200 }, () => service.storage.changes.announce('user', id)));
  await service.services.projects.setMember(service.projectId, email, 'ADMIN');
  await expect.poll(() => guard.viewer.projectRoles.get(service.projectId)).toBe('ADMIN');
  expect(rightsKey(guard.viewer)).not.toBe(key);
  expect(guard.signal.aborted).toBe(false);
  expect(counter.reads).toBeLessThan(100);
});

test('subscriptions whose rights changed end while the database fails, but not their session', async () => {
  const service = await startTestService();
  const { token, email, id } = await service.person('VIEWER');
  const { auth, counter } = counting(service);
  const viewer = await auth.viewerOfSecret(token);
  const ended: string[] = [];
  auth.guards.onCredentialEnd(viewer, ({ code }) => ended.push(code));
  const open = async () =>
    auth.guards.guard(await auth.viewerOfSecret(token), (now) => requireProjectRole(now, service.projectId, 'VIEWER'));
  const guard = await open();
  counter.fail = true;
  await service.services.projects.setMember(service.projectId, email, 'EDITOR');
  expect(await endOf([guard])).toEqual(['DATABASE_UNAVAILABLE']);

  counter.fail = false;
  const again = await open();
  await expect.poll(() => again.viewer.projectRoles.get(service.projectId)).toBe('EDITOR');
  expect(ended).toEqual([]);
  await service.services.users.remove(id);
  expect(await endOf([again])).toEqual(['UNAUTHORIZED']);
  expect(ended).toEqual(['UNAUTHORIZED']);
});
