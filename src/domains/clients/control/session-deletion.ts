import { notFound, ServiceError } from '../../../platform/errors.ts';
import { CLIENT_CONTROL_API, DELETE_SESSION } from '../../../protocol/apis/clients/client-control.ts';
import type { ConnectedClientSummary } from '../../../protocol/apis/clients/inspect-data.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import { chunksOf, notSent, serviceErrorOf, statusOf } from './bulk-disconnect.ts';

export type DeletionStatus = 'DELETED' | 'WOULD_DELETE' | 'REFUSED' | 'NOT_FOUND' | 'FAILED';

/** The result for the session of one selected client. DELETED: the broker confirmed it. */
export interface SessionDeletion {
  readonly clientId: string;
  readonly status: DeletionStatus;
  readonly error: ServiceError | null;
}

/** The dry run: the results by the list of all clients; sends nothing. */
export function previewDeletion(
  clientIds: readonly string[],
  clients: readonly ConnectedClientSummary[],
): SessionDeletion[] {
  const connected = new Map(clients.map(({ clientid, connected }) => [clientid, connected]));
  return clientIds.map((clientId) => {
    const isConnected = connected.get(clientId);
    if (isConnected === undefined) return failed(clientId, noSession(clientId));
    return isConnected ? failed(clientId, stillConnected(clientId)) : { clientId, status: 'WOULD_DELETE', error: null };
  });
}

/** A failure does not stop the others, unless a whole chunk of commands gets no response. Never rejects. */
export async function deleteSessions(
  controls: ControlCaller,
  clientIds: readonly string[],
): Promise<SessionDeletion[]> {
  const results: SessionDeletion[] = [];
  let lost: ServiceError | null = null;
  for (const chunk of chunksOf(clientIds, (id) => id)) {
    if (lost !== null) {
      for (const id of chunk) results.push(failed(id, notSent(lost)));
      continue;
    }
    const calls = chunk.map((clientid) => ({ command: DELETE_SESSION, fields: { clientid } }));
    const responses = await controls.callAll(CLIENT_CONTROL_API, calls);
    const done = chunk.map((clientId, index): SessionDeletion => {
      const response = responses[index];
      if (response?.status === 'fulfilled') return { clientId, status: 'DELETED', error: null };
      return failed(clientId, serviceErrorOf(response?.reason));
    });
    if (done.every(({ status }) => status === 'FAILED')) lost = done.at(-1)?.error ?? null;
    results.push(...done);
  }
  return results;
}

export const failed = (clientId: string, error: ServiceError): SessionDeletion => ({
  clientId,
  status: statusOf(error.code),
  error,
});

export const noSession = (clientId: string): ServiceError => notFound('session', clientId);

const stillConnected = (clientId: string): ServiceError =>
  new ServiceError('IN_USE', `The client "${clientId}" is connected: disconnect it first`);

/** Errors: NOT_SUPPORTED_BY_BROKER unless the broker can delete sessions. */
export function requireDeletion(engine: string | null): void {
  if (engine === 'embedded') return;
  const reason =
    'Only an embedded broker can delete the session of an offline client. A client ends its own session if it connects with Clean Start (MQTT 3.1.1: Clean Session). Mosquitto deletes sessions after `persistent_client_expiration` of its configuration';
  throw new ServiceError('NOT_SUPPORTED_BY_BROKER', reason, { info: { api: CLIENT_CONTROL_API, reason } });
}
