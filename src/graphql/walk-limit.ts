import { setImmediate as immediate } from 'node:timers/promises';
import { ServiceError } from '../errors.ts';

/**
 * Entries of lists within lists, questions to brokers for single entries, and thousands of characters of long texts, that one run of a
 * caller's operation may be told. A document's cost counts such lists by what is usual; where roles, groups and their holders hold each other by the dozen, a walk among them grows by that at each step, and a
 * short document would keep the process for minutes. Longer lists have pages.
 */
const MAX_WALK = 100_000;

/** By context. Our own operations begin none and are not counted: what they ask does not go round. */
const walked = new WeakMap<object, number>();

/** Before each run: a subscription runs more than once in one context. */
export function beginWalk(context: object): void {
  walked.set(context, 0);
}

/**
 * Counts a list of the answer. One that goes too far is empty, and so are all after it: the run comes to its end at once, instead of
 * with an error for each of a hundred thousand fields, and its result is not told.
 */
export function walk<T>(context: object, list: readonly T[]): readonly T[] {
  const before = walked.get(context);
  if (before === undefined) return list;
  const now = before + list.length;
  walked.set(context, now);
  return now > MAX_WALK ? [] : list;
}

/** Characters of a long text that count as one entry. */
const STEP_CHARACTERS = 1_000;

/** Counts a text that may be long, and that a document may ask for under many names. False: it is not to be told, as with `walk`. */
export function mayTell(context: object, characters: number): boolean {
  const before = walked.get(context);
  if (before === undefined) return true;
  const now = before + Math.floor(characters / STEP_CHARACTERS);
  if (now !== before) walked.set(context, now);
  return now <= MAX_WALK;
}

/** What a question to a broker counts, of those that are asked for each entry of a list. */
const QUESTION_STEPS = 20;

/**
 * Counts a question to a broker, and tells whether it may be asked once all others of the same moment are counted: of too many not
 * one is. `isOneOfMany`: the list it is for is known to be too long to ask about each entry.
 */
export async function mayAskBroker(context: object, isOneOfMany: boolean): Promise<boolean> {
  const before = walked.get(context);
  if (before === undefined) return true;
  const now = before + (isOneOfMany ? MAX_WALK + 1 : QUESTION_STEPS);
  walked.set(context, now);
  if (now <= MAX_WALK) await immediate();
  return (walked.get(context) ?? 0) <= MAX_WALK;
}

/** RATE_LIMITED, as for a document that costs too much, when the run went too far. */
export function walkProblem(context: object): ServiceError | null {
  const actual = walked.get(context) ?? 0;
  if (actual <= MAX_WALK) return null;
  return new ServiceError(
    'RATE_LIMITED',
    `The lists have more than ${MAX_WALK} entries, a question to a broker for one counted as ${QUESTION_STEPS} and a long text as one for ${STEP_CHARACTERS} characters: ask for fewer`,
    {
      info: { limit: MAX_WALK, actual },
    },
  );
}
