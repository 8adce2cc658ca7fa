import { useContext } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { filled, Language } from '../texts/texts.ts';
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

/** What would help: the words of the service, unless the console has a translation of them. */
export function useAdvice(): (refusal: Advised) => string {
  const language = useContext(Language);
  return (refusal) => {
    const texts = language === 'de' ? adviceTexts.de : null;
    const key = keyOf(refusal);
    // A reason that is newer than the console has no translation.
    if (texts === null || !Object.hasOwn(texts, key)) return refusal.whatWouldHelp;
    const { clientId, username, takenOverBy, decidedBy } = refusal;
    const group = decidedBy?.groupName ?? null;
    const named = (name: string | null) => (name === null ? '' : filled(texts.named, { name }));
    return filled(texts[key], {
      name: named(username),
      id: named(clientId),
      holder: username === null ? texts.anonymousHolder : filled(texts.accountHolder, { name: username }),
      place: placeOf(refusal),
      otherPlace: takenOverBy ? placeOf(takenOverBy) : '?',
      role: decidedBy?.roleName,
      ofGroup: group === null ? '' : filled(texts.ofGroup, { group }),
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
