import { expect, onTestFinished, test } from 'vitest';
import { ServiceError } from '../../../src/platform/errors.ts';
import { ANYTHING, LocalChanges } from '../../../src/platform/storage/changes.ts';
import type { ControlCommand, ControlEvent } from '../../../src/protocol/control/envelope.ts';
import { type EventHints, type Follower, HostedHints } from '../../../src/protocol/hosting/hosted-hints.ts';

const API = 'cedalo/topictree';
const hints: EventHints = {
  hintOf: () => null,
  question: (hint) => ({ command: 'get', hint }),
  eventsOf: (answer) => [{ type: 'event', event: 'changed', answer }],
};

/** Two processes on the same announcements. */
function startHints(answer: (command: ControlCommand) => Promise<unknown>) {
  const changes = new LocalChanges();
  const asked: unknown[] = [];
  const faults: unknown[] = [];
  const open = () => {
    const opened = new HostedHints({
      changes,
      ask: (_brokerId, _api, command) => {
        asked.push(command.hint);
        return answer(command);
      },
      guard: (work) => work.catch((error) => faults.push(error)),
    });
    onTestFinished(() => opened.close());
    return opened;
  };
  return { changes, asked, faults, teller: open(), follower: open() };
}

function listener(hears: { isListening: boolean }) {
  const events: ControlEvent[] = [];
  const follow: Follower = {
    api: API,
    hints,
    isListening: () => hears.isListening,
    tell: (event) => events.push(event),
  };
  return { events, follow };
}

test('what changed is told once for all that came at a time, with a space in it or not', async () => {
  const { teller, follower, asked } = startHints(async ({ hint }) => hint);
  const { events, follow } = listener({ isListening: true });
  follower.follow('brk_1', follow);
  for (const hint of ['a stream', 'a stream', 'b']) teller.tell('brk_1', API, hint);
  teller.tell('brk_2', API, 'of another broker');
  teller.tell('brk_1', 'cedalo/ha', 'of another API');
  await expect.poll(() => events.map(({ answer }) => answer)).toEqual(['a stream', 'b']);
  expect(asked).toEqual(['a stream', 'b']);
  for (let index = 0; index <= 100; index += 1) teller.tell('brk_1', API, String(index));
  await expect.poll(() => asked).toEqual(['a stream', 'b', null]);
});

test('nothing is asked while nobody listens, and everything when announcements may have been missed', async () => {
  const { changes, follower, asked } = startHints(async () => 'all');
  const hears = { isListening: false };
  const { events, follow } = listener(hears);
  const stop = follower.follow('brk_1', follow);
  changes.tell('hostedChange', ANYTHING);
  expect(asked).toEqual([]);
  hears.isListening = true;
  changes.tell('hostedChange', ANYTHING);
  await expect.poll(() => events).toEqual([{ type: 'event', event: 'changed', answer: 'all' }]);
  expect(asked).toEqual([null]);
  stop();
  changes.tell('hostedChange', ANYTHING);
  expect(asked).toEqual([null]);
});

test('a refusal is no event, and no more is a bug, which is told', async () => {
  const refusals: Record<string, unknown> = { gone: new ServiceError('NOT_FOUND', 'gone'), bug: new Error('a bug') };
  const { changes, follower, faults, asked } = startHints(async ({ hint }) => {
    const refusal = refusals[String(hint)];
    if (refusal !== undefined) throw refusal;
    return hint;
  });
  const { events, follow } = listener({ isListening: true });
  follower.follow('brk_1', follow);
  for (const hint of ['gone', 'there', 'bug']) await changes.announce('hostedChange', `brk_1 ${API} ${hint}`);
  await expect.poll(() => faults).toEqual([refusals.bug]);
  expect(asked).toEqual(['gone', 'there', 'bug']);
  expect(events.map(({ answer }) => answer)).toEqual(['there']);
});
