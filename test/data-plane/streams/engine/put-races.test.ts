import { expect, test } from 'vitest';
import type { StreamDefinition } from '../../../../src/data-plane/streams/model/stream-definition.ts';
import { filterMatches } from '../../../../src/protocol/mqtt/filter-match.ts';
import { definition, openStore, reportOf, startEngine } from './engine-parts.ts';
import { lostConnection, notAllowed, ScriptedSession } from './scripted-session.ts';

const IDS = ['a', 'b', 'c'];
const FILTERS = ['x/#', 'x/+', 'x/1', 'y/1', 'refused'];
const TOPICS = ['x/1', 'x/2', 'x/1/2', 'y/1'];

/**
 * Random puts, removals, responses of the broker and lost connections; then all responses arrive. What is subscribed,
 * reported and published follows the last put of each stream, and a stream never takes a message twice.
 */
test.each(Array.from({ length: 25 }, (_, seed) => seed + 1))('whatever comes in which order (%i)', async (seed) => {
  const random = randomOf(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const session = new ScriptedSession();
  session.grantsAtOnce = false;
  const store = openStore();
  const engine = startEngine(session, { store });
  const model = new Map<string, StreamDefinition>();
  const calls: Promise<void>[] = [];
  /** Calls that wait for each other because of a removal among them; they take effect one after the other. */
  const inTurn = new Map<string, number>();
  const call = (id: string, promise: Promise<void>) => {
    calls.push(promise);
    if (!inTurn.has(id)) return;
    inTurn.set(id, (inTurn.get(id) ?? 0) + 1);
    void promise.then(() => {
      const left = (inTurn.get(id) ?? 0) - 1;
      if (left > 0) inTurn.set(id, left);
      else inTurn.delete(id);
    });
  };

  const answerOne = () => {
    const open = session.asked.filter((asked) => !answered.has(asked));
    if (open.length === 0) return;
    const asked = pick(open);
    answered.add(asked);
    if (session.status.state !== 'CONNECTED') asked.answer(lostConnection());
    else asked.answer(asked.filter === 'refused' ? notAllowed() : undefined);
  };
  const answered = new Set<object>();
  const put = () => {
    const id = pick(IDS);
    const next = definition({
      name: id,
      sourceTopic: pick(FILTERS),
      targetTopic: `out/${id}`,
      process: false,
      active: random() < 0.8,
      persist: random() < 0.3,
    });
    model.set(id, next);
    call(id, engine.put(id, next));
  };
  const remove = () => {
    const id = pick(IDS);
    model.delete(id);
    inTurn.set(id, inTurn.get(id) ?? 0);
    call(id, engine.remove(id));
  };
  const deliver = () => {
    const before = session.published.length;
    session.deliver(pick(TOPICS), 'm');
    const targets = session.published.slice(before).map(({ topic }) => topic);
    expect(new Set(targets).size).toBe(targets.length);
    const active = [...model].filter(([, each]) => each.active).map(([id]) => id);
    const mayPublish = [...active, ...inTurn.keys()].map((id) => `out/${id}`);
    expect(mayPublish).toEqual(expect.arrayContaining(targets));
  };
  /** Before who asked knows that it was granted. */
  const answerAndDeliver = () => {
    answerOne();
    deliver();
  };
  const link = () => (session.status.state === 'CONNECTED' ? session.lose() : session.connect());
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  for (let step = 0; step < 150; step += 1) {
    const action = pick([
      put,
      put,
      put,
      remove,
      answerOne,
      answerOne,
      answerAndDeliver,
      answerAndDeliver,
      deliver,
      link,
      turn,
      turn,
    ]);
    await action();
  }
  if (session.status.state !== 'CONNECTED') session.connect();
  let over = false;
  void Promise.all(calls).then(() => {
    over = true;
  });
  while (!over || session.asked.some((asked) => !answered.has(asked))) {
    answerOne();
    await turn();
  }
  await turn();

  const running = [...model].filter(([, { active, sourceTopic }]) => active && sourceTopic !== 'refused');
  expect(session.filters).toEqual(running.map(([, { sourceTopic }]) => sourceTopic).sort());
  expect([...(await engine.report()).keys()].sort()).toEqual([...model.keys()].sort());
  for (const [id, { active, sourceTopic }] of model) {
    const state = !active ? 'INACTIVE' : sourceTopic === 'refused' ? 'REFUSED' : 'RUNNING';
    expect((await reportOf(engine, id)).state).toBe(state);
  }
  for (const topic of TOPICS) {
    const before = session.published.length;
    session.deliver(topic, 'm');
    const targets = session.published.slice(before).map((published) => published.topic);
    const expected = running
      .filter(([, { sourceTopic }]) => filterMatches(sourceTopic, topic))
      .map(([id]) => `out/${id}`);
    expect(targets.sort()).toEqual(expected.sort());
  }
});

/** The same numbers for the same seed (xorshift). */
function randomOf(seed: number): () => number {
  let state = seed * 0x9e3779b1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
