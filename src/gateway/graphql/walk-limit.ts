import { setImmediate as immediate } from 'node:timers/promises';
import { ServiceError } from '../../platform/errors.ts';

/**
 * Maximum of what one run of a caller's operation counts: entries of lists within lists, queries to brokers for single entries, and long
 * texts by their length. The cost of a document counts such lists by their usual size. Where roles, groups and their holders reference
 * each other by the dozen, a walk among them multiplies at each step, and a short document would take minutes. Longer lists have pages.
 */
const MAX_WALK = 100_000;

/** Characters that fields of one run may read and make whose work grows with them: previews, and configurations of bridges. */
export const MAX_CHARACTERS = 8 * 1024 * 1024;

/** Spent by fields while they make text. */
export interface CharacterBudget {
  readonly limit: number;
  charactersLeft: number;
}

/** Throws TOO_LARGE if the characters are more than what is left. */
export function spendCharacters(budget: CharacterBudget, characters: number): void {
  budget.charactersLeft -= characters;
  if (budget.charactersLeft >= 0) return;
  const { limit } = budget;
  throw new ServiceError(
    'TOO_LARGE',
    `The previews and configurations of a request have more than ${limit} characters: select fewer`,
    { info: { limit } },
  );
}

/** What one run has used up. */
interface Run extends CharacterBudget {
  steps: number;
}

/** By context. Operations of the service itself are not counted: they do not nest lists. */
const runs = new WeakMap<object, Run>();

/** Before each run: a subscription runs more than once in one context. */
export function beginWalk(context: object): void {
  runs.set(context, { steps: 0, limit: MAX_CHARACTERS, charactersLeft: MAX_CHARACTERS });
}

const newBudget = (): CharacterBudget => ({ limit: MAX_CHARACTERS, charactersLeft: MAX_CHARACTERS });

/** The budget that all fields of a run share. In an operation of the service itself each field has its own. */
export const characterBudget = (context: object): CharacterBudget => runs.get(context) ?? newBudget();

/**
 * Counts a list of the response. A list beyond the limit is empty, and so are all later ones: the run ends soon, instead of with an
 * error for each of a hundred thousand fields, and its result is not returned.
 */
export function walk<T>(context: object, list: readonly T[]): readonly T[] {
  const run = runs.get(context);
  if (run === undefined) return list;
  run.steps += list.length;
  return run.steps > MAX_WALK ? [] : list;
}

/** Characters of a long text that count as one entry: texts alone reach the limit with 32 MB. */
const STEP_CHARACTERS = 320;

/** Counts a text that may be long and that a document may select under many aliases. Returns whether the text may be returned. */
export function mayTell(context: object, characters: number): boolean {
  const run = runs.get(context);
  if (run === undefined) return true;
  run.steps += Math.floor(characters / STEP_CHARACTERS);
  return run.steps <= MAX_WALK;
}

/** What a query to a broker counts that is sent for each entry of a list. */
const QUESTION_STEPS = 20;

/**
 * Counts a query to a broker, and returns whether it may be sent, once all others of the same turn are counted: of too many none is
 * sent. `isOneOfMany`: the list is known to be too long for a query for each entry.
 */
export async function mayAskBroker(context: object, isOneOfMany: boolean): Promise<boolean> {
  const run = runs.get(context);
  if (run === undefined) return true;
  run.steps += isOneOfMany ? MAX_WALK + 1 : QUESTION_STEPS;
  if (run.steps <= MAX_WALK) await immediate();
  return run.steps <= MAX_WALK;
}

/** RATE_LIMITED, as for a document that costs too much, if the run went beyond the limit. */
export function walkProblem(context: object): ServiceError | null {
  const actual = runs.get(context)?.steps ?? 0;
  if (actual <= MAX_WALK) return null;
  return new ServiceError(
    'RATE_LIMITED',
    `The lists have more than ${MAX_WALK} entries, a query to a broker for one counted as ${QUESTION_STEPS} and a long text as one for ${STEP_CHARACTERS} characters: select fewer`,
    {
      info: { limit: MAX_WALK, actual },
    },
  );
}
