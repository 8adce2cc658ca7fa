import type { ConnectedClientSummary } from './inspect-control.ts';

/** A client and, in a cluster whose nodes have clients of their own, the node: each node may have one of the same id. */
export type ClientPlace = Pick<ConnectedClientSummary, 'clientid' | 'node'>;

/** What a client is known by in a list. Keys have the order of client ids: none has U+0000 in it [MQTT-1.5.4-2]. */
export const keyOf = ({ clientid, node }: ClientPlace): string =>
  node === undefined ? clientid : `${clientid}\0${node}`;

/** Of which client a key is. */
export function placeOf(key: string): ClientPlace {
  const [, clientid, node] = /^(.*)\0(\d+)$/s.exec(key) ?? [];
  return clientid === undefined ? { clientid: key } : { clientid, node: Number(node) };
}
