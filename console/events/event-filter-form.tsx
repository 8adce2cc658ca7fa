import { useTexts } from '../texts/texts.ts';
import { FilterBar, FilterSelect, FilterText, FilterTime } from '../ui/filter-bar.tsx';
import { FILTER_KEYS, KINDS, PAGE_KEYS } from './event-filter.ts';
import { eventTexts } from './texts.ts';

interface EventFilterFormProps {
  /** Whether the events are those of several clients. */
  readonly hasClients: boolean;
}

/** The filter of events. Other values of the address stay. */
export function EventFilterForm({ hasClients }: EventFilterFormProps) {
  const text = useTexts(eventTexts);
  return (
    <FilterBar
      keys={FILTER_KEYS}
      resets={PAGE_KEYS}
      search={hasClients ? { name: 'client', label: text('clientId') } : undefined}
    >
      {hasClients && <FilterText name="username" label={text('username')} />}
      <FilterSelect
        name="kind"
        label={text('kind')}
        any={text('any')}
        options={KINDS.map((kind) => [kind, text(kind)])}
      />
      <FilterTime />
    </FilterBar>
  );
}
