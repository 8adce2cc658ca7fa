import { useMemo } from 'react';
import { useOperationName } from '../audit/what.tsx';
import type { Mark } from '../charts/line.ts';
import type { Span } from '../charts/range.ts';
import { graphql } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { entryAddress } from '../ui/entry-address.ts';
import { chartsTexts } from './texts.ts';

const MARKS = graphql(`query MarksOfBroker($project: ID!, $from: DateTime!, $to: DateTime!, $mayRead: Boolean!) {
  project(id: $project) {
    id
    marks(from: $from, to: $to, first: 200) @include(if: $mayRead) {
      isComplete
      marks { at kind event { id operation actorName brokerId targetId targetName } }
    }
  }
}`);

interface Marks {
  readonly marks: readonly Mark[];
  /** Whether the time has no further ones. */
  readonly isComplete: boolean;
}

/**
 * What was changed in a time at a broker, or in its project and at no broker, from the audit; and the start of the
 * broker. A person who may not read the audit gets only the latter.
 */
export function useMarks(
  {
    id,
    project,
  }: { readonly id: string; readonly project: { readonly id: string; readonly viewerCanReadAudit: boolean } },
  { from, to }: Span,
  startedAt: number | null,
): Marks {
  const text = useTexts(chartsTexts);
  const nameOf = useOperationName();
  const { data } = useQuery(MARKS, {
    project: project.id,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    mayRead: project.viewerCanReadAudit,
  });
  const list = data?.project?.marks;
  const started = text('brokerStarted');
  const marks = useMemo(() => {
    const found: Mark[] = [];
    for (const { at, event } of list?.marks ?? []) {
      if (event.brokerId !== null && event.brokerId !== id) continue;
      const { operation, actorName, targetId, targetName } = event;
      const target = targetId === id || targetName === null ? '' : `: ${targetName}`;
      found.push({
        key: event.id,
        at: Date.parse(at),
        text: `${nameOf(operation)}${target}${actorName === null ? '' : ` (${actorName})`}`,
        address: entryAddress(project.id, { operation, at }),
      });
    }
    if (startedAt !== null && startedAt >= from && startedAt <= to)
      found.push({ key: 'start', at: startedAt, text: started, address: null });
    return found.sort((a, b) => b.at - a.at);
  }, [list, id, project.id, startedAt, from, to, started]);
  return { marks, isComplete: list?.isComplete ?? true };
}
