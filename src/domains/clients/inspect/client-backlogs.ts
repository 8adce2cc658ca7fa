import { ServiceError } from '../../../platform/errors.ts';
import { keyOf } from '../../../protocol/apis/clients/client-key.ts';
import { listAllBacklogs } from '../../../protocol/apis/clients/inspect-control.ts';
import type { ClientBacklog, ConnectedClientSummary } from '../../../protocol/apis/clients/inspect-data.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';

/** Absent numbers are unknown. */
export type BacklogOf = (client: ConnectedClientSummary) => Partial<ClientBacklog>;

const NOTHING: ClientBacklog = { messagesOut: 0, numDropped: 0 };

/** The backlog as a list of clients contains it: it is as old as the entry, and lacks the dropped messages. */
export const listedBacklog: BacklogOf = ({ queues }) =>
  queues?.messagesOut === undefined ? {} : { messagesOut: queues.messagesOut };

/**
 * Reads the current numbers of all clients. A provider that does not report them together has only those of its list.
 * Errors: as `ControlCaller`.
 */
export async function readBacklogs(caller: ControlCaller): Promise<BacklogOf> {
  try {
    const { backlogs, unknownNodes = [] } = await listAllBacklogs(caller);
    const found = new Map(backlogs.map((backlog) => [keyOf(backlog), backlog]));
    const isUnknown = (node: number | undefined) => node !== undefined && unknownNodes.includes(node);
    return (client) => found.get(keyOf(client)) ?? (isUnknown(client.node) ? listedBacklog(client) : NOTHING);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_SUPPORTED_BY_BROKER') return listedBacklog;
    throw error;
  }
}
