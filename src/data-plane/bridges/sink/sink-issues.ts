import type { InputIssue } from '../../../platform/errors.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import type { AllowedHosts } from '../../../protocol/network/allowed-hosts.ts';

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
    const reason = refusalOf(filter) ?? filterProblem(filter);
    return reason === null ? [] : [{ path: `${path}/${index}`, reason }];
  });
}

function refusalOf(filter: string): string | null {
  if (filter.startsWith('$share/')) return 'must not be a shared subscription';
  const isControl = filter === '$CONTROL' || filter.startsWith('$CONTROL/');
  return isControl ? 'must not be below $CONTROL: commands and their answers hold passwords' : null;
}

export function hostIssues(hostname: string, path: string, hosts: AllowedHosts): InputIssue[] {
  const reason = hosts.refusal(hostname);
  return reason === null ? [] : [{ path, reason }];
}
