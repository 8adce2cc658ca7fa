import type { ServiceError } from '../../../platform/errors.ts';

/**
 * The outcome of a change.
 * - UNCHANGED: the broker already had the requested state; nothing was sent.
 * - REJECTED: nothing was applied; the error says why. This includes lost responses (BROKER_UNREACHABLE,
 *   BROKER_TIMEOUT) if a read of the broker shows that it did not execute the commands.
 * - PARTLY_APPLIED: the states of the commands show which part.
 * - UNKNOWN: the response was lost, and the state of the broker does not show the result (a password) or cannot be
 *   read. Or the broker responded with success and has another state.
 * - PLANNED: a dry run; nothing was sent.
 */
export const CHANGE_OUTCOMES = ['APPLIED', 'UNCHANGED', 'PARTLY_APPLIED', 'REJECTED', 'UNKNOWN', 'PLANNED'] as const;
export type ChangeOutcome = (typeof CHANGE_OUTCOMES)[number];

const COMMAND_STATES = ['PLANNED', 'APPLIED', 'REJECTED', 'UNKNOWN', 'NOT_SENT'] as const;
export type CommandState = (typeof COMMAND_STATES)[number];

export interface CommandReport {
  readonly command: string;
  /** The fields as sent; passwords are replaced with `***`. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly state: CommandState;
  /** REJECTED: the error of the broker, or a lost response. UNKNOWN: why the result is unknown. */
  readonly error: ServiceError | null;
}

export interface ChangeReport {
  readonly outcome: ChangeOutcome;
  readonly commands: readonly CommandReport[];
  /** The first error, with REJECTED, PARTLY_APPLIED and UNKNOWN. */
  readonly error: ServiceError | null;
}

export interface BlastRadius {
  readonly clients: readonly { readonly clientId: string; readonly username: string | null }[];
  /** Accounts whose connections are closed, connected or not, sorted. */
  readonly usernames: readonly string[];
  readonly anonymous: boolean;
  readonly gateway: boolean;
  /** Whether `clients` has all of them. `false` if the broker cannot list all connected clients. */
  readonly isComplete: boolean;
}

/** The outcome on one node of a cluster whose nodes share their access control. */
export interface NodeReport {
  readonly nodeId: number;
  readonly brokerId: string;
  readonly outcome: ChangeOutcome;
  /** Why the changes are not applied yet; `null` if they are. Retried after the broker reconnects. */
  readonly error: ServiceError | null;
}

export interface WriteReport {
  /**
   * The worst outcome of `changes`: UNKNOWN, PARTLY_APPLIED, REJECTED, APPLIED, UNCHANGED. REJECTED together with
   * APPLIED is PARTLY_APPLIED.
   */
  readonly outcome: ChangeOutcome;
  readonly changes: readonly ChangeReport[];
  readonly blastRadius: BlastRadius;
  /** For a cluster whose nodes share their access control: one report per node, by number. */
  readonly nodes?: readonly NodeReport[];
}
