import { Link } from 'wouter';
import { daysClass } from '../certificates/days-left.ts';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Hint } from '../ui/hint.tsx';
import { Table } from '../ui/table.tsx';
import { Hour, type NumberKey, numberOf, Problems, Published, State, Unknown } from './broker-parts.tsx';
import { type SortField, useFleetView } from './fleet-view.ts';
import type { Project } from './operations.ts';
import { fleetTexts } from './texts.ts';
import type { Shown } from './use-brokers.ts';

export function BrokerTable({ project, brokers }: { readonly project: Project; readonly brokers: readonly Shown[] }) {
  const text = useTexts(fleetTexts);
  const numberText = useNumbers();
  const { view, sortBy } = useFleetView();
  const sort = (field: SortField): Column<Shown>['sort'] => ({
    direction: view.orderBy.field === field ? view.orderBy.order : null,
    onSort: () => sortBy(field),
  });
  const number = (key: NumberKey, title: string, field?: SortField): Column<Shown> => ({
    key,
    title,
    isNumber: true,
    cell: (broker) => <Published broker={broker} of={key} />,
    value: (broker) => numberOf(broker, key),
    ...(field && { sort: sort(field) }),
  });
  const columns: Column<Shown>[] = [
    {
      key: 'broker',
      title: text('broker'),
      cell: ({ id, name }) => <Link href={`/brokers/${id}`}>{name}</Link>,
      value: ({ name }) => name,
      sort: sort('NAME'),
    },
    {
      key: 'state',
      title: text('state'),
      cell: (broker) => <State broker={broker} />,
      value: ({ connection }) => connection.state,
      sort: sort('IS_CONNECTED'),
    },
    {
      key: 'problems',
      title: text('problems'),
      cell: (broker) => <Problems broker={broker} />,
      value: ({ problemCounts: { critical, warning, notice } }) => critical + warning + notice,
      sort: sort('PROBLEMS'),
    },
    number('clients', text('clients'), 'CLIENTS'),
    number('received', text('receivedShort'), 'MESSAGES_IN'),
    { key: 'hour', title: text('lastHour'), cell: (broker) => <Hour broker={broker} />, value: () => null },
    number('sent', text('sentShort')),
    {
      key: 'denied',
      title: text('denied'),
      isNumber: true,
      cell: (broker) => {
        const denied = numberOf(broker, 'denied');
        if (denied === null) return <Unknown broker={broker} />;
        return denied === 0 ? '0' : <Link href={`/brokers/${broker.id}/refusals`}>{numberText(denied)}</Link>;
      },
      value: (broker) => numberOf(broker, 'denied'),
    },
    {
      key: 'certificates',
      title: text('certificates'),
      isNumber: true,
      cell: ({ daysLeft, warnDays }) =>
        daysLeft === null ? (
          <Hint text={text('noCertificate')}>–</Hint>
        ) : (
          <Link href={`/projects/${project.id}/certificates`} className={daysClass(daysLeft, warnDays)}>
            {text('daysLeft', { days: daysLeft })}
          </Link>
        ),
      value: ({ daysLeft }) => daysLeft,
    },
  ];
  return (
    <Table
      name="brokers"
      label={text('brokersOf', { project: project.name })}
      columns={columns}
      rows={brokers}
      keyOf={({ id }) => id}
    />
  );
}
