import { CLIENT_CONTROL_API, DELETE_SESSION, SEND_RETAIN } from '../../../protocol/apis/clients/client-control.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { type Fields, fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { requiredText } from '../../../protocol/control/plugin-arguments.ts';
import { tablePlugin } from '../../../protocol/control/table-plugin.ts';
import type { ClientControl, ControlOutcome } from '../clients/client-control.ts';
import { topicFilterProblem } from '../connecting/topic-rules.ts';
import type { RequestedSubscription } from '../store/subscription.ts';
import { isShared } from '../store/subscription-index.ts';

/** MQTT 5, 3.8.2.1.2. */
const MAX_IDENTIFIER = 268_435_455;

/**
 * `cedalo/client-control` of the embedded broker. Each command returns `{}` when its changes are on disk.
 *
 * - `disconnectClient` (`clientid`; optional `discardWill`): with reason code 0x98 in MQTT 5. The session stays. The
 *   will is published, or delayed by its Will Delay Interval, unless `discardWill` is true.
 * - `subscribeClient` (`clientid`, `topic`, `qos`; optional `subscription_identifier` and `options` with `no_local`,
 *   `retain_as_published` and `send_retain`; `null` means absent): as if the client had sent SUBSCRIBE.
 * - `unsubscribeClient` (`clientid`, `topic`): succeeds also without such a subscription.
 * - `deleteSession` (`clientid`): with its subscriptions and its queue, as if the session had expired. Refused for a
 *   connected client.
 */
export const clientControlPlugin = (clients: ClientControl): ControlPlugin =>
  tablePlugin(CLIENT_CONTROL_API, {
    disconnectclient: async (command) =>
      responseFor(await clients.disconnect(nameOf(command, 'clientid'), flagOf(command, 'discardWill'))),
    subscribeclient: async (command) =>
      responseFor(await clients.subscribe(nameOf(command, 'clientid'), subscriptionOf(command))),
    unsubscribeclient: async (command) =>
      responseFor(await clients.unsubscribe(nameOf(command, 'clientid'), filterOf(command))),
    [DELETE_SESSION.toLowerCase()]: async (command) =>
      responseFor(await clients.deleteSession(nameOf(command, 'clientid'))),
  });

const REFUSALS: Readonly<Record<Exclude<ControlOutcome, 'DONE'>, string>> = {
  NOT_FOUND: 'Client not found',
  CONNECTED: 'The client is connected: disconnect it first',
  FORBIDDEN: 'The client may not subscribe to this topic: its roles do not let it',
  TOO_MANY: 'The client has as many subscriptions as it may have',
};

function responseFor(outcome: ControlOutcome): object {
  if (outcome !== 'DONE') throw new ControlRefusal(REFUSALS[outcome]);
  return {};
}

function nameOf(command: ControlCommand, field: string): string {
  const name = requiredText(command, field);
  if (name === '') throw new ControlRefusal(`Invalid/missing ${field}`);
  return name;
}

function filterOf(command: ControlCommand): string {
  const filter = nameOf(command, 'topic');
  const problem = topicFilterProblem(filter) ?? unsupportedProblem(filter);
  if (problem) throw new ControlRefusal(`Invalid topic: ${problem}`);
  return filter;
}

function unsupportedProblem(filter: string): string | null {
  // Invalid UTF-8 was decoded to lone surrogates.
  return /\p{Cs}/u.test(filter) ? 'not valid UTF-8' : null;
}

function subscriptionOf(command: ControlCommand): RequestedSubscription {
  const topic = filterOf(command);
  const qos = fieldOf(command, 'qos');
  if (qos !== 0 && qos !== 1 && qos !== 2) throw new ControlRefusal('Invalid/missing qos');
  const options = optional(command, 'options') ?? {};
  if (!isFields(options)) throw new ControlRefusal('Invalid options');
  const nl = flagOf(options, 'no_local');
  // [MQTT-3.8.3-4]
  if (nl && isShared(topic)) throw new ControlRefusal('Invalid no_local: the subscription is shared');
  return {
    topic,
    qos,
    nl,
    rap: flagOf(options, 'retain_as_published'),
    rh: retainHandlingOf(options),
    identifier: identifierOf(command),
  };
}

const optional = (fields: Fields, name: string): unknown => fieldOf(fields, name) ?? undefined;

function flagOf(options: Fields, name: string): boolean {
  const value = optional(options, name) ?? false;
  if (typeof value !== 'boolean') throw new ControlRefusal(`Invalid ${name}`);
  return value;
}

/** `SEND_RETAIN` is in the order of Retain Handling. REST can express null only by the text `null`. */
function retainHandlingOf(options: Fields): 0 | 1 | 2 {
  const value = optional(options, 'send_retain') ?? 'always';
  const index = value === 'null' ? 0 : (SEND_RETAIN as readonly unknown[]).indexOf(value);
  if (index !== 0 && index !== 1 && index !== 2) throw new ControlRefusal('Invalid send_retain');
  return index;
}

function identifierOf(command: ControlCommand): number | undefined {
  const value = optional(command, 'subscription_identifier');
  if (value === undefined) return undefined;
  const isValid = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_IDENTIFIER;
  if (!isValid) throw new ControlRefusal('Invalid subscription_identifier');
  return value;
}
