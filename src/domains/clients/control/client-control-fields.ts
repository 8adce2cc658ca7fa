import { SEND_RETAIN } from '../../../protocol/apis/clients/client-control.ts';
import type { Fields } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import type { SessionAction } from '../../../protocol/mqtt/broker-session.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import { MAX_SUBSCRIPTION_IDENTIFIER } from './client-input.ts';

export interface Consent {
  readonly force: boolean;
  readonly takeover: boolean;
  readonly discardWill: boolean;
  readonly among: ReadonlySet<string>;
}

export const consentOf = ({ force, takeover, discardWill, among }: Fields): Consent => ({
  force: force === true,
  takeover: takeover === true,
  discardWill: discardWill === true,
  among: new Set(Array.isArray(among) ? among : []),
});

/** Errors: ControlRefusal in the wording of Mosquitto's plugins. */
export function readSubscribe(fields: Fields): SessionAction {
  const { qos, subscription_identifier: identifier } = fields;
  if (qos !== 0 && qos !== 1 && qos !== 2) throw new ControlRefusal('Invalid/missing qos');
  const options = fields.options ?? {};
  if (typeof options !== 'object') throw new ControlRefusal('Invalid options');
  const { no_local: noLocal, retain_as_published: retainAsPublished, send_retain: sendRetain } = options as Fields;
  return {
    kind: 'SUBSCRIBE',
    filter: filterOf(fields),
    qos,
    noLocal: noLocal === true,
    retainAsPublished: retainAsPublished === true,
    ...(sendRetain == null ? {} : { retainHandling: retainHandlingOf(sendRetain) }),
    ...(identifier == null ? {} : { identifier: identifierOf(identifier) }),
  };
}

export const readUnsubscribe = (fields: Fields): SessionAction => ({ kind: 'UNSUBSCRIBE', filter: filterOf(fields) });

function filterOf({ topic }: Fields): string {
  if (typeof topic !== 'string' || filterProblem(topic) !== null) throw new ControlRefusal('Invalid/missing topic');
  return topic;
}

/** SEND_RETAIN has the order of MQTT 5, 3.8.3.1. */
function retainHandlingOf(value: unknown): 0 | 1 | 2 {
  const index = (SEND_RETAIN as readonly unknown[]).indexOf(value);
  if (index !== 0 && index !== 1 && index !== 2) throw new ControlRefusal('Invalid send_retain');
  return index;
}

function identifierOf(value: unknown): number {
  const identifier = Number.isSafeInteger(value) ? Number(value) : 0;
  if (identifier >= 1 && identifier <= MAX_SUBSCRIPTION_IDENTIFIER) return identifier;
  throw new ControlRefusal('Invalid subscription_identifier');
}
