import type { Fields } from '../../control/fields.ts';
import { ControlRefusal } from '../../control/plugin.ts';

/** Names one client. In a cluster whose nodes have clients of their own, each node may have a client of the same id. */
export interface ClientRef {
  readonly clientid: string;
  readonly node?: number;
}

/** The key of a client in a list. Keys sort like client ids, because a client id has no U+0000 [MQTT-1.5.4-2]. */
export const keyOf = ({ clientid, node }: ClientRef): string =>
  node === undefined ? clientid : `${clientid}\0${node}`;

export function refOf(key: string): ClientRef {
  const [, clientid, node] = /^(.*)\0(\d+)$/s.exec(key) ?? [];
  return clientid === undefined ? { clientid: key } : { clientid, node: Number(node) };
}

/** Reads the client id of a command. Errors: ControlRefusal in the wording of Mosquitto's plugins. */
export function clientIdOf({ clientid }: Fields): string {
  if (typeof clientid !== 'string' || clientid === '') throw new ControlRefusal('Invalid/missing clientid');
  return clientid;
}
