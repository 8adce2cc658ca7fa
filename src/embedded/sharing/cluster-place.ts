import type { Journal } from '../store/journal.ts';
import type { LogPlace } from './shared-log.ts';
import { NOWHERE_YET } from './snapshot.ts';

interface Row {
  readonly nodeId: number;
  readonly place: string;
}

const rowOf = (journal: Journal): Row | undefined =>
  journal.rows<Row>('SELECT node_id AS nodeId, place FROM log_place')[0];

/** How far this node had come; null: it was none, or another one. */
export function placeIn(journal: Journal, nodeId: number): LogPlace | null {
  const row = rowOf(journal);
  if (row?.nodeId !== nodeId || row.place === NOWHERE_YET) return null;
  // Written by `NodeReplica.reached`.
  return JSON.parse(row.place) as LogPlace;
}

/**
 * What a broker that was a node keeps when it is by itself again: its retained messages, and the sessions of clients that were connected to it
 * last. The others it had for the other nodes. Before the sessions are loaded.
 */
export async function leaveCluster(journal: Journal): Promise<void> {
  const nodeId = rowOf(journal)?.nodeId;
  if (nodeId === undefined) return;
  const isOther = `SELECT client_id FROM session WHERE coalesce(json_extract(about, '$.nodeId'), ?) <> ?`;
  for (const table of ['subscription', 'queue', 'incoming', 'delayed_will', 'session'])
    journal.add(`DELETE FROM ${table} WHERE client_id IN (${isOther})`, nodeId, nodeId);
  journal.add('DELETE FROM presence');
  journal.add('DELETE FROM log_place');
  await journal.commit();
}
