import { Cable } from 'lucide-react';
import { useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Empty } from '../ui/empty.tsx';
import { Problem } from '../ui/problem.tsx';
import { RowMenu } from '../ui/row-menu.tsx';
import { Table } from '../ui/table.tsx';
import { useBroker } from './broker-context.ts';
import { EditListener, RemoveListener } from './listener-dialogs.tsx';
import { overviewTexts } from './overview-texts.ts';

const LISTENERS = graphql(`query Listeners($id: ID!) {
  broker(id: $id) {
    viewerCanUpdate
    ... on CloudBroker { engine }
    listeners {
      id
      number
      port
      bindAddress
      socketPath
      protocol
      hasTls
      requiresCertificate
      server { filename daysLeft }
    }
  }
}`);

type Listener = NonNullable<NonNullable<ResultOf<typeof LISTENERS>['broker']>['listeners']>[number];

/** Listeners change when certificates are deployed. */
const EVERY_MS = 30_000;

/** Where clients connect to the broker. */
export function Listeners() {
  const text = useTexts(overviewTexts);
  const { id } = useBroker();
  const { data, error, renew } = useQuery(LISTENERS, { id }, EVERY_MS);
  const [changed, setChanged] = useState<Listener | 'NEW' | null>(null);
  const [removed, setRemoved] = useState<Listener | null>(null);
  const broker = data?.broker;
  const listeners = broker?.listeners;
  const canChange = broker?.viewerCanUpdate === true && 'engine' in broker;
  const close = () => {
    setChanged(null);
    setRemoved(null);
  };
  const dialog = {
    brokerId: id,
    onClose: close,
    onDone: () => {
      close();
      renew();
    },
  };
  const yesOrNo = (value: boolean | null) => text(value === null ? 'unknown' : value ? 'yes' : 'no');
  const columns: Column<Listener>[] = [
    { key: 'port', title: text('port'), cell: ({ port, socketPath }) => (socketPath === null ? port : '') },
    {
      key: 'address',
      title: text('address'),
      cell: ({ bindAddress, socketPath }) => socketPath ?? bindAddress ?? text('allAddresses'),
    },
    { key: 'protocol', title: text('protocol'), cell: ({ protocol }) => text(protocol ?? 'unknown') },
    { key: 'tls', title: text('tls'), cell: ({ hasTls }) => yesOrNo(hasTls) },
    {
      key: 'certificates',
      title: text('clientCertificates'),
      cell: ({ requiresCertificate }) => yesOrNo(requiresCertificate),
    },
    {
      key: 'server',
      title: text('serverCertificate'),
      cell: ({ server, hasTls }) =>
        server
          ? text('expiresIn', { name: server.filename, days: server.daysLeft })
          : text(hasTls ? 'none' : 'notNeeded'),
    },
    ...(canChange
      ? [
          {
            key: 'actions',
            title: text('actions'),
            cell: (listener: Listener) => (
              <RowMenu name={String(listener.port)}>
                <button type="button" onClick={() => setChanged(listener)}>
                  {text('changePortOf', { port: listener.port })}
                </button>
                <button type="button" className="danger" onClick={() => setRemoved(listener)}>
                  {text('removeListenerOf', { port: listener.port })}
                </button>
              </RowMenu>
            ),
          },
        ]
      : []),
  ];
  return (
    <section>
      <h2>{text('listeners')}</h2>
      {!listeners && <Problem error={error} />}
      {listeners?.length === 0 && <Empty icon={Cable} title={text('noListeners')} />}
      {listeners && listeners.length > 0 && (
        <Table
          name="listeners"
          label={text('listeners')}
          columns={columns}
          rows={listeners}
          keyOf={({ id: key }) => key}
        />
      )}
      {canChange && (
        <button type="button" onClick={() => setChanged('NEW')}>
          {text('addListener')} …
        </button>
      )}
      {changed !== null && <EditListener {...dialog} listener={changed === 'NEW' ? null : numbered(changed)} />}
      {removed !== null && <RemoveListener {...dialog} listener={numbered(removed)} />}
    </section>
  );
}

/** Brokers that this service runs number their listeners. */
const numbered = ({ number, port }: Listener) => ({ number: number ?? 0, port });
