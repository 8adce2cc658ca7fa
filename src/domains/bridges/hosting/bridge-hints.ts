import type { EventHints } from '../../../protocol/hosting/hosted-hints.ts';
import { BRIDGE_STATUS } from '../control/bridge-control.ts';

/** That the status of a bridge changed. */
export const bridgeHints: EventHints = {
  hintOf: ({ event }) => (event === BRIDGE_STATUS ? 'status' : null),
  question: () => ({ command: 'getStatus' }),
  eventsOf: (status) => [{ type: 'event', event: BRIDGE_STATUS, status }],
};
