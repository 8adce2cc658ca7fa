import { type ControlApi, requestTopic } from '../../../protocol/control/envelope.ts';
import { listenerList } from '../../../protocol/control/listeners.ts';
import type { ControlPlugin } from '../../../protocol/control/plugin.ts';
import { tablePlugin } from '../../../protocol/control/table-plugin.ts';
import type { ListenerInfo } from '../clients/connection.ts';

/** The latest time with a year of four digits in ISO 8601. The graph reports it as a licence that does not expire. */
const NEVER = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export const brokerPlugin = (
  version: string,
  apis: () => readonly ControlApi[],
  listeners: () => readonly ListenerInfo[],
): ControlPlugin =>
  tablePlugin('broker', {
    listplugins: () => ({
      plugins: apis().map((name) => ({ name, version, 'control-endpoints': [requestTopic(name)] })),
    }),
    listlisteners: () => listenerList(listeners()),
  });

/** `cedalo/license`: the embedded broker needs no licence. Its features are the APIs that it serves. */
export const licensePlugin = (since: number, features: () => readonly string[]): ControlPlugin =>
  tablePlugin('cedalo/license', {
    getlicenseinformation: () => ({
      edition: 'embedded',
      plan: 'open-source',
      issuedBy: 'Brokergraph',
      issuedTo: 'everyone',
      validSince: since,
      validUntil: NEVER,
      features: features().map((name) => ({ name })),
    }),
  });
