import type { SlicedTask } from '../../../platform/scheduling/sliced-task.ts';
import {
  ACL_TYPES,
  type AccessPolicy,
  type AclRule,
  type Membership,
} from '../../../protocol/apis/access-control/access-model.ts';
import type { PlannedCommand, TouchedObject } from './access-plan.ts';
import { PolicyDraft } from './policy-draft.ts';

export interface SentCommand {
  readonly command: PlannedCommand;
  readonly response: 'ACCEPTED' | 'REFUSED' | 'LOST';
}

/** An ACCEPTED command is UNKNOWN if the policy does not show its effect. A REFUSED one is DONE if it shows it. */
export type Verdict = 'DONE' | 'NOT_DONE' | 'UNKNOWN';

/**
 * Determines which commands a broker executed. `before` is the policy before the first one, `now` was read after the
 * last one. A broker executes commands in order, so it executed the first n: those that change `before` into `now`. If
 * several n are possible, the commands between them are UNKNOWN (a password; a role that is removed and added again).
 * If none is, another client changed the policy, and each command is judged by its own effects.
 *
 * Changes of another administrator between the lost response and the read count as made or undone by these commands.
 */
export function* judge(before: AccessPolicy, sent: readonly SentCommand[], now: AccessPolicy): SlicedTask<Verdict[]> {
  const effects = yield* effectsOfEach(before, sent, now);
  const lost = yield* judgeLost(effects, sent);
  const verdicts = sent.map(({ response }, index): Verdict => {
    if (response === 'LOST') return lost[index] ?? 'UNKNOWN';
    if (response === 'ACCEPTED') return 'DONE';
    return refusedVerdict(effects[index] ?? []);
  });
  for (const index of yield* contradicted(effects, sent, verdicts)) verdicts[index] = 'UNKNOWN';
  return verdicts;
}

interface Effect {
  readonly key: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  readonly now: string | undefined;
}

type Effects = readonly Effect[];

function* effectsOfEach(before: AccessPolicy, sent: readonly SentCommand[], now: AccessPolicy): SlicedTask<Effects[]> {
  const draft = new PolicyDraft(before);
  const all: Effects[] = [];
  for (const { command, response } of sent) {
    const factsBefore = factsOf(draft, command.touches);
    const undo = draft.checkpoint();
    draft.run(command);
    const factsAfter = factsOf(draft, command.touches);
    if (response === 'REFUSED') undo();
    yield void all.push(differencesOf(factsBefore, factsAfter, factsOf(now, command.touches)));
  }
  return all;
}

function differencesOf(before: Facts, after: Facts, now: Facts): Effects {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys]
    .filter((key) => before.get(key) !== after.get(key))
    .map((key) => ({ key, before: before.get(key), after: after.get(key), now: now.get(key) }));
}

function* judgeLost(all: readonly Effects[], sent: readonly SentCommand[]): SlicedTask<Verdict[]> {
  if (!sent.some(({ response }) => response === 'LOST')) return [];
  const counts = yield* possibleCounts(all, sent);
  const first = counts[0];
  const last = counts.at(-1);
  if (first === undefined || last === undefined) return judgeEach(all, sent);
  return all.map((_effects, index) => (index < first ? 'DONE' : index >= last ? 'NOT_DONE' : 'UNKNOWN'));
}

/** Each n for which the first n commands change the policy into the one that was read, in ascending order. */
function* possibleCounts(all: readonly Effects[], sent: readonly SentCommand[]): SlicedTask<number[]> {
  const values = new Map<string, string | undefined>();
  let differing = 0;
  for (const { key, before, now } of effectsOf(all, sent)) {
    if (values.has(key)) continue;
    values.set(key, before);
    if (before !== now) differing += 1;
    yield;
  }
  const accepted = sent.findLastIndex(({ response }) => response === 'ACCEPTED') + 1;
  const counts: number[] = [];
  for (let done = 0; done <= all.length; done += 1) {
    if (done >= accepted && differing === 0) counts.push(done);
    if (sent[done]?.response === 'REFUSED') continue;
    for (const { key, after, now } of all[done] ?? []) {
      if (values.get(key) !== now) differing -= 1;
      if (after !== now) differing += 1;
      values.set(key, after);
    }
    yield;
  }
  return counts;
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

/** Returns the DONE commands whose result is missing although no later command changed it. */
function* contradicted(
  all: readonly Effects[],
  sent: readonly SentCommand[],
  verdicts: readonly Verdict[],
): SlicedTask<ReadonlySet<number>> {
  const lastWriter = new Map<string, { readonly index: number; readonly exists: boolean }>();
  for (const [index, effects] of all.entries()) {
    if (sent[index]?.response === 'REFUSED' || verdicts[index] === 'NOT_DONE') continue;
    for (const { key, after, now } of effects) lastWriter.set(key, { index, exists: after === now });
    yield;
  }
  return new Set([...lastWriter.values()].filter(({ exists }) => !exists).map(({ index }) => index));
}

function* effectsOf(all: readonly Effects[], sent: readonly SentCommand[]): Generator<Effect> {
  for (const [index, effects] of all.entries()) if (sent[index]?.response !== 'REFUSED') yield* effects;
}

/** One entry per value that can change independently. */
type Facts = ReadonlyMap<string, string>;

/** Names cannot contain NUL. */
const keyOf = (...parts: readonly string[]): string => parts.join('\0');

const LISTS = { CLIENT: 'clients', GROUP: 'groups', ROLE: 'roles' } as const;

/** Passwords are not reported. */
function factsOf(policy: AccessPolicy, objects: readonly TouchedObject[]): Facts {
  const facts = new Map<string, string>();
  for (const object of objects) {
    if (object.kind === 'DEFAULT_ACL') addValues(facts, object.kind, policy.defaultAcl);
    else if (object.kind === 'ANONYMOUS_GROUP') addValues(facts, object.kind, { name: policy.anonymousGroup });
    else addValues(facts, keyOf(object.kind, object.name), policy[LISTS[object.kind]].get(object.name));
  }
  return facts;
}

function addValues(facts: Map<string, string>, at: string, object: object | undefined): void {
  if (object === undefined) return;
  facts.set(at, 'exists');
  for (const [name, value] of Object.entries(object)) {
    if (name === 'acls') addRules(facts, at, value);
    else if (Array.isArray(value)) {
      for (const membership of value as Membership[])
        facts.set(keyOf(at, name, membership.name), String(membership.priority));
    } else if (value !== null && value !== '') facts.set(keyOf(at, name), String(value));
  }
}

function addRules(facts: Map<string, string>, at: string, acls: readonly AclRule[]): void {
  for (const type of ACL_TYPES) {
    const rules = acls.filter(({ aclType }) => aclType === type);
    for (const { topic, priority, allow } of rules) facts.set(keyOf(at, 'rule', type, topic), `${priority} ${allow}`);
    // Of rules with the same priority, the older one decides.
    if (rules.length > 1) facts.set(keyOf(at, 'order', type), rules.map(({ topic }) => topic).join('\0'));
  }
}
