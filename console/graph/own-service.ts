import { GRAPH } from './addresses.ts';
import { ask } from './ask.ts';
import { LiveConnection } from './live-connection.ts';
import type { Service } from './service.ts';
import { announceSessionRefused } from './session-end.ts';

/** The service of the console, with the session of the browser. */
export const OWN_SERVICE: Service = {
  graph: GRAPH,
  ask,
  live: new LiveConnection({ graph: GRAPH, onRefused: announceSessionRefused }),
};
