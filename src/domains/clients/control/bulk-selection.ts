import { type InputIssue, ServiceError } from '../../../platform/errors.ts';
import { type ClientConditions, filterOf } from '../client-selection.ts';
import type { ClientsOfBroker } from '../client-service.ts';
import { matcherOf } from '../inspect/client-filter.ts';
import { clientIdIssues } from './client-input.ts';

/** Selects the clients in `clientIds`, those that match `filter`, or with both the ids that match. */
export interface BulkSelection {
  readonly clientIds?: readonly string[] | null | undefined;
  readonly filter?: ClientConditions | null | undefined;
  /** Maximum number of selected clients, as a guard against mistakes. Default: DEFAULT_LIMIT. */
  readonly limit?: number | null | undefined;
}

export const DEFAULT_LIMIT = 1_000;
export const MAX_LIMIT = 100_000;

/** @param isConnected whether connected clients are selected; otherwise offline ones */
export function selectionIssues({ clientIds, filter, limit }: BulkSelection, isConnected = true): InputIssue[] {
  const issues: InputIssue[] = [];
  if (clientIds == null && filter == null) {
    issues.push({ path: 'input', reason: 'must select clients by clientIds, filter or both' });
  }
  if (clientIds?.length === 0) issues.push({ path: 'input.clientIds', reason: 'must not be empty' });
  if ((clientIds?.length ?? 0) > MAX_LIMIT) {
    issues.push({ path: 'input.clientIds', reason: `must have at most ${MAX_LIMIT} client ids` });
  }
  if (filter != null && matcherOf(filterOf(filter, 'input.filter')) === null && filter.groupName == null) {
    issues.push({ path: 'input.filter', reason: 'must have a condition: every client would match' });
  }
  if (filter?.isConnected === !isConnected) {
    const reason = isConnected
      ? 'no offline client can be disconnected'
      : 'only sessions of offline clients are deleted';
    issues.push({ path: 'input.filter.isConnected', reason: `must not be ${!isConnected}: ${reason}` });
  }
  if (limit != null && (limit < 1 || limit > MAX_LIMIT)) {
    issues.push({ path: 'input.limit', reason: `must be from 1 to ${MAX_LIMIT}` });
  }
  for (const [index, id] of (clientIds ?? []).entries()) issues.push(...clientIdIssues(`input.clientIds.${index}`, id));
  return issues;
}

interface Selection {
  readonly clientIds: readonly string[];
  readonly unmatched: readonly string[];
}

export function selectionOf({ clientIds }: BulkSelection, matching: ClientsOfBroker | null): Selection {
  if (matching === null) return { clientIds: [...new Set(clientIds)], unmatched: [] };
  const matches = matching.clients.map(({ clientid }) => clientid);
  if (clientIds == null) return { clientIds: matches, unmatched: [] };
  const fits = new Set(matches);
  const given = [...new Set(clientIds)];
  return { clientIds: given.filter((id) => fits.has(id)), unmatched: given.filter((id) => !fits.has(id)) };
}

export function refuseTooMany(matchCount: number, { limit }: BulkSelection): void {
  const most = limit ?? DEFAULT_LIMIT;
  if (matchCount <= most) return;
  const reason = `${matchCount} clients match, which exceeds the limit of ${most}: nothing was changed`;
  throw new ServiceError('INVALID', `input.limit: ${reason}`, {
    info: { issues: [{ path: 'input.limit', reason }], matchCount, limit: most },
  });
}
