import { Journal } from '../store/journal.ts';
import { bringBack } from './kept-copy.ts';
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

/** Before anything of a broker by itself is loaded: of what it had as a node it has what is its own. */
export async function beAlone(folder: string): Promise<void> {
  let broken: Error | null = null;
  const journal = new Journal({ folder, onBroken: (error) => (broken = error) });
  try {
    if (!(await bringBack(journal))) leaveSessions(journal);
    journal.add('DELETE FROM presence');
    journal.add('DELETE FROM log_place');
    await journal.commit();
    if (broken) throw broken;
  } finally {
    journal.close();
  }
}

/**
 * What a broker that was a node keeps when it is by itself again: its retained messages, and the sessions of clients that were connected to it
 * last. The others it had for the other nodes.
 */
function leaveSessions(journal: Journal): void {
  const nodeId = rowOf(journal)?.nodeId;
  if (nodeId === undefined) return;
  const isOther = `SELECT client_id FROM session WHERE coalesce(json_extract(about, '$.nodeId'), ?) <> ?`;
  for (const table of ['subscription', 'queue', 'incoming', 'delayed_will', 'session'])
    journal.add(`DELETE FROM ${table} WHERE client_id IN (${isOther})`, nodeId, nodeId);
}
