import { useContext } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import type { LoadedLanguage } from '../texts/languages.ts';
import { filled, Language } from '../texts/texts.ts';
import { ADVICE, type AdviceKey } from './advice-texts.ts';

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

/** What would help: the words of the service, unless the language has a translation of them. */
export const useAdvice = (): ((refusal: Advised) => string) => adviceIn(useContext(Language));

/** As `useAdvice`, in a given language. */
export function adviceIn({ translations }: LoadedLanguage): (refusal: Advised) => string {
  const texts = translations[ADVICE];
  return (refusal) => {
    const advice = texts?.[keyOf(refusal)];
    // A reason that is newer than the console has no translation.
    if (texts === undefined || advice === undefined) return refusal.whatWouldHelp;
    const part = (key: AdviceKey, values = {}) => filled(texts[key] ?? '', values);
    const named = (name: string | null) => (name === null ? '' : part('named', { name }));
    const { clientId, username, takenOverBy, decidedBy } = refusal;
    const group = decidedBy?.groupName ?? null;
    return filled(advice, {
      name: named(username),
      id: named(clientId),
      holder: username === null ? part('anonymousHolder') : part('accountHolder', { name: username }),
      place: placeOf(refusal),
      otherPlace: takenOverBy ? placeOf(takenOverBy) : '?',
      role: decidedBy?.roleName,
      ofGroup: group === null ? '' : part('ofGroup', { group }),
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
