import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Problem } from '../ui/problem.tsx';
import { Table } from '../ui/table.tsx';
import { useCapabilityReason } from '../ui/use-capability-reason.tsx';
import { useBroker } from './broker-context.ts';
import { overviewTexts } from './overview-texts.ts';

const CAPABILITIES = graphql(`query Capabilities($id: ID!) {
  broker(id: $id) { capabilities { api provider reason reasonCode } }
}`);

type Capability = NonNullable<NonNullable<ResultOf<typeof CAPABILITIES>['broker']>['capabilities']>[number];

/** The broker may get plugins and another configuration while the page is open. */
const EVERY_MS = 10_000;

/** What can be managed at the broker, who does it, and what would help where something is missing. */
export function Capabilities() {
  const text = useTexts(overviewTexts);
  const reasonOf = useCapabilityReason();
  const { id } = useBroker();
  const { data, error, renew } = useQuery(CAPABILITIES, { id }, EVERY_MS);
  const capabilities = data?.broker?.capabilities;
  const columns: Column<Capability>[] = [
    { key: 'api', title: text('capability'), cell: ({ api }) => <code>{api}</code>, value: ({ api }) => api },
    {
      key: 'provider',
      title: text('provider'),
      cell: ({ provider }) => (
        <span className={provider === 'NONE' ? 'quiet' : undefined}>
          {provider === 'NONE' ? '✗' : '✓'} {text(provider)}
        </span>
      ),
      value: ({ provider }) => text(provider),
    },
    {
      key: 'reason',
      title: text('whatHelps'),
      cell: (capability) => reasonOf(capability) ?? '–',
      value: (capability) => {
        const shown = reasonOf(capability);
        return typeof shown === 'string' ? shown : capability.reason;
      },
    },
  ];
  return (
    <section>
      <h2 id="capabilities">{text('capabilities')}</h2>
      <button type="button" onClick={renew}>
        {text('checkAgain')}
      </button>
      {!capabilities && <Problem error={error} />}
      {capabilities && (
        <Table label={text('capabilities')} columns={columns} rows={capabilities} keyOf={({ api }) => api} />
      )}
    </section>
  );
}
