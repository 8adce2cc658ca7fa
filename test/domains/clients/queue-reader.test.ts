import { expect, test } from 'vitest';
import { QueueReader } from '../../../src/domains/clients/queue-reader.ts';
import type { ControlCaller } from '../../../src/protocol/control/plugin.ts';

function reader(fails = false) {
  const questions: string[][] = [];
  const call = async (_api: string, _command: string, { clientids }: { clientids: string[] }) => {
    questions.push(clientids);
    if (fails) throw new Error('down');
    return { queues: clientids.map((id) => (id === 'gone' ? null : { messagesOut: Number(id) })) };
  };
  const caller = { call } as unknown as ControlCaller;
  return { questions, queues: new QueueReader((question) => question(caller)) };
}

const yes = async () => true;

test('clients that are read in one turn share a request per thousand, and the next turn sends new requests', async () => {
  const { questions, queues } = reader();
  const ids = Array.from({ length: 2_500 }, (_, index) => String(index));
  const told = await Promise.all(ids.map((id) => queues.read({ clientid: id }, yes)));
  expect(told).toEqual(ids.map((_, messagesOut) => ({ messagesOut })));
  expect(questions.map(({ length }) => length)).toEqual([1_000, 1_000, 500]);
  expect(
    await Promise.all([
      queues.read({ clientid: '7' }, yes),
      queues.read({ clientid: 'gone' }, yes),
      queues.read({ clientid: '7' }, yes),
    ]),
  ).toEqual([{ messagesOut: 7 }, null, { messagesOut: 7 }]);
  expect(questions[3]).toEqual(['7', 'gone']);
});

test('a broker that may not be asked gets no request, and an unreachable one is an error for all reads of that turn only', async () => {
  const { questions, queues } = reader();
  expect(await queues.read({ clientid: '1' }, async () => false)).toBeNull();
  expect(questions).toEqual([]);
  expect(await queues.read({ clientid: '1' }, yes)).toEqual({ messagesOut: 1 });
  const failing = reader(true).queues;
  const results = await Promise.allSettled([
    failing.read({ clientid: '1' }, yes),
    failing.read({ clientid: '2' }, yes),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
});
