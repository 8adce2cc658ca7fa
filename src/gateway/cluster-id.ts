import { ID_PREFIXES, type IdKind, kindOfId } from '../platform/ids.ts';

const OTHER: Partial<Record<IdKind, IdKind>> = { broker: 'cluster', cluster: 'broker' };

/**
 * The id of a cluster is that of its broker entry with another prefix. Converts each of them to the other, and returns
 * any other text unchanged.
 */
export function swapClusterId(id: string): string {
  const kind = kindOfId(id);
  const other = kind && OTHER[kind];
  return kind && other ? ID_PREFIXES[other] + id.slice(ID_PREFIXES[kind].length) : id;
}
