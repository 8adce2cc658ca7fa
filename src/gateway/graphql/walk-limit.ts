import { setImmediate as immediate } from 'node:timers/promises';
import { ServiceError } from '../../platform/errors.ts';

/**
 * Maximum steps of one run of a caller's operation. Entries of nested lists count one step, queries to brokers and long
 * texts several. The number of entries multiplies at each level of roles, groups and members that reference each other.
 */
const MAX_WALK = 100_000;

/** Characters that the fields of one run may process: previews, and configurations of bridges. */
const MAX_CHARACTERS = 2 * 1024 * 1024;

interface CharacterBudget {
  readonly limit: number;
  charactersLeft: number;
}

export function spendCharacters(budget: CharacterBudget, characters: number): void {
  budget.charactersLeft -= characters;
  if (budget.charactersLeft >= 0) return;
  const { limit } = budget;
  throw new ServiceError(
    'TOO_LARGE',
    `The previews and configurations of the request have more than ${limit} characters: select fewer`,
    { info: { limit } },
  );
}

interface Run extends CharacterBudget {
  steps: number;
}

/** By context. Operations of the service itself have no entry, because they do not nest lists. */
const runs = new WeakMap<object, Run>();

/** Call it before each run: a subscription runs several times in one context. */
export function beginWalk(context: object): void {
  runs.set(context, { steps: 0, ...newBudget() });
}

const newBudget = (): CharacterBudget => ({ limit: MAX_CHARACTERS, charactersLeft: MAX_CHARACTERS });

/** Budget that all fields of a run share. In an operation of the service itself each field has its own. */
export const characterBudget = (context: object): CharacterBudget => runs.get(context) ?? newBudget();

/** Counts a list. Beyond the limit it returns an empty list, so that the run ends soon; its result is discarded. */
export function walk<T>(context: object, list: readonly T[]): readonly T[] {
  const run = runs.get(context);
  if (run === undefined) return list;
  run.steps += list.length;
  return run.steps > MAX_WALK ? [] : list;
}

/** Characters of a long text per step: texts alone reach the limit with 32 MB. */
const STEP_CHARACTERS = 320;

/** Counts a text that may be long and be selected under many aliases. Returns whether the text may be returned. */
export function mayReturnText(context: object, characters: number): boolean {
  const run = runs.get(context);
  if (run === undefined) return true;
  run.steps += Math.floor(characters / STEP_CHARACTERS);
  return run.steps <= MAX_WALK;
}

/** Steps of a query to a broker that is sent for an entry of a list. */
const QUERY_STEPS = 20;

/**
 * Returns whether a query to a broker may be sent, after all queries of the same iteration are counted. `isOneOfMany`:
 * whether the list is known to be too long for a query per entry.
 */
export async function mayQueryBroker(context: object, isOneOfMany: boolean): Promise<boolean> {
  const run = runs.get(context);
  if (run === undefined) return true;
  run.steps += isOneOfMany ? MAX_WALK + 1 : QUERY_STEPS;
  if (run.steps <= MAX_WALK) await immediate();
  return run.steps <= MAX_WALK;
}

/** TOO_COMPLEX if the run exceeded the limit, as for a document that costs too much. */
export function walkProblem(context: object): ServiceError | null {
  const actual = runs.get(context)?.steps ?? 0;
  if (actual <= MAX_WALK) return null;
  const counted = `A query to a broker counts as ${QUERY_STEPS} entries, and ${STEP_CHARACTERS} characters of a long text as one`;
  const words = `The lists of the result have more than ${MAX_WALK} entries: select fewer. ${counted}.`;
  return new ServiceError('TOO_COMPLEX', words, { info: { limit: MAX_WALK, actual } });
}
