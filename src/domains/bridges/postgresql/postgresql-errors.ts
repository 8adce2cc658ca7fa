import { BadBatch, reasonOf, SinkFailure } from '../sink/sink.ts';

/**
 * Classes of SQLSTATE that tell of a row: what it holds (22), what it breaks (23, 44), its size (54), and what a trigger says of it
 * (P0). Everything else concerns all rows.
 */
const OF_ROWS = /^(22|23|44|54|P0)/;
const REFUSED_LOGIN = /^28/;
/** The server is overloaded, shut down, starting, in a conflict, or gone. */
const PASSING = /^(08|25|40|53|55|57|58|XX)/;
const STATEMENT_TIMEOUT = '57014';

/** What an error of the client means for the batch. */
export function failureOf(error: unknown): SinkFailure | BadBatch {
  if (error instanceof SinkFailure || error instanceof BadBatch) return error;
  const state = stateOf(error);
  const reason = reasonOf(error);
  if (state === null) return new SinkFailure('UNREACHABLE', `PostgreSQL: ${reason}`, { cause: error });
  if (OF_ROWS.test(state)) return new BadBatch(reason, { cause: error });
  if (REFUSED_LOGIN.test(state)) return new SinkFailure('UNAUTHORISED', `PostgreSQL: ${reason}`, { cause: error });
  const isPassing = PASSING.test(state);
  return new SinkFailure(isPassing ? 'UNREACHABLE' : 'FAILED', `PostgreSQL: ${reason}`, {
    isTooMuch: state === STATEMENT_TIMEOUT,
    cause: error,
  });
}

/** SQLSTATE; null: the server did not say anything. */
function stateOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object) ? code : null;
}

/** Without the value that the server quotes: whoever reads a status may not read messages. */
export const openReason = (reason: string): string => reason.replace(/: ".*/s, '').slice(0, 300);
