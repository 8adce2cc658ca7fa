import { graphql } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { useProject } from '../project/project-context.ts';
import { apply, ENTRY } from './audit-entry.ts';
import { useAuditFilter } from './audit-filter.ts';
import { AuditView } from './audit-view.tsx';

const ENTRIES = graphql(
  `query ProjectAudit($id: ID!, $filter: AuditFilter, $first: Int, $after: String, $last: Int, $before: String) {
    project(id: $id) {
      auditEvents(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
        totalCount
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
        nodes { ...Entry }
      }
    }
  }`,
  [ENTRY],
);
const NEW = graphql(
  `subscription NewProjectAuditEntries($projectId: ID!, $filter: AuditFilter, $after: SafeInt) {
    projectAuditEvents(projectId: $projectId, filter: $filter, after: $after) {
      kind
      sequence
      auditEvents { ...Entry }
    }
  }`,
  [ENTRY],
);

/** The entries of one project, for its administrators. */
export function ProjectAudit() {
  const { id } = useProject();
  const { filter, range } = useAuditFilter();
  const variables = { id, filter, ...range };
  const { data, error, renew } = useQuery(ENTRIES, variables);
  const { state, isLive } = useLive(NEW, { projectId: id, filter }, (event) => event.projectAuditEvents, apply);
  return (
    <AuditView
      error={error}
      page={data?.project?.auditEvents ?? null}
      added={state}
      isLive={isLive}
      onSnapshot={renew}
      document={ENTRIES}
      variables={variables}
    />
  );
}
