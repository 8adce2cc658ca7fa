import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import type { AccountCompany } from './account-company.ts';
import type { Consent } from './client-control-fields.ts';

/** Client ids in `info`. */
const MAX_LISTED = 100;
/** Client ids in a message. */
const MAX_NAMED = 10;

/** What beside Mosquitto itself reaches single clients. */
const WOULD_HELP =
  'the commercial client control plugin, the embedded broker, or `clientTakeover` in the settings of this broker';

export function notConnected(clientid: string): ControlRefusal {
  return new ControlRefusal(`The client is not connected; its session waits for it: "${clientid}"`, {
    code: 'NOT_FOUND',
    info: { name: clientid },
  });
}

/** The account was disconnected, and the log goes on as if the client was not: its user name is not the one that was read. */
export function stillConnected(clientid: string, disconnected: readonly string[]): ControlRefusal {
  return new ControlRefusal(
    `What was known as the account of "${clientid}" is disconnected, but the broker has not told that this client is`,
    { code: 'BROKER_TIMEOUT', info: { outcome: 'unknown', disconnected: disconnected.slice(0, MAX_LISTED) } },
  );
}

export function ownConnection(clientid: string): ControlRefusal {
  return new ControlRefusal(`This is a connection of this service itself: "${clientid}"`, { code: 'IN_USE' });
}

/**
 * The account cannot be disconnected for the sake of one client. `info`: `username` (null: none), `clients` (ids of the others that
 * are known and not of `among`, at most 100), `count` of them, `unknownConnections` (null: unknown how many), `isComplete`: nobody
 * else can be among those, and `canForce`: whether `force` would help.
 */
export function sharedAccount(company: AccountCompany, { takeover, among }: Consent, canKick: boolean): ControlRefusal {
  const { client, isComplete } = company;
  const others = company.others.filter((id) => !among.has(id));
  const info = {
    username: client.username,
    clients: others.slice(0, MAX_LISTED),
    count: others.length,
    unknownConnections: client.unknownConnections,
    isComplete,
    canForce: canKick || takeover,
  };
  const account = client.username === null ? 'clients without a user name' : `the account "${client.username}"`;
  if (!canKick && takeover) {
    return new ControlRefusal(`Mosquitto cannot disconnect ${account} here, and ${ENDS}; ${FORCE_END}`, {
      code: 'IN_USE',
      info,
    });
  }
  const hint = takeover ? `. Alone, ${ENDS}; ${FORCE_END}` : canKick ? '; ask with `force` to disconnect them all' : '';
  const what = `Mosquitto can only disconnect ${account} as a whole`;
  return new ControlRefusal(`${what}: ${reasonOf({ ...company, others })}${hint}`, { code: 'IN_USE', info });
}

const ENDS = 'its session is clean, so that taking it over ends it, and its will is sent';
const FORCE_END = 'ask with `force` to do that';

function reasonOf({ client, others, isComplete }: AccountCompany): string {
  if (client.isOwn !== false) return 'this service itself uses it, or may';
  if (others.length > 0) {
    const names = others.slice(0, MAX_NAMED).map((id) => `"${id}"`);
    const more = others.length > names.length ? ` and ${others.length - names.length} more` : '';
    const unknown = isComplete ? '' : ', and perhaps clients that are not known,';
    return `${names.join(', ')}${more}${unknown} would be disconnected too`;
  }
  if (!isComplete) {
    const { unknownConnections: count } = client;
    const strangers = count === null ? 'it has not told how many connections there are' : `${count} are unknown`;
    const since = new Date(client.since).toISOString();
    return `others may be connected with it, since clients are followed only from ${since} on and ${strangers}`;
  }
  return 'which account it uses cannot be read for sure from the log';
}

export function withoutTakeover(): ControlRefusal {
  const reason = `Mosquitto cannot change the subscriptions of its clients; what can: ${WOULD_HELP}`;
  return new ControlRefusal(reason, { code: 'NOT_SUPPORTED_BY_BROKER', info: { reason } });
}

/** @param isOver it was taken for persistent, and has ended with the takeover */
export function notPersistent(clientid: string, isOver: boolean): ControlRefusal {
  const reason = isOver
    ? `Nothing was changed: the session of "${clientid}" was not persistent and has ended now`
    : `The session of "${clientid}" is clean: taking it over would end it, and the client would come back without the change`;
  return new ControlRefusal(reason, { code: 'NOT_SUPPORTED_BY_BROKER', info: { reason, name: clientid } });
}
