import { useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useQuery } from '../graph/use-query.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { CopyAs } from '../ui/copy-as.tsx';
import { Problem, Refusal } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { serviceTexts } from './texts.ts';

const PROCESSES = graphql(`query Processes {
  processes {
    processId host version role startedAt isAlive isDraining isSelf brokerCount messagesPerSecond
  }
}`);
const DRAIN = graphql(`mutation DrainProcess($input: DrainProcessInput!) {
  drainProcess(input: $input) { process { processId isDraining } }
}`);

type Process = ResultOf<typeof PROCESSES>['processes'][number];

/** Brokers move by themselves. */
const EVERY_MS = 5_000;

/** The processes of the service, what each does, and the move of all brokers of one. */
export function Processes() {
  const text = useTexts(serviceTexts);
  const numberText = useNumbers();
  const { data, error, renew } = useQuery(PROCESSES, {}, EVERY_MS);
  const { run, isBusy, error: refusal } = useMutation(DRAIN);
  const [drained, setDrained] = useState<Process | null>(null);
  const set = async ({ processId }: Process, isDraining: boolean) => {
    if ((await run({ input: { processId, isDraining } })) === null) return;
    setDrained(null);
    renew();
  };
  if (data === null) return <Problem error={error} />;
  const { processes } = data;
  const columns: Column<Process>[] = [
    {
      key: 'process',
      title: text('process'),
      cell: ({ host, processId, isSelf }) => (
        <>
          {host} <code>{processId}</code> {isSelf && <small>{text('isSelf')}</small>}
        </>
      ),
      value: ({ processId }) => processId,
    },
    {
      key: 'state',
      title: text('state'),
      cell: (process) => <span className={`state ${stateOf(process)}`}>{text(stateOf(process))}</span>,
      value: stateOf,
    },
    { key: 'version', title: text('version'), cell: ({ version }) => version },
    { key: 'role', title: text('role'), cell: ({ role }) => text(role) },
    {
      key: 'started',
      title: text('startedAt'),
      cell: ({ startedAt }) => <Time isRelative={true} at={startedAt} />,
      value: ({ startedAt }) => startedAt,
    },
    {
      key: 'brokers',
      title: text('brokers'),
      isNumber: true,
      cell: ({ brokerCount }) => (brokerCount === null ? '–' : numberText(brokerCount)),
    },
    {
      key: 'received',
      title: text('received'),
      isNumber: true,
      cell: ({ messagesPerSecond: rate }) => (rate === null ? '–' : numberText(Math.round(rate))),
    },
    {
      key: 'actions',
      title: text('actions'),
      // The brokers of the only process cannot move.
      isHidden: processes.length < 2 && !processes.some(({ isDraining }) => isDraining),
      cell: (process) => (
        <RowMenu name={process.host}>
          <button
            type="button"
            disabled={isBusy}
            onClick={() => (process.isDraining ? void set(process, false) : setDrained(process))}
          >
            {text(process.isDraining ? 'undrainOf' : 'drainOf', { host: process.host })}
          </button>
        </RowMenu>
      ),
    },
  ];
  return (
    <section>
      <h2>{text('processes')}</h2>
      {drained === null && <Refusal error={refusal} />}
      <Table
        name="processes"
        label={text('processes')}
        columns={columns}
        rows={processes}
        keyOf={({ processId }) => processId}
      />
      <CopyAs document={PROCESSES} variables={{}} />
      {drained && (
        <Confirmation
          title={text('drainOf', { host: drained.host })}
          action={text('drain')}
          isBusy={isBusy}
          error={refusal}
          onConfirm={() => void set(drained, true)}
          onClose={() => setDrained(null)}
        >
          <p>{text('drainMeans', { count: drained.brokerCount ?? 0 })}</p>
        </Confirmation>
      )}
    </section>
  );
}

const stateOf = ({ isAlive, isDraining }: Process) => (isAlive ? (isDraining ? 'WAITING' : 'RUNNING') : 'UNREACHABLE');
