import type { Parts } from './parts.ts';

type AllServices = Parts['services'];

/** The services of all domains, as resolvers find them in the request context. `openParts` creates them. */
declare module '../gateway/context.ts' {
  interface Services extends AllServices {}
}
