import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useTexts } from '../texts/texts.ts';
import { type AdviceKey, adviceTexts } from './advice-texts.ts';

/** What `useAdvice` needs. */
export const ADVISED = graphql(`fragment Advised on Refusal @_unmask {
  reason
  clientId
  username
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
    const { clientId, username, decidedBy } = refusal;
    const group = decidedBy?.groupName ?? null;
    return text(key, {
      name: username === null ? '' : text('named', { name: username }),
      id: clientId === null ? '' : text('named', { name: clientId }),
      holder: username === null ? text('anonymousHolder') : text('accountHolder', { name: username }),
      role: decidedBy?.roleName,
      ofGroup: group === null ? '' : text('ofGroup', { group }),
      filter: decidedBy?.rule?.topic,
      priority: decidedBy?.rule?.priority,
    });
  };
}

function keyOf({ reason, decision, decidedBy }: Advised): AdviceKey {
  if (reason !== 'ACCESS_DENIED') return reason;
  if (decision === 'BROKER') return 'deniedByBroker';
  if (decidedBy === null) return 'deniedByDefault';
  return decidedBy.rule === null ? 'deniedByWildcards' : 'deniedByRule';
}
