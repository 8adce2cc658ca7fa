import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { LogFollower } from '../../../../src/domains/clients/inspect/log-follower.ts';
import {
  linesOf,
  RECORDED_VERSIONS,
  type RecordedLine,
  readRecording,
} from '../../../protocol/mosquitto-log/recordings.ts';
import { runs } from '../../../support/suite.ts';
import { followLog, Sessions, startLoggingBroker } from './recorded-sessions.ts';

/** The client that follows the log. */
const OWN = 1;

const listOf = (follower: LogFollower) => {
  const clients = follower.ledger.page(0, -1).filter(({ gateway }) => !gateway);
  return {
    complete: follower.state.complete,
    /** Connected, or perhaps connected. */
    connected: clients.filter(({ connected }) => connected !== false).map(({ clientid }) => clientid),
    all: clients.map(({ clientid }) => clientid),
  };
};

const SCHEDULE = fc.record({
  sessions: fc.array(fc.nat(), { minLength: 50, maxLength: 50 }),
  choices: fc.array(fc.record({ session: fc.nat(), isCounted: fc.boolean() }), { minLength: 60, maxLength: 120 }),
});

test.each(RECORDED_VERSIONS)('no list of a Mosquitto %s is complete and lacks a connected client', async (name) => {
  const recording = readRecording(name);
  const broker = await startLoggingBroker();
  await fc.assert(
    fc.asyncProperty(SCHEDULE, async ({ sessions: chosen, choices }) => {
      const { follower, send, settle, count, close } = await followLog(broker, recording.version);
      const sessions = new Sessions(recording, chosen);
      await count(OWN);
      for (const { session, isCounted } of choices) {
        await send(sessions.next(session) ?? []);
        if (isCounted) await count(OWN + sessions.sockets);
        else await settle();
        const list = listOf(follower);
        if (!list.complete) continue;
        expect(list.connected).toEqual(expect.arrayContaining(sessions.connected));
        // A count with sockets of no client may hide an end that 2.0.22 logs in words that prove nothing.
        const isProven = name !== '2.0.22' || (isCounted && sessions.others === 0);
        if (isProven) expect(list.connected).toEqual(sessions.connected);
      }
      await count(OWN + sessions.sockets);
      // 2.0.22 logs some ends in words that prove nothing.
      if (name !== '2.0.22' && sessions.others === 0) expect(follower.state.incompleteReason).toBeUndefined();
      expect(follower.reader.unread.count).toBe(0);
      await close();
    }),
    { numRuns: runs(6), endOnFailure: true },
  );
});

const WORDS = [
  'New client connected from',
  'New connection from',
  ' as ',
  'Client ',
  'disconnected',
  'closed its',
  'not authorised',
];

test('a later version with other words has incomplete lists, and no false clients', async () => {
  const recording = readRecording('2.1.2');
  const broker = await startLoggingBroker();
  const changes = fc.array(fc.constantFrom(' un{}', '<{}>', 'x{}'), {
    minLength: WORDS.length,
    maxLength: WORDS.length,
  });
  await fc.assert(
    fc.asyncProperty(SCHEDULE, changes, fc.nat(), async ({ sessions: chosen, choices }, forms, changed) => {
      const { follower, send, count, close } = await followLog(broker, 'mosquitto version 2.2.0');
      const sessions = new Sessions(recording, chosen);
      const known = new Set<string>();
      // At least one of the words is another one.
      const reword = ([level, text]: RecordedLine): RecordedLine => [
        level,
        WORDS.reduce((line, word, index) => {
          const form = index === changed % WORDS.length || index % 2 === changed % 3 ? (forms[index] ?? '') : '{}';
          return line.replace(word, () => form.replace('{}', word));
        }, text),
      ];
      await count(OWN);
      for (const { session } of choices) {
        const lines = sessions.next(session) ?? [];
        const reworded = lines.map(reword);
        await send(reworded);
        await count(OWN + sessions.sockets);
        for (const [, text] of [...lines, ...reworded])
          for (const [, id] of text.matchAll(/ as (.*) \(p/gs)) known.add(id ?? '');
        const list = listOf(follower);
        if (list.complete) expect(list.connected).toEqual(sessions.connected);
        expect(list.all.filter((id) => !known.has(id))).toEqual([]);
      }
      if (follower.reader.unread.count > 0) {
        expect(follower.state).toMatchObject({ complete: false, incompleteReason: expect.stringMatching(/2\.2\.0/) });
      }
      await close();
    }),
    { numRuns: runs(6), endOnFailure: true },
  );
});

test.each([
  ['2.0.22', 'tcp-by-tcp'],
  ['2.0.22', 'tcp-by-ws'],
  ['2.0.22', 'ws-by-tcp'],
  ['2.0.22', 'ws-by-ws'],
  ['2.1.0', 'tcp-by-tcp'],
  ['2.1.0', 'ws-by-ws'],
] as const)('a wrong password with the id of a connected client hides it in no list (%s, %s)', async (name, kind) => {
  const recording = readRecording(name);
  const broker = await startLoggingBroker();
  const { follower, send, settle, count } = await followLog(broker, recording.version);
  await count(OWN);
  const lines = linesOf(recording, `take-over/wrong-password/v3.1.1/${kind}`);
  const id = `victim-4-${kind.replace('-by', '')}`;
  const end = lines.findIndex(([, text]) => text === `Client ${id} disconnected.`);
  const attempt = lines.findIndex(([, text]) => /not authorised|closed its/.test(text));
  await send(lines.slice(0, attempt + 1));
  await settle();
  expect(listOf(follower).connected).toEqual([id]);
  const isCertain = !kind.endsWith('-ws') || name !== '2.0.22';
  expect(follower.state).toMatchObject(
    isCertain ? { complete: true } : { complete: false, incompleteReason: /WebSocket/ },
  );
  // Its next line, or a count, shows that it is connected.
  await count(OWN + 1);
  expect(listOf(follower)).toMatchObject({ complete: true, connected: [id] });
  await send(lines.slice(attempt, end));
  await settle();
  expect(listOf(follower)).toMatchObject({ complete: true, connected: [id] });
  await send(lines.slice(end));
  await settle();
  expect(listOf(follower)).toMatchObject({ complete: true, connected: [] });
});
