import { type ErrorCode, notFound, ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { ConnectedClients } from '../client-service.ts';
import {
  CLIENT_CONTROL_API,
  type DisconnectClient,
  type Disconnected,
  FORESEE,
  parseDisconnected,
} from './client-control.ts';
import type { DisconnectPlan, Kick } from './disconnect-plan.ts';

export const DISCONNECT_STATUSES = ['DISCONNECTED', 'WOULD_DISCONNECT', 'REFUSED', 'NOT_FOUND', 'FAILED'] as const;
export type DisconnectStatus = (typeof DISCONNECT_STATUSES)[number];

/** What became of one selected client. DISCONNECTED only where the broker has answered so; WOULD_DISCONNECT: nothing was sent. */
export interface DisconnectResult {
  readonly clientId: string;
  readonly status: DisconnectStatus;
  readonly error: ServiceError | null;
}

export interface BulkOutcome {
  /** By client id. */
  readonly results: Map<string, DisconnectResult>;
  /** Client ids that were not selected, and were disconnected with their account, or would be. */
  readonly alsoDisconnected: readonly string[];
}

/** Commands in one payload. What the broker has not answered when it dies is at most as many. */
const CHUNK = 500;
/** Bytes of client ids in one payload: brokers end connections that send packets larger than they take. */
const CHUNK_BYTES = 100_000;

/** The broker said no, and nothing happened; other codes mean that nobody knows, or that it could not be asked. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'IN_USE',
  'INVALID',
  'NOT_ALLOWED',
  'NOT_SUPPORTED_BY_BROKER',
  'BROKER_REJECTED',
]);

/** What would become of the clients, where the broker itself would disconnect each alone; it is asked nothing. */
export function foreseen(
  { kicks, refusals }: DisconnectPlan,
  { clients, isComplete }: Pick<ConnectedClients, 'clients' | 'isComplete'>,
): BulkOutcome {
  const connected = new Set(clients.map(({ clientid }) => clientid));
  const results = new Map<string, DisconnectResult>();
  for (const [clientId, error] of refusals) results.set(clientId, { clientId, status: 'REFUSED', error });
  for (const { clientIds } of kicks) {
    for (const clientId of clientIds) {
      const isGone = isComplete && !connected.has(clientId);
      results.set(clientId, isGone ? notConnected(clientId) : { clientId, status: 'WOULD_DISCONNECT', error: null });
    }
  }
  return { results, alsoDisconnected: [] };
}

/**
 * Sends the commands of a plan, CHUNK at a time. One that fails does not stop the others; when a whole chunk got no answer, the
 * broker is away, and the rest is not sent. Never rejects.
 *
 * @param isDryRun where a plugin of ours serves the API: it is asked what it would do, by a command that nobody else knows, so that
 * a broker which begins to serve the API meanwhile disconnects nobody
 */
export async function carriedOut(
  controls: ControlCaller,
  { kicks, refusals }: DisconnectPlan,
  isDryRun = false,
): Promise<BulkOutcome> {
  const run = new Run(controls, isDryRun);
  for (const [clientId, error] of refusals) run.note(clientId, error);
  // What is left gets less with each turn.
  for (let left = kicks; left.length > 0; left = await run.send(left));
  return { results: run.results, alsoDisconnected: [...run.disconnected].filter((id) => !run.results.has(id)) };
}

class Run {
  readonly results = new Map<string, DisconnectResult>();
  /** Client ids that answers have named. */
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
   * Answers what is still to be sent: for those whom the answer to a command for several does not name, because they had gone or
   * have another account by now; and for the others when the one whom such a command names had gone, or has a session that may not
   * be taken over.
   */
  async send(kicks: readonly Kick[]): Promise<Kick[]> {
    const left: Kick[] = [];
    for (const chunk of chunksOf(kicks)) {
      if (this.#lost === null) left.push(...(await this.#sendChunk(chunk)));
      else for (const { clientIds } of chunk) for (const id of clientIds) this.note(id, notSent(this.#lost));
    }
    return left;
  }

  async #sendChunk(kicks: readonly Kick[]): Promise<Kick[]> {
    const calls = kicks.map(({ command }) => ({
      command: this.#isDryRun ? FORESEE : 'disconnectClient',
      fields: { ...command },
    }));
    const answers = await this.#controls.callAll(CLIENT_CONTROL_API, calls);
    const left: Kick[] = [];
    let lost: ServiceError | null = null;
    let isAnswered = false;
    for (const [index, { command, clientIds }] of kicks.entries()) {
      const answer = answers[index];
      if (answer?.status === 'fulfilled') {
        isAnswered = true;
        const rest = this.#done(clientIds, parseDisconnected(answer.value, command));
        left.push(...each(rest, command));
        continue;
      }
      const error = serviceErrorOf(answer?.reason);
      const [gone, next, ...others] = clientIds;
      if (error.code === 'NOT_FOUND' && gone !== undefined && next !== undefined) {
        isAnswered = true;
        this.note(gone, error);
        left.push({ command: { ...command, clientid: next }, clientIds: [next, ...others] });
        continue;
      }
      if (statusOf(error.code) === 'REFUSED' && command.takeover && gone !== undefined) {
        isAnswered = true;
        this.note(gone, error);
        left.push(...each(clientIds.slice(1), command));
        continue;
      }
      if (statusOf(error.code) === 'FAILED') lost = error;
      else isAnswered = true;
      for (const id of clientIds) this.note(id, error);
    }
    if (!isAnswered) this.#lost = lost;
    return left;
  }

  /** Those of `clientIds` that the answer does not name. */
  #done(clientIds: readonly string[], { clientids }: Disconnected): readonly string[] {
    for (const id of clientids) this.disconnected.add(id);
    const status = this.#isDryRun ? 'WOULD_DISCONNECT' : 'DISCONNECTED';
    // An answer to the command for one client is about that client, whatever it is called there.
    const [first] = clientIds;
    if (clientIds.length === 1 && first !== undefined) this.disconnected.add(first);
    // Those who were refused before may go with the account of another.
    const before = clientids.filter((id) => this.results.has(id));
    const named = clientIds.filter((id) => this.disconnected.has(id));
    for (const clientId of [...before, ...named]) this.results.set(clientId, { clientId, status, error: null });
    return clientIds.filter((id) => !this.disconnected.has(id));
  }
}

/** With the consent that was given for all of them. */
const each = (clientIds: readonly string[], command: DisconnectClient): Kick[] =>
  clientIds.map((clientid) => ({ command: { ...command, clientid }, clientIds: [clientid] }));

function chunksOf(kicks: readonly Kick[]): Kick[][] {
  const chunks: Kick[][] = [];
  let bytes = 0;
  for (const kick of kicks) {
    const size = Buffer.byteLength(kick.command.clientid);
    const last = chunks.at(-1);
    if (last && last.length < CHUNK && bytes + size <= CHUNK_BYTES) {
      last.push(kick);
      bytes += size;
    } else {
      chunks.push([kick]);
      bytes = size;
    }
  }
  return chunks;
}

function statusOf(code: ErrorCode): DisconnectStatus {
  if (code === 'NOT_FOUND') return 'NOT_FOUND';
  return REFUSALS.has(code) ? 'REFUSED' : 'FAILED';
}

/** A bug of a plugin costs the clients it concerns, not the others. */
const serviceErrorOf = (reason: unknown): ServiceError =>
  reason instanceof ServiceError
    ? reason
    : new ServiceError('INTERNAL_ERROR', 'The command failed by a fault of this service', { cause: reason });

const notSent = (lost: ServiceError): ServiceError =>
  new ServiceError(lost.code, `Nothing was sent for it, because the broker had ceased to answer: ${lost.message}`);

export const notConnected = (clientId: string): DisconnectResult => ({
  clientId,
  status: 'NOT_FOUND',
  error: notFound('connected client', clientId),
});
