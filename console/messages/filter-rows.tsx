import { type FormEvent, useState } from 'react';
import { useNumbers, useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { Table } from '../ui/table.tsx';
import type { FilterStatus } from './message-tail.ts';
import { messageTexts } from './texts.ts';

interface FilterRowsProps {
  readonly filters: readonly FilterStatus[];
  readonly onAdd: (filter: string) => void;
  readonly onRemove: (filter: string) => void;
}

/** The topic filters that are followed, each with its rate and what was left out. */
export function FilterRows({ filters, onAdd, onRemove }: FilterRowsProps) {
  const text = useTexts(messageTexts);
  const numberText = useNumbers();
  const [value, setValue] = useState('');
  const add = (event: FormEvent) => {
    event.preventDefault();
    onAdd(value);
    setValue('');
  };
  const stateOf = ({ isLive, isConnected, problem }: FilterStatus) => {
    if (problem !== null) return problem;
    if (!isLive) return text('notLive');
    return text(isConnected === false ? 'brokerLost' : 'live');
  };
  const columns: Column<FilterStatus>[] = [
    { key: 'filter', title: text('filter'), cell: ({ filter }) => filter },
    { key: 'rate', title: text('rate'), cell: ({ rate }) => numberText(rate), isNumber: true },
    { key: 'received', title: text('received'), cell: ({ received }) => numberText(received), isNumber: true },
    {
      key: 'leftOut',
      title: text('leftOut'),
      cell: ({ leftOut }) => <strong className={leftOut > 0 ? 'left-out' : undefined}>{numberText(leftOut)}</strong>,
      isNumber: true,
    },
    {
      key: 'state',
      title: text('state'),
      cell: (filter) => (
        <span className={filter.problem === null ? undefined : 'left-out'} role="status">
          {stateOf(filter)}
        </span>
      ),
    },
    {
      key: 'actions',
      title: text('actions'),
      cell: ({ filter }) => (
        <button type="button" aria-label={text('removeFilter', { filter })} onClick={() => onRemove(filter)}>
          {text('remove')}
        </button>
      ),
    },
  ];
  return (
    <>
      <form className="screen" onSubmit={add}>
        <label>
          {text('filter')}{' '}
          <input
            required
            placeholder="plant/+/state"
            value={value}
            onInput={({ currentTarget }) => setValue(currentTarget.value)}
          />
        </label>
        <button type="submit">{text('follow')}</button>
      </form>
      {filters.length === 0 && (
        <p>
          {text('noFilter')}{' '}
          <button type="button" onClick={() => onAdd('#')}>
            {text('followAll')}
          </button>
        </p>
      )}
      {filters.length > 0 && (
        <Table label={text('filters')} columns={columns} rows={filters} keyOf={({ filter }) => filter} hasCsv={false} />
      )}
    </>
  );
}
