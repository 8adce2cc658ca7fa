import { createContext, useContext } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';

export const ACCESS_EVENTS = graphql(`subscription AccessControl($brokerId: ID!, $after: SafeInt) {
  accessControl(brokerId: $brokerId, after: $after) { kind sequence isConnected }
}`);

type AccessEvent = ResultOf<typeof ACCESS_EVENTS>['accessControl'];

/** What the parts of the screen share. */
interface Access {
  readonly brokerId: string;
  /** Grows with each change of the access control, by this or another person. */
  readonly revision: number;
  readonly isLive: boolean;
  readonly canChange: boolean;
  readonly knowsSubstitution: boolean;
  readonly knowsWildcardFlag: boolean;
}

export const AccessContext = createContext<Access | null>(null);

export function useAccess(): Access {
  const access = useContext(AccessContext);
  if (access === null) throw new Error('Only parts of the access screen have it');
  return access;
}

interface Revision {
  readonly revision: number;
  readonly isConnected: boolean;
}

function apply(before: Revision | null, { isConnected }: AccessEvent): Revision {
  counter += 1;
  return { revision: counter, isConnected: isConnected ?? before?.isConnected ?? false };
}

/** Snapshots begin without a state, so the number cannot be in it. */
let counter = 0;

/** The number of the last change, for queries that are asked again. */
export function useAccessRevision(brokerId: string): { readonly revision: number; readonly isLive: boolean } {
  const { state, isLive } = useLive(ACCESS_EVENTS, { brokerId }, ({ accessControl }) => accessControl, apply);
  return { revision: state?.revision ?? 0, isLive: isLive && state?.isConnected === true };
}
