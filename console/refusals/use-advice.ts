import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useTexts } from '../texts/texts.ts';
import { type AdviceKey, adviceTexts } from './advice-texts.ts';

/** What `useAdvice` needs. */
export const ADVISED = graphql(`fragment Advised on Refusal @_unmask {
  reason
  clientId
  username
  address
  takenOverBy { username address }
  decision
  decidedBy { roleName groupName rule { topic priority } }
  whatWouldHelp
}`);

export type Advised = ResultOf<typeof ADVISED>;

/** What would help. A reason that is newer than the console has the words of the service. */
export function useAdvice(): (refusal: Advised) => string {
  const text = useTexts(adviceTexts);
  return (refusal) => {
    const key = keyOf(refusal);
    if (!Object.hasOwn(adviceTexts.en, key)) return refusal.whatWouldHelp;
    const { clientId, username, takenOverBy, decidedBy } = refusal;
    const group = decidedBy?.groupName ?? null;
    return text(key, {
      name: username === null ? '' : text('named', { name: username }),
      id: clientId === null ? '' : text('named', { name: clientId }),
      holder: username === null ? text('anonymousHolder') : text('accountHolder', { name: username }),
      place: placeOf(refusal),
      otherPlace: takenOverBy ? placeOf(takenOverBy) : '?',
      role: decidedBy?.roleName,
      ofGroup: group === null ? '' : text('ofGroup', { group }),
      filter: decidedBy?.rule?.topic,
      priority: decidedBy?.rule?.priority,
    });
  };
}

/** The address of a connection, with its account. */
export const placeOf = ({ address, username }: Pick<Advised, 'address' | 'username'>): string =>
  `${address ?? '?'}${username === null ? '' : ` (${username})`}`;

function keyOf({ reason, decision, decidedBy }: Advised): AdviceKey {
  if (reason !== 'ACCESS_DENIED') return reason;
  if (decision === 'BROKER') return 'deniedByBroker';
  if (decidedBy === null) return 'deniedByDefault';
  return decidedBy.rule === null ? 'deniedByWildcards' : 'deniedByRule';
}
