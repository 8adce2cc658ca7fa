import { pino } from 'pino';
import { expect, test } from 'vitest';
import { ChangeCollector } from '../../../src/domains/notifications/delivery/change-collector.ts';
import { DeliveryFormer } from '../../../src/domains/notifications/delivery/delivery-former.ts';
import type { NotificationContent } from '../../../src/domains/notifications/notification-content.ts';
import type { ProblemKind } from '../../../src/domains/problems/model/problem-kinds.ts';
import { ProblemService } from '../../../src/domains/problems/problem-service.ts';
import { ProjectCache } from '../../../src/domains/projects/project-cache.ts';
import { openTestStorage } from '../../support/database.ts';
import { onTestFinished } from '../../support/shared.ts';

const MINUTE = 60_000;
const PROJECT = 'prj_1';
const scope = { projectId: PROJECT, brokerId: null };

/** A channel without its runner, so that a test decides when changes are collected and when deliveries are made. */
async function startChannel(rules: object) {
  const { db, changes } = await openTestStorage();
  const log = pino({ level: 'silent' });
  const projects = new ProjectCache({ db, changes, log });
  await db.project.create({ data: { id: PROJECT, name: 'plant' } });
  await projects.load();
  const problems = new ProblemService({ db, changes, log, projects });
  onTestFinished(async () => {
    await problems.close();
    await projects.close();
  });
  const names = { projects, brokers: { get: () => null } };
  const collector = new ChangeCollector({ db, problems, names });
  const former = new DeliveryFormer({ db, problems });
  const data = { id: 'ntc_1', projectId: PROJECT, kind: 'WEBHOOK', name: 'channel', target: '{}' } as const;
  await db.notificationChannel.create({ data: { ...data, rules: JSON.stringify(rules) } });
  await collector.collect();
  const change = async (what: 'OPEN' | 'CLOSE', names: readonly string[], at = new Date(), kind?: ProblemKind) => {
    const transitions = names.map((name) => ({
      ...{ change: what, key: name, scope },
      fact: { kind: kind ?? 'BRIDGE_DOWN', subjectId: null, subjectName: name, statements: [] },
    }));
    problems.store.take(transitions as never, at);
    await problems.store.flush();
  };
  /** What was delivered about a subject, in order. */
  const delivered = async (name: string) => {
    const rows = await db.notificationDelivery.findMany({ orderBy: { number: 'asc' } });
    return rows
      .flatMap(({ content }) => (JSON.parse(content) as NotificationContent).notices)
      .flatMap(({ subject, change }) => (subject.name === name ? [change] : []));
  };
  const silence = () =>
    problems.silences.add(
      {
        projectId: PROJECT,
        until: new Date(Date.now() + 60 * MINUTE),
        reason: 'maintenance',
        filter: { kinds: ['BRIDGE_LOOP'] },
      },
      'root',
    );
  return { problems, collector, former, change, delivered, silence };
}

test('an opening that a silence holds is delivered after it, and before its closing, among many other changes', async () => {
  const { problems, collector, former, change, delivered, silence } = await startChannel({ digestMinutes: 10 });
  const others = Array.from({ length: 60 }, (_, nth) => `other ${nth}`);
  await change('OPEN', ['a'], undefined, 'BRIDGE_LOOP');
  await change('OPEN', others);
  await change('CLOSE', ['a']);
  await change('OPEN', ['a'], undefined, 'BRIDGE_LOOP');
  await collector.collect();
  const { id } = await silence();
  const now = Date.now() + 20 * MINUTE;
  await former.form(new Date(now));
  // The closing is not in the same message as the first opening.
  expect(await delivered('a')).toEqual(['OPENED', 'CLOSED']);
  for (let minutes = 1; minutes < 4; minutes += 1) await former.form(new Date(now + minutes * MINUTE));
  expect(await delivered('a')).toEqual(['OPENED', 'CLOSED']);
  await problems.endSilence(id);
  // It closes after the held opening is due, and before that is delivered.
  await change('CLOSE', ['a'], new Date(now + 5 * MINUTE));
  await collector.collect();
  await former.form(new Date(now + 20 * MINUTE));
  expect(await delivered('a')).toEqual(['OPENED', 'CLOSED', 'OPENED', 'CLOSED']);
  expect(await delivered('other 59')).toEqual(['OPENED']);
});

test('a silenced problem that closes between the collection of changes and the delivery is not delivered', async () => {
  const { collector, former, change, delivered, silence } = await startChannel({});
  await silence();
  await change('OPEN', ['a'], undefined, 'BRIDGE_LOOP');
  await collector.collect();
  await change('CLOSE', ['a']);
  await former.form(new Date());
  await collector.collect();
  await former.form(new Date(Date.now() + 5 * MINUTE));
  expect(await delivered('a')).toEqual([]);
});
