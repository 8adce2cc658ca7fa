import { BadBatch, reasonOf, SinkFailure } from '../sink/sink.ts';

/**
 * Classes of SQLSTATE caused by a row: its data (22), a constraint (23, 44), its size (54), or a trigger (09, 21, 27,
 * 38, P0). All other classes affect all rows.
 */
const OF_ROWS = /^(09|21|22|23|27|38|44|54|P0)/;
/** A right is missing for all rows, or row-level security refuses one, in this function of the server. */
const NOT_PERMITTED = '42501';
const OF_ROW_SECURITY = 'ExecWithCheckOptions';
const REFUSED_LOGIN = /^28/;
/** The server is overloaded, shut down, starting, in a conflict, or unreachable. */
const PASSING = /^(08|25|40|53|55|57|58|XX)/;
const STATEMENT_TIMEOUT = '57014';

export function failureOf(error: unknown): SinkFailure | BadBatch {
  if (error instanceof SinkFailure || error instanceof BadBatch) return error;
  const state = stateOf(error);
  const reason = reasonOf(error);
  if (state === null) return new SinkFailure('UNREACHABLE', `PostgreSQL: ${reason}`, { cause: error });
  if (OF_ROWS.test(state) || isOfRowSecurity(error, state)) return new BadBatch(reason, { cause: error });
  if (REFUSED_LOGIN.test(state)) return new SinkFailure('UNAUTHORISED', `PostgreSQL: ${reason}`, { cause: error });
  const isPassing = PASSING.test(state);
  return new SinkFailure(isPassing ? 'UNREACHABLE' : 'FAILED', `PostgreSQL: ${reason}`, {
    isTooMuch: state === STATEMENT_TIMEOUT,
    cause: error,
  });
}

/** Why the server that responds cannot be used, also if the cause may pass. */
export function unusable(error: unknown): unknown {
  if (stateOf(error) === null) return error;
  return new SinkFailure('FAILED', `PostgreSQL: ${openReason(reasonOf(error))}`, { cause: error });
}

const isOfRowSecurity = (error: unknown, state: string): boolean =>
  state === NOT_PERMITTED && (error as { readonly routine?: unknown }).routine === OF_ROW_SECURITY;

function stateOf(error: unknown): string | null {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object) ? code : null;
}

/** Without the value that the server quotes: a user who may read a status may not be allowed to read messages. */
export const openReason = (reason: string): string => reason.replace(/: ".*/s, '').slice(0, 300);
