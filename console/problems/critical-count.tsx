import { createContext, useContext, useEffect } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';

const CRITICAL = graphql('query CriticalProblems { problemCounts { critical } }');
const COUNTS_MS = 5_000;

/** Shows the number of critical problems in the menu. */
export const ShowCritical = createContext<(count: number) => void>(() => undefined);

/** For a screen that knows the number, so that the menu does not ask for it as well. */
export function useCritical(count: number | undefined): void {
  const show = useContext(ShowCritical);
  useEffect(() => {
    if (count !== undefined) show(count);
  }, [show, count]);
}

/** Asks for the number, on all other screens. */
export function AskCritical(): null {
  useCritical(useQuery(CRITICAL, {}, COUNTS_MS).data?.problemCounts.critical);
  return null;
}
