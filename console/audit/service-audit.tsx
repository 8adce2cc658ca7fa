import { addressOf } from '../graph/addresses.ts';
import { graphql } from '../graph/graphql.ts';
import { useLive } from '../graph/live.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { PageHeading } from '../ui/page-heading.tsx';
import { apply, ENTRY } from './audit-entry.ts';
import { useAuditFilter } from './audit-filter.ts';
import { AuditView } from './audit-view.tsx';
import { auditTexts } from './texts.ts';
import { Verification } from './verification.tsx';

const ENTRIES = graphql(
  `query Audit($filter: AuditFilter, $first: Int, $after: String, $last: Int, $before: String) {
    auditEvents(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
      totalCount
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      nodes { ...Entry }
    }
  }`,
  [ENTRY],
);
const NEW = graphql(
  `subscription NewAuditEntries($filter: AuditFilter, $after: SafeInt) {
    auditEvents(filter: $filter, after: $after) { kind sequence auditEvents { ...Entry } }
  }`,
  [ENTRY],
);

/** All entries of the service, for root administrators. */
export function ServiceAudit() {
  const text = useTexts(auditTexts);
  const { filter, range } = useAuditFilter();
  const variables = { filter, ...range };
  const { data, error, renew } = useQuery(ENTRIES, variables);
  const { state, isLive } = useLive(NEW, { filter }, ({ auditEvents }) => auditEvents, apply);
  const times = new URLSearchParams();
  for (const key of ['from', 'to'] as const) {
    if (filter[key]) times.set(key, filter[key]);
  }
  return (
    <>
      <header className="screen">
        <PageHeading>{text('audit')}</PageHeading>
        <a href={`${addressOf('audit.jsonl')}?${times}`} download="audit.jsonl">
          {text('export')}
        </a>
        <Verification />
      </header>
      <AuditView
        error={error}
        page={data?.auditEvents ?? null}
        added={state}
        isLive={isLive}
        onSnapshot={renew}
        document={ENTRIES}
        variables={variables}
      />
    </>
  );
}
