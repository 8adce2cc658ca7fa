import type { ServiceError } from '../../../platform/errors.ts';

/**
 * What became of a change. UNCHANGED: it was so already, nothing was sent. REJECTED: nothing of it happened, the error says why;
 * also where the answer was lost and the broker, read back, has not done it (BROKER_UNREACHABLE, BROKER_TIMEOUT). PARTLY_APPLIED:
 * the commands say which part. UNKNOWN: the answer was lost and what the broker has does not tell (a password) or cannot be read,
 * or it answered with success and has something else. PLANNED: a dry run, nothing was sent.
 */
export const CHANGE_OUTCOMES = ['APPLIED', 'UNCHANGED', 'PARTLY_APPLIED', 'REJECTED', 'UNKNOWN', 'PLANNED'] as const;
export type ChangeOutcome = (typeof CHANGE_OUTCOMES)[number];

/** NOT_SENT: something before it failed. */
const COMMAND_STATES = ['PLANNED', 'APPLIED', 'REJECTED', 'UNKNOWN', 'NOT_SENT'] as const;
export type CommandState = (typeof COMMAND_STATES)[number];

export interface CommandReport {
  readonly command: string;
  /** As sent, passwords masked by `***`. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly state: CommandState;
  /** With REJECTED: the broker's reason, or that no answer came. With UNKNOWN: why it is not known. */
  readonly error: ServiceError | null;
}

export interface ChangeReport {
  readonly outcome: ChangeOutcome;
  readonly commands: readonly CommandReport[];
  /** With REJECTED, PARTLY_APPLIED and UNKNOWN: the first reason. */
  readonly error: ServiceError | null;
}

/** Connections that the commands disconnect. */
export interface BlastRadius {
  readonly clients: readonly { readonly clientId: string; readonly username: string | null }[];
  /** Accounts whose connections are disconnected, connected or not, sorted. */
  readonly usernames: readonly string[];
  /** Every connection without user name is disconnected too. */
  readonly anonymous: boolean;
  /** This service's own connection is among them. */
  readonly gateway: boolean;
  /** False: the broker cannot tell all of its connected clients. */
  readonly isComplete: boolean;
}

/** What became of a list of changes on one of several brokers that have their access control in common. */
export interface NodeReport {
  readonly nodeId: number;
  readonly brokerId: string;
  readonly outcome: ChangeOutcome;
  /** Why it was not done; it is as soon as the broker is reached. Null: it was. */
  readonly error: ServiceError | null;
}

export interface WriteReport {
  /** The worst of `changes`: UNKNOWN, PARTLY_APPLIED, REJECTED beside APPLIED (then PARTLY_APPLIED), REJECTED, APPLIED, UNCHANGED. */
  readonly outcome: ChangeOutcome;
  /** One for each change, in their order. */
  readonly changes: readonly ChangeReport[];
  readonly blastRadius: BlastRadius;
  /** Of brokers that have their access control in common: by number, the one whose report this is among them. */
  readonly nodes?: readonly NodeReport[];
}
