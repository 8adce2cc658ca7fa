import { type ErrorCode, notFound, ServiceError } from '../../../platform/errors.ts';
import {
  CLIENT_CONTROL_API,
  type DisconnectClient,
  type Disconnected,
  PREVIEW_DISCONNECT,
  parseDisconnected,
} from '../../../protocol/apis/clients/client-control.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { ClientsOfBroker } from '../client-service.ts';
import type { DisconnectPlan, Kick } from './disconnect-plan.ts';

export const DISCONNECT_STATUSES = ['DISCONNECTED', 'WOULD_DISCONNECT', 'REFUSED', 'NOT_FOUND', 'FAILED'] as const;
type DisconnectStatus = (typeof DISCONNECT_STATUSES)[number];

/** The result for one selected client. DISCONNECTED: the broker confirmed it. WOULD_DISCONNECT: no command was sent. */
export interface DisconnectResult {
  readonly clientId: string;
  readonly status: DisconnectStatus;
  readonly error: ServiceError | null;
}

interface BulkOutcome {
  readonly results: Map<string, DisconnectResult>;
  /** Ids of clients that were not selected, and were or would be disconnected with their account. */
  readonly alsoDisconnected: readonly string[];
}

/** Commands in one payload. If the connection is lost, the results of at most this many are unknown. */
const CHUNK = 500;
/** Bytes of client ids in one payload: a broker closes the connection if a packet exceeds its maximum size. */
const CHUNK_BYTES = 100_000;

/** The broker refused the command, which had no effect. After other codes the outcome may be unknown. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'IN_USE',
  'INVALID',
  'NOT_ALLOWED',
  'NOT_SUPPORTED_BY_BROKER',
  'BROKER_REJECTED',
]);

/** The dry run for a broker that disconnects single clients; sends nothing. */
export function previewOf(
  { kicks, refusals }: DisconnectPlan,
  { clients, isComplete }: Pick<ClientsOfBroker, 'clients' | 'isComplete'>,
): BulkOutcome {
  const connected = new Set(clients.map(({ clientid }) => clientid));
  const results = new Map<string, DisconnectResult>();
  for (const [clientId, error] of refusals) results.set(clientId, { clientId, status: 'REFUSED', error });
  for (const { clientIds } of kicks) {
    for (const clientId of clientIds) {
      const isAway = isComplete && !connected.has(clientId);
      results.set(clientId, isAway ? notConnected(clientId) : { clientId, status: 'WOULD_DISCONNECT', error: null });
    }
  }
  return { results, alsoDisconnected: [] };
}

/**
 * Sends the commands of a plan, CHUNK at a time. A failed command does not stop the others. If a whole chunk gets no
 * response, the broker is unreachable, and the remaining commands are not sent. Never rejects.
 *
 * @param isDryRun only with the gateway plugin: sends PREVIEW_DISCONNECT, which a broker does not know. So a broker
 * that starts to serve the API meanwhile disconnects no client.
 */
export async function runPlan(
  controls: ControlCaller,
  { kicks, refusals }: DisconnectPlan,
  isDryRun = false,
): Promise<BulkOutcome> {
  const run = new Run(controls, isDryRun);
  for (const [clientId, error] of refusals) run.note(clientId, error);
  // The remaining commands become fewer in each round.
  for (let left = kicks; left.length > 0; left = await run.send(left));
  return { results: run.results, alsoDisconnected: [...run.disconnected].filter((id) => !run.results.has(id)) };
}

class Run {
  readonly results = new Map<string, DisconnectResult>();
  readonly disconnected = new Set<string>();
  readonly #controls: ControlCaller;
  readonly #isDryRun: boolean;
  #lost: ServiceError | null = null;

  constructor(controls: ControlCaller, isDryRun: boolean) {
    this.#controls = controls;
    this.#isDryRun = isDryRun;
  }

  note(clientId: string, error: ServiceError): void {
    this.results.set(clientId, { clientId, status: statusOf(error.code), error });
  }

  /**
   * Returns the commands that remain. The response to a command for several clients may omit some of them. These have
   * disconnected or use another account, and need commands of their own. So do the others if the client of a command is
   * not connected, or its session may not be taken over.
   */
  async send(kicks: readonly Kick[]): Promise<Kick[]> {
    const left: Kick[] = [];
    for (const chunk of chunksOf(kicks, ({ command }) => command.clientid)) {
      if (this.#lost === null) left.push(...(await this.#sendChunk(chunk)));
      else for (const { clientIds } of chunk) for (const id of clientIds) this.note(id, notSent(this.#lost));
    }
    return left;
  }

  async #sendChunk(kicks: readonly Kick[]): Promise<Kick[]> {
    const calls = kicks.map(({ command }) => ({
      command: this.#isDryRun ? PREVIEW_DISCONNECT : 'disconnectClient',
      fields: { ...command },
    }));
    const responses = await this.#controls.callAll(CLIENT_CONTROL_API, calls);
    const left: Kick[] = [];
    let lost: ServiceError | null = null;
    let hasResponse = false;
    for (const [index, { command, clientIds }] of kicks.entries()) {
      const response = responses[index];
      if (response?.status === 'fulfilled') {
        hasResponse = true;
        left.push(...each(this.#done(clientIds, parseDisconnected(response.value, command)), command));
        continue;
      }
      const error = serviceErrorOf(response?.reason);
      const status = statusOf(error.code);
      if (status === 'FAILED') lost = error;
      else hasResponse = true;
      const [first = '', next, ...others] = clientIds;
      if (status === 'REFUSED' && command.takeover) {
        this.note(first, error);
        left.push(...each(clientIds.slice(1), command));
      } else if (status === 'NOT_FOUND' && next !== undefined) {
        this.note(first, error);
        left.push({ command: { ...command, clientid: next }, clientIds: [next, ...others] });
      } else {
        for (const id of clientIds) this.note(id, error);
      }
    }
    if (!hasResponse) this.#lost = lost;
    return left;
  }

  /** Returns the ids that the response does not contain. */
  #done(clientIds: readonly string[], { clientids }: Disconnected): readonly string[] {
    for (const id of clientids) this.disconnected.add(id);
    const status = this.#isDryRun ? 'WOULD_DISCONNECT' : 'DISCONNECTED';
    // The response to a command for one client is about that client, even if it contains another id.
    const [first] = clientIds;
    if (clientIds.length === 1 && first !== undefined) this.disconnected.add(first);
    // A client that was refused before may be disconnected with the account of another client.
    const previous = clientids.filter((id) => this.results.has(id));
    const confirmed = clientIds.filter((id) => this.disconnected.has(id));
    for (const clientId of [...previous, ...confirmed]) this.results.set(clientId, { clientId, status, error: null });
    return clientIds.filter((id) => !this.disconnected.has(id));
  }
}

const each = (clientIds: readonly string[], command: DisconnectClient): Kick[] =>
  clientIds.map((clientid) => ({ command: { ...command, clientid }, clientIds: [clientid] }));

export function chunksOf<T>(items: readonly T[], clientIdOf: (item: T) => string): T[][] {
  const chunks: T[][] = [];
  let bytes = 0;
  for (const item of items) {
    const size = Buffer.byteLength(clientIdOf(item));
    const last = chunks.at(-1);
    if (last && last.length < CHUNK && bytes + size <= CHUNK_BYTES) {
      last.push(item);
      bytes += size;
    } else {
      chunks.push([item]);
      bytes = size;
    }
  }
  return chunks;
}

export function statusOf(code: ErrorCode): 'REFUSED' | 'NOT_FOUND' | 'FAILED' {
  if (code === 'NOT_FOUND') return 'NOT_FOUND';
  return REFUSALS.has(code) ? 'REFUSED' : 'FAILED';
}

/** A bug in a plugin affects only the clients of its command. */
export const serviceErrorOf = (reason: unknown): ServiceError =>
  reason instanceof ServiceError
    ? reason
    : new ServiceError('INTERNAL_ERROR', 'The command failed because of an internal error', { cause: reason });

export const notSent = (lost: ServiceError): ServiceError =>
  new ServiceError(lost.code, `No command was sent, because the broker had stopped responding: ${lost.message}`);

export const notConnected = (clientId: string): DisconnectResult => ({
  clientId,
  status: 'NOT_FOUND',
  error: notFound('connected client', clientId),
});
