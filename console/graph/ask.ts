import type { TadaDocumentNode } from 'gql.tada';
import { GRAPH } from './addresses.ts';
import { post } from './post.ts';
import { announceSessionRefused } from './session-end.ts';

const OWN = { graph: GRAPH, credentials: 'same-origin', onRefused: announceSessionRefused } as const;

/** Runs a query or a mutation. The cookie of the session comes with each request, so there is no token here. */
export const ask = <Data, Variables>(document: TadaDocumentNode<Data, Variables>, variables: Variables) =>
  post(document, variables, OWN);

/** Runs an operation of the sign-in. The service would refuse it with the cookie of a session that has ended. */
export const askWithoutSession = <Data, Variables>(document: TadaDocumentNode<Data, Variables>, variables: Variables) =>
  post(document, variables, { ...OWN, credentials: 'omit' });
