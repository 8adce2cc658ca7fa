import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Hysteresis } from '../../../src/domains/problems/model/hysteresis.ts';
import type { ProblemFact } from '../../../src/domains/problems/model/problem-fact.ts';
import {
  closesAfterMs,
  opensAfterMs,
  type ProblemKind,
  problemKinds,
} from '../../../src/domains/problems/model/problem-kinds.ts';

const STEP_MS = 2_000;
const factOf = (kind: ProblemKind): ProblemFact => ({ kind, subjectId: null, subjectName: 'it', statements: [] });

type Seen = 'THERE' | 'GONE' | 'UNKNOWN';

/** The changes by step for what is seen in each step, `<step> <change>`. */
function changesFor(kind: ProblemKind, seen: readonly Seen[], stepMs = STEP_MS): string[] {
  const hysteresis = new Hysteresis();
  return seen.flatMap((now, step) => {
    const facts = new Map(now === 'THERE' ? [['key', factOf(kind)]] : []);
    return hysteresis.update(facts, () => now === 'UNKNOWN', step * stepMs).map(({ change }) => `${step} ${change}`);
  });
}

const kinds = fc.constantFrom<ProblemKind>('BROKER_UNREACHABLE', 'CAPABILITY_MISSING', 'BRIDGE_LOOP', 'TOKEN_EXPIRING');
const histories = fc.array(fc.constantFrom<Seen>('THERE', 'GONE', 'UNKNOWN'), { maxLength: 60 });

test('a problem opens and closes in turn, opens only while its fact is there, and closes only after it was gone long enough', () => {
  fc.assert(
    fc.property(kinds, histories, (kind, seen) => {
      let isOpen = false;
      for (const text of changesFor(kind, seen)) {
        const [step, change] = [Number(text.split(' ')[0]), text.split(' ')[1]];
        const before = seen.slice(0, step + 1);
        if (change === 'OPEN') {
          expect([isOpen, seen[step]]).toEqual([false, 'THERE']);
          const from = Math.max(0, step - Math.floor(opensAfterMs(kind) / STEP_MS));
          expect(before.slice(from)).not.toContain('UNKNOWN');
          isOpen = true;
        } else if (change === 'REPEAT') expect([isOpen, seen[step]]).toEqual([true, 'THERE']);
        else {
          expect([isOpen, seen[step]]).toEqual([true, 'GONE']);
          const gone = before.length - 1 - before.lastIndexOf('THERE');
          expect(gone * STEP_MS).toBeGreaterThanOrEqual(closesAfterMs(kind));
          isOpen = false;
        }
      }
    }),
  );
});

test('a fact that lasts opens a problem, and one that is gone permanently closes it', () => {
  fc.assert(
    fc.property(kinds, histories, fc.boolean(), (kind, seen, lasts) => {
      const end = Array.from({ length: 60 }, () => (lasts ? 'THERE' : 'GONE') as Seen);
      const changes = changesFor(kind, [...seen, ...end]).map((text) => text.split(' ')[1]);
      const last = changes.findLast((change) => change !== 'REPEAT');
      expect(last ?? 'CLOSE').toBe(lasts ? 'OPEN' : 'CLOSE');
    }),
  );
});

test('each kind opens and closes after its documented times', () => {
  for (const kind of problemKinds) {
    const [opens, closes] = [opensAfterMs(kind), closesAfterMs(kind)].map((ms) => Math.ceil(ms / STEP_MS));
    const seen = [...Array<Seen>(10).fill('THERE'), ...Array<Seen>(10).fill('GONE')];
    const last = Math.max(10, 9 + (closes ?? 0));
    // Also if the checks come a moment early.
    for (const stepMs of [STEP_MS, STEP_MS - 1])
      expect([kind, ...changesFor(kind, seen, stepMs)]).toEqual([kind, `${opens} OPEN`, `${last} CLOSE`]);
  }
});

test('a fact that comes and goes a hundred times is one problem with a count', () => {
  const seen = Array.from({ length: 100 }, () => ['THERE', 'GONE', 'GONE'] as const).flat();
  const changes = changesFor('BROKER_UNREACHABLE', [...seen, ...Array.from({ length: 10 }, () => 'GONE' as const)]);
  const count = (what: string) => changes.filter((text) => text.split(' ')[1] === what).length;
  expect([count('OPEN'), count('CLOSE')]).toEqual([1, 1]);
  expect(count('REPEAT')).toBeGreaterThan(95);
});

test('what is not known closes nothing, however long', () => {
  const there: Seen[] = ['THERE', 'THERE', 'THERE', 'THERE'];
  const unknown = Array.from({ length: 1_000 }, () => 'UNKNOWN' as const);
  expect(changesFor('BROKER_UNREACHABLE', [...there, ...unknown])).toEqual(['2 OPEN']);
});

test('a problem of an earlier start closes when its fact is gone, and is not opened again', () => {
  const hysteresis = new Hysteresis();
  const open = [{ key: 'key', kind: 'BROKER_UNREACHABLE', severity: 'CRITICAL', subjectId: null } as const];
  const facts = new Map([['key', factOf('BROKER_UNREACHABLE')]]);
  hysteresis.adopt(open, 0);
  expect(hysteresis.update(facts, () => false, 0)).toEqual([]);
  hysteresis.adopt(open, 20_000);
  expect(hysteresis.update(new Map(), () => false, 20_000)).toEqual([{ change: 'CLOSE', key: 'key' }]);
  expect(hysteresis.size).toBe(0);
});
