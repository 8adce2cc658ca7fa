import type { ServiceError } from '../../../platform/errors.ts';

/**
 * UNCHANGED: nothing was sent. REJECTED: nothing was applied, also if a read after a lost response shows this. UNKNOWN:
 * the response was lost, and a read shows no result (a password); or it was success, and the state differs.
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
  readonly error: ServiceError | null;
}

export interface ChangeReport {
  readonly outcome: ChangeOutcome;
  readonly commands: readonly CommandReport[];
  readonly error: ServiceError | null;
}

export interface BlastRadius {
  readonly clients: readonly { readonly clientId: string; readonly username: string | null }[];
  /** Connected or not, sorted. */
  readonly usernames: readonly string[];
  readonly anonymous: boolean;
  readonly gateway: boolean;
  readonly isComplete: boolean;
}

/** The outcome on one node of a cluster whose nodes share their access control. */
export interface NodeReport {
  readonly nodeId: number;
  readonly brokerId: string;
  readonly outcome: ChangeOutcome;
  /** `null` if the changes are applied. Otherwise they are retried after the broker reconnects. */
  readonly error: ServiceError | null;
}

export interface WriteReport {
  /** The worst outcome of `changes`. REJECTED together with APPLIED is PARTLY_APPLIED. */
  readonly outcome: ChangeOutcome;
  readonly changes: readonly ChangeReport[];
  readonly blastRadius: BlastRadius;
  readonly nodes?: readonly NodeReport[];
}
