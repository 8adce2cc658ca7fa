import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import type { AccessPolicy } from '../policy/access-model.ts';
import type { PlannedCommand } from './access-plan.ts';
import { PolicyDraft } from './policy-draft.ts';
import { type Facts, factsOf } from './policy-facts.ts';

/**
 * Finds out from what a broker has now which of the commands it was sent it has carried out.
 *
 * A broker carries out commands in their order, so what it did of those whose answers are lost is a beginning of them: the one
 * after which the policy would be what was read. Where several beginnings fit (a password cannot be read back; taken away and
 * given back looks as before), what lies between them stays unknown. Where none fits, somebody else wrote at the same time,
 * and each command is judged by what it alone would have left behind.
 *
 * A state does not tell who made it: what another administrator did or took back between the loss and the reading counts as if
 * this list had done it, or not. An account that somebody else made meanwhile in the same way has another password.
 */
export interface SentCommand {
  readonly command: PlannedCommand;
  /** What the broker said; LOST: nothing that arrived. */
  readonly answer: 'ACCEPTED' | 'REFUSED' | 'LOST';
}

/**
 * UNKNOWN also for a command that was answered with success and whose result is not there. For a REFUSED one DONE: what it was
 * to bring about is there all the same.
 */
export type Verdict = 'DONE' | 'NOT_DONE' | 'UNKNOWN';

/** `before`: as it was before the first of `sent`; `now`: what was read after the last. */
export function* judge(before: AccessPolicy, sent: readonly SentCommand[], now: AccessPolicy): SlicedTask<Verdict[]> {
  const effects = yield* effectsOfEach(before, sent, now);
  const lost = yield* judgeLost(effects, sent);
  const verdicts = sent.map(({ answer }, index): Verdict => {
    if (answer === 'LOST') return lost[index] ?? 'UNKNOWN';
    if (answer === 'ACCEPTED') return 'DONE';
    return refusedVerdict(effects[index] ?? []);
  });
  for (const index of yield* contradicted(effects, sent, verdicts)) verdicts[index] = 'UNKNOWN';
  return verdicts;
}

/** One thing that a command changes. `undefined`: it is not there. */
interface Effect {
  readonly key: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** As it was read. */
  readonly now: string | undefined;
}

type Effects = readonly Effect[];

function* effectsOfEach(before: AccessPolicy, sent: readonly SentCommand[], now: AccessPolicy): SlicedTask<Effects[]> {
  const draft = new PolicyDraft(before);
  const all: Effects[] = [];
  for (const { command, answer } of sent) {
    const was = factsOf(draft, command.touches);
    const undo = draft.checkpoint();
    draft.run(command);
    const is = factsOf(draft, command.touches);
    if (answer === 'REFUSED') undo();
    const read = factsOf(now, command.touches);
    yield void all.push(differencesOf(was, is, read));
  }
  return all;
}

function differencesOf(was: Facts, is: Facts, read: Facts): Effects {
  const keys = new Set([...was.keys(), ...is.keys()]);
  return [...keys]
    .filter((key) => was.get(key) !== is.get(key))
    .map((key) => ({ key, before: was.get(key), after: is.get(key), now: read.get(key) }));
}

/** By index; only those of lost answers mean something. */
function* judgeLost(all: readonly Effects[], sent: readonly SentCommand[]): SlicedTask<Verdict[]> {
  if (!sent.some(({ answer }) => answer === 'LOST')) return [];
  const fits = yield* fittingBeginnings(all, sent);
  const first = fits[0];
  const last = fits[fits.length - 1];
  if (first === undefined || last === undefined) return judgeEach(all, sent);
  return all.map((_effects, index) => (index < first ? 'DONE' : index >= last ? 'NOT_DONE' : 'UNKNOWN'));
}

/** How many of the commands, from the first on, make of `before` what was read; in rising order. */
function* fittingBeginnings(all: readonly Effects[], sent: readonly SentCommand[]): SlicedTask<number[]> {
  const values = new Map<string, string | undefined>();
  let wrong = 0;
  for (const { key, before, now } of effectsOf(all, sent)) {
    if (values.has(key)) continue;
    values.set(key, before);
    if (before !== now) wrong += 1;
    yield;
  }
  const answered = sent.findLastIndex(({ answer }) => answer === 'ACCEPTED') + 1;
  const fits: number[] = [];
  for (let done = 0; done <= all.length; done += 1) {
    if (done >= answered && wrong === 0) fits.push(done);
    if (sent[done]?.answer === 'REFUSED') continue;
    for (const { key, after, now } of all[done] ?? []) {
      if (values.get(key) !== now) wrong -= 1;
      if (after !== now) wrong += 1;
      values.set(key, after);
    }
    yield;
  }
  return fits;
}

function judgeEach(all: readonly Effects[], sent: readonly SentCommand[]): Verdict[] {
  const writers = new Map<string, number>();
  for (const { key } of effectsOf(all, sent)) writers.set(key, (writers.get(key) ?? 0) + 1);
  return all.map((effects) => {
    const own = effects.filter(({ key }) => writers.get(key) === 1);
    if (own.length === 0 || own.length < effects.length) return 'UNKNOWN';
    if (own.every(({ after, now }) => after === now)) return 'DONE';
    if (own.every(({ before, now }) => before === now)) return 'NOT_DONE';
    return 'UNKNOWN';
  });
}

function refusedVerdict(effects: Effects): Verdict {
  const visible = effects.filter(({ after, now }) => after === now).length;
  if (visible === 0) return 'NOT_DONE';
  return visible === effects.length ? 'DONE' : 'UNKNOWN';
}

/** Commands that were done, of which nobody overwrote the result here, and whose result is not there. */
function* contradicted(
  all: readonly Effects[],
  sent: readonly SentCommand[],
  verdicts: readonly Verdict[],
): SlicedTask<ReadonlySet<number>> {
  const lastWriter = new Map<string, { readonly index: number; readonly isThere: boolean }>();
  for (const [index, effects] of all.entries()) {
    if (sent[index]?.answer === 'REFUSED' || verdicts[index] === 'NOT_DONE') continue;
    for (const { key, after, now } of effects) lastWriter.set(key, { index, isThere: after === now });
    yield;
  }
  return new Set([...lastWriter.values()].filter(({ isThere }) => !isThere).map(({ index }) => index));
}

function* effectsOf(all: readonly Effects[], sent: readonly SentCommand[]): Generator<Effect> {
  for (const [index, effects] of all.entries()) if (sent[index]?.answer !== 'REFUSED') yield* effects;
}
