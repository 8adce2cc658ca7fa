import type { InputIssue } from '../../errors.ts';
import { filterProblem } from '../../mqtt/topics.ts';
import { AllowedHosts } from '../../network/allowed-hosts.ts';
import type { BridgeRules } from '../model/bridge-kind.ts';

/** Of connections whose name an earlier one has. */
export function nameIssues(connections: readonly { readonly name: string }[]): InputIssue[] {
  const seen = new Set<string>();
  return connections.flatMap(({ name }, index) => {
    const isTaken = seen.has(name);
    seen.add(name);
    return isTaken ? [{ path: `/connections/${index}/name`, reason: 'is the name of another connection' }] : [];
  });
}

export function filterIssues(filters: readonly string[], path: string): InputIssue[] {
  return filters.flatMap((filter, index) => {
    const reason = filter.startsWith('$share/') ? 'must not be a shared subscription' : filterProblem(filter);
    return reason === null ? [] : [{ path: `${path}/${index}`, reason }];
  });
}

export function hostIssues(hostname: string, path: string, { allowedHosts }: BridgeRules): InputIssue[] {
  const reason = new AllowedHosts(allowedHosts).refusal(hostname);
  return reason === null ? [] : [{ path, reason }];
}
