import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import type { AccountPeers } from './account-peers.ts';
import type { Consent } from './client-control-fields.ts';

/** Client ids in `info`. */
const MAX_LISTED = 100;
/** Client ids in a message. */
const MAX_NAMED = 10;

const REMEDY =
  'use the commercial client control plugin or the embedded broker, or enable `allowsClientTakeover` in the settings of this broker';

export function notConnected(clientid: string): ControlRefusal {
  return new ControlRefusal(`The client "${clientid}" is not connected; it has a persistent session`, {
    code: 'NOT_FOUND',
    info: { name: clientid },
  });
}

/** The account was disconnected, but the log does not show that the client was: its user name was read incorrectly. */
export function stillConnected(clientid: string, disconnected: readonly string[]): ControlRefusal {
  return new ControlRefusal(
    `The presumed account of "${clientid}" was disconnected, but the broker's log does not show that this client was`,
    { code: 'BROKER_TIMEOUT', info: { outcome: 'unknown', disconnected: disconnected.slice(0, MAX_LISTED) } },
  );
}

export function ownConnection(clientid: string): ControlRefusal {
  return new ControlRefusal(`"${clientid}" is a connection of this service itself`, { code: 'IN_USE' });
}

/**
 * The account cannot be disconnected because of one client. `info`: `username` (null: none), `clients` (ids of at most
 * 100 known other clients that are not in `among`), `count` (their number), `unknownConnections` (null: unknown
 * number), `isComplete` (whether these are all), and `canForce` (whether `force` would help).
 */
export function sharedAccount(peers: AccountPeers, { takeover, among }: Consent, canKick: boolean): ControlRefusal {
  const { client, isComplete } = peers;
  const others = peers.others.filter((id) => !among.has(id));
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
    const message = `Mosquitto cannot disconnect ${account} here, and ${CLEAN_SESSION}: ${USE_FORCE} end the session`;
    return new ControlRefusal(message, { code: 'IN_USE', info });
  }
  const forceAll = canKick ? `; ${USE_FORCE} disconnect them all` : '';
  const hint = takeover ? `. To disconnect only this client: ${CLEAN_SESSION}; ${USE_FORCE} do that` : forceAll;
  const limit = `Mosquitto can only disconnect ${account} as a whole`;
  return new ControlRefusal(`${limit}: ${reasonOf({ ...peers, others })}${hint}`, { code: 'IN_USE', info });
}

const CLEAN_SESSION = 'its session is clean, so a takeover ends the session and the broker sends its will';
const USE_FORCE = 'set `force` to';

function reasonOf({ client, others, isComplete }: AccountPeers): string {
  if (client.isOwn !== false) return 'this service itself uses it, or may use it';
  if (others.length > 0) {
    const names = others.slice(0, MAX_NAMED).map((id) => `"${id}"`);
    const more = others.length > names.length ? ` and ${others.length - names.length} more` : '';
    const unknown = isComplete ? '' : ', and perhaps unknown clients,';
    return `${names.join(', ')}${more}${unknown} would be disconnected too`;
  }
  if (!isComplete) {
    const { unknownConnections: count } = client;
    const unknown = count === null ? 'the number of connections is not known yet' : `${count} are unknown`;
    const since = new Date(client.since).toISOString();
    return `other clients may be connected with it, because clients are followed only since ${since} and ${unknown}`;
  }
  return 'its account cannot be read reliably from the log';
}

/** The session is clean, and the will is to be discarded. */
export function sendsWill(clientid: string): ControlRefusal {
  const reason = `The session of "${clientid}" is clean: a takeover would end it, and the broker would send its will`;
  return new ControlRefusal(reason, { code: 'NOT_SUPPORTED_BY_BROKER', info: { reason, name: clientid } });
}

export function withoutTakeover(): ControlRefusal {
  const reason = `Mosquitto cannot change the subscriptions of its clients: ${REMEDY}`;
  return new ControlRefusal(reason, { code: 'NOT_SUPPORTED_BY_BROKER', info: { reason } });
}

/** @param hasEnded whether the session looked persistent, and ended with the takeover */
export function notPersistent(clientid: string, hasEnded: boolean): ControlRefusal {
  const reason = hasEnded
    ? `Nothing was changed: the session of "${clientid}" was not persistent and has ended now`
    : `The session of "${clientid}" is clean: a takeover would end it, and the client would reconnect without the change`;
  return new ControlRefusal(reason, { code: 'NOT_SUPPORTED_BY_BROKER', info: { reason, name: clientid } });
}
