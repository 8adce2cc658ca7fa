import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CertificateRecord } from '../../../src/domains/certificates/certificate-cache.ts';
import { CertificateExpiry, type ExpiryEvent } from '../../../src/domains/certificates/expiry/certificate-expiry.ts';
import { stateIn } from '../../../src/gateway/live/broadcast.ts';
import type { LiveSource } from '../../../src/gateway/live/live-source.ts';
import { createAuthority } from '../../support/certificates.ts';
import { subscribe } from '../../support/subscription.ts';
import { certificateWorld } from './certificate-world.ts';

const DAY_MS = 86_400_000;

describe('monitoring of expiry', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  /** Certificates in memory, and a function that notifies of their changes. */
  function store() {
    const records = new Map<string, CertificateRecord>();
    const listeners = new Set<(after: CertificateRecord | null, before: CertificateRecord | null) => void>();
    const logged: { readonly certificates: readonly { readonly id: string; readonly daysLeft: number }[] }[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
    const tell = (id: string, after: CertificateRecord | null) => {
      const before = records.get(id) ?? null;
      if (after === null) records.delete(id);
      else records.set(id, after);
      for (const listener of listeners) listener(after, before);
    };
    const expiry = new CertificateExpiry({
      cache: {
        all: () => [...records.values()],
        ofProject: (projectId) => [...records.values()].filter((one) => one.projectId === projectId),
        onChange: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      log,
    });
    const put = (id: string, daysLeft: number, projectId = 'p') =>
      tell(id, {
        id,
        projectId,
        filename: `${id}.pem`,
        expiresAt: Date.now() + daysLeft * DAY_MS,
        deployments: [],
      } as unknown as CertificateRecord);
    return { expiry, logged, put, remove: (id: string) => tell(id, null) };
  }

  /** Received events as `kind: ids -removed`. */
  function taken(source: LiveSource<ExpiryEvent>): string[] {
    const events: string[] = [];
    for (let event = source.take(); event !== null; event = source.take()) {
      const told = stateIn(event);
      const removed = (told?.removed ?? []).map((id) => `-${id}`);
      events.push([event.kind, ...(told?.certificates ?? []).map(({ id }) => id), ...removed].join(' '));
    }
    return events;
  }

  test('a subscriber receives certificates that expire soon, and then those that enter the list, expire, or are replaced or removed', () => {
    const { expiry, put, remove } = store();
    put('late', 100);
    put('soon', 20);
    put('gone', -1);
    put('else', 1, 'other');
    const source = expiry.watch('p', 30, {});
    expect(taken(source)).toEqual(['SNAPSHOT gone soon']);
    vi.advanceTimersByTime(20 * DAY_MS);
    expect(taken(source)).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(taken(source)).toEqual(['CHANGE soon']);
    // Longer than the maximum delay of a timer.
    vi.advanceTimersByTime(50 * DAY_MS - 2);
    expect(taken(source)).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(taken(source)).toEqual(['CHANGE late']);
    put('soon', 365);
    put('new', 7);
    put('new', 6);
    remove('gone');
    remove('else');
    put('far', 400);
    expect(taken(source)).toEqual(['CHANGE -soon', 'CHANGE new', 'CHANGE new', 'CHANGE -gone']);
    const second = expiry.watch('p', 30, {});
    expect(taken(second)).toEqual(['SNAPSHOT new late']);
    expiry.close();
    expect([source.isOver, taken(source)]).toEqual([true, []]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a clock change in either direction is detected within an hour', () => {
    const { expiry, put } = store();
    put('a', 40);
    const source = expiry.watch('p', 30, {});
    expect(taken(source)).toEqual(['SNAPSHOT']);
    const now = Date.now();
    vi.setSystemTime(now + 15 * DAY_MS);
    vi.advanceTimersByTime(3_600_000);
    expect(taken(source)).toEqual(['CHANGE a']);
    vi.setSystemTime(now);
    vi.advanceTimersByTime(3_600_000);
    expect(taken(source)).toEqual(['CHANGE -a']);
  });

  test('one timer serves all certificates and subscribers, and fires only when necessary', () => {
    const { expiry, put } = store();
    for (let i = 0; i < 20; i++) put(`c${i}`, i / 2);
    for (let days = 0; days < 3; days++) expiry.watch('p', days, {});
    expiry.start();
    expect(vi.getTimerCount()).toBe(1);
    const end = Date.now() + 20 * DAY_MS;
    let fired = 0;
    for (; Date.now() < end; fired++) vi.advanceTimersToNextTimer();
    // Once an hour, and at each time at which the list changes.
    expect(fired).toBeLessThan(20 * 24 + 20 + 20 * 4 + 10);
    expiry.close();
  });

  test('certificates that expire within 14 days are logged at the start and once a day', () => {
    const { expiry, logged, put } = store();
    put('a', 15);
    put('b', 100);
    expiry.start();
    expect(logged).toEqual([]);
    vi.advanceTimersByTime(2 * DAY_MS);
    expect(logged).toMatchObject([{ certificates: [{ id: 'a', daysLeft: 13 }] }]);
    put('a', 13.5);
    vi.advanceTimersByTime(3 * DAY_MS);
    expect(logged.map(({ certificates }) => certificates[0]?.daysLeft)).toEqual([13, 12, 11, 10]);
    expiry.close();
  });
});

test('the subscription returns the list, then each change, to callers with the role', async () => {
  const world = await certificateWorld();
  const { service } = world;
  const root = createAuthority({ name: 'Plant' });
  const soon = (days: number) => createAuthority({ to: new Date(Date.now() + days * DAY_MS) }).cert;
  const first = await world.store('soon.pem', soon(10));
  const query = `subscription ($p: ID!, $d: Int) { certificateExpiring(projectId: $p, withinDays: $d) {
    kind sequence certificates { id filename daysLeft } removed
  } }`;
  const viewer = await service.person('VIEWER');
  const events = subscribe(service, viewer.token, query, { p: service.projectId });
  const next = async () => (await events.until(() => true)).certificateExpiring;
  expect(await next()).toMatchObject({
    kind: 'SNAPSHOT',
    certificates: [{ id: first, filename: 'soon.pem', daysLeft: 9 }],
    removed: [],
  });
  const second = await world.store('sooner.pem', soon(3));
  expect(await next()).toMatchObject({ kind: 'CHANGE', certificates: [{ id: second, daysLeft: 2 }] });
  await world.change('updateCertificate', { certificateId: first, cert: root.cert }, '__typename');
  expect(await next()).toMatchObject({ kind: 'CHANGE', certificates: [], removed: [first] });
  await world.change('deleteCertificate', { certificateId: second }, '__typename');
  expect(await next()).toMatchObject({ removed: [second] });

  const stranger = await service.person(null);
  const refused = subscribe(service, stranger.token, query, { p: service.projectId });
  await expect(refused.until(() => true)).rejects.toMatchObject([{ extensions: { code: 'NOT_FOUND' } }]);
  const wrong = subscribe(service, viewer.token, query, { p: service.projectId, d: -1 });
  await expect(wrong.until(() => true)).rejects.toMatchObject([{ extensions: { code: 'INVALID' } }]);
  await world.change('removeProjectMember', { projectId: service.projectId, email: viewer.email }, '__typename');
  await expect(events.until(() => true)).rejects.toThrow();
});

test('metrics contain the days left of each certificate, and whether it is deployed', async () => {
  const world = await certificateWorld();
  const id = await world.store('ca.pem', createAuthority({ to: new Date(Date.now() + 10 * DAY_MS) }).cert);
  const text = await (await fetch(`${world.service.url}/metrics`)).text();
  expect(text).toContain('brokergraph_certificates{deployed="false"} 1');
  const days = new RegExp(`^brokergraph_certificate_days_left\\{certificate="${id}",deployed="false"\\} (.+)$`, 'm');
  expect(Number(days.exec(text)?.[1])).toBeCloseTo(10, 1);
});
