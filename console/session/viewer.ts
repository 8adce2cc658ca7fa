import { createContext, useContext } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';

export const VIEWER = graphql(`query Viewer {
  viewer { kind name email isRootAdmin isSecondFactorMissing sessions { id isCurrent } }
}`);

export interface Viewer extends Omit<ResultOf<typeof VIEWER>['viewer'], 'sessions'> {
  readonly sessionId: string;
}

export const ViewerContext = createContext<Viewer | null>(null);

/** The person who is signed in. */
export function useViewer(): Viewer {
  const viewer = useContext(ViewerContext);
  if (viewer === null) throw new Error('Only screens after the sign-in have a viewer');
  return viewer;
}
