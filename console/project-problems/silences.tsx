import { BellOff } from 'lucide-react';
import { useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { BeginSilence } from '../problems/begin-silence.tsx';
import { EVERYTHING, type Scope, useBrokers } from '../problems/scope-fields.tsx';
import { silenceTexts } from '../problems/silence-texts.ts';
import { useScopeWords } from '../problems/use-scope-words.ts';
import { useProject } from '../project/project-context.ts';
import { useTexts } from '../texts/texts.ts';
import { useAddressValues } from '../ui/address-values.ts';
import type { Column } from '../ui/column.ts';
import { CopyAs } from '../ui/copy-as.tsx';
import { Empty } from '../ui/empty.tsx';
import { Problem } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { EndSilence } from './end-silence.tsx';

const SILENCES = graphql(`query Silences($id: ID!) {
  project(id: $id) { problemSilences { id reason until filter createdBy createdAt } }
}`);

type Silence = NonNullable<NonNullable<ResultOf<typeof SILENCES>['project']>['problemSilences']>[number];

/** Silences of others, and those that are over. */
const EVERY_MS = 10_000;

/** Times in which problems of a project are silent, for example during maintenance. */
export function Silences() {
  const text = useTexts(silenceTexts);
  const project = useProject();
  const { id, viewerCanSilenceProblems: canSilence } = project;
  const { data, error, renew } = useQuery(SILENCES, { id }, EVERY_MS);
  const scopeText = useScopeWords(useBrokers(id));
  // The search leads to a new silence of a broker.
  const { values, set } = useAddressValues();
  const broker = values.get('broker');
  const [ended, setEnded] = useState<Silence | null>(null);
  const silences = data?.project?.problemSilences;
  if (!silences) return <Problem error={error} />;
  const columns: Column<Silence>[] = [
    { key: 'why', title: text('why'), cell: ({ reason }) => reason },
    { key: 'what', title: text('what'), cell: ({ filter }) => scopeText(scopeOf(filter)) },
    { key: 'until', title: text('until'), cell: ({ until }) => <Time at={until} />, value: ({ until }) => until },
    { key: 'who', title: text('who'), cell: ({ createdBy }) => createdBy },
    {
      key: 'since',
      title: text('since'),
      cell: ({ createdAt }) => <Time isRelative={true} at={createdAt} />,
      value: ({ createdAt }) => createdAt,
    },
  ];
  const actions: Column<Silence> = {
    key: 'actions',
    title: text('actions'),
    cell: (silence) => (
      <RowMenu name={silence.reason}>
        <button type="button" onClick={() => setEnded(silence)}>
          {text('endOf', { reason: silence.reason })}
        </button>
      </RowMenu>
    ),
  };
  const close = () => {
    setEnded(null);
    set({ new: '', broker: '' });
  };
  const changed = () => {
    close();
    renew();
  };
  const begin = canSilence && (
    <button type="button" onClick={() => set({ new: 'silence' })}>
      {text('begin')}
    </button>
  );
  return (
    <>
      {silences.length === 0 && (
        <Empty icon={BellOff} title={text('noSilences')}>
          <p>{text('noSilencesText')}</p>
          {begin}
        </Empty>
      )}
      {silences.length > 0 && (
        <>
          {begin && <p>{begin}</p>}
          <Table
            label={text('silences')}
            columns={canSilence ? [...columns, actions] : columns}
            rows={silences}
            keyOf={(silence) => silence.id}
          />
        </>
      )}
      <CopyAs document={SILENCES} variables={{ id }} />
      {canSilence && values.get('new') === 'silence' && (
        <BeginSilence
          project={project}
          scope={broker === null ? EVERYTHING : { ...EVERYTHING, brokerIds: [broker] }}
          onDone={changed}
          onClose={close}
        />
      )}
      {ended && <EndSilence silence={ended} onDone={changed} onClose={close} />}
    </>
  );
}

/** The filter is JSON, with the fields of `ProblemSilenceFilter`. */
const scopeOf = (filter: unknown): Scope => ({ ...EVERYTHING, ...withoutNulls(filter) });

const withoutNulls = (filter: unknown): Partial<Scope> =>
  Object.fromEntries(Object.entries(filter ?? {}).filter(([, value]) => Array.isArray(value)));
