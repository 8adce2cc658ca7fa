import type { BlastRadius } from '../../access-control/writing/access-report.ts';

/**
 * The connections that changes close on all nodes of a cluster. `null`: the connections of a node are not known. Nodes
 * of different versions close different connections.
 */
export function radiusOfNodes(radii: readonly (BlastRadius | null)[]): BlastRadius {
  const known = radii.filter((radius) => radius !== null);
  const usernames = [...new Set(known.flatMap((radius) => radius.usernames))].sort();
  const places = new Map<string | null, number>(usernames.map((username, place) => [username, place]));
  const placeOf = (username: string | null) => places.get(username) ?? usernames.length;
  return {
    clients: known
      .flatMap(({ clients }) => clients)
      .sort((one, other) => placeOf(one.username) - placeOf(other.username)),
    usernames,
    anonymous: known.some(({ anonymous }) => anonymous),
    gateway: known.some(({ gateway }) => gateway),
    isComplete: known.length === radii.length && known.every(({ isComplete }) => isComplete),
  };
}
