import type { RefusalReason } from './reason-texts.ts';

/** Why access was denied. */
type DenialKey = 'deniedByRule' | 'deniedByWildcards' | 'deniedByDefault' | 'deniedByBroker';
/** Parts of sentences. */
type PartKey = 'named' | 'ofGroup' | 'accountHolder' | 'anonymousHolder';

export type AdviceKey = Exclude<RefusalReason, 'ACCESS_DENIED'> | DenialKey | PartKey;

/**
 * The name of the catalogue of what an operator can do about a refusal, in other languages than English: the graph has
 * the English text. `{name}` and `{id}` are quoted names with a space before, or empty.
 */
export const ADVICE = 'refusals/advice';
