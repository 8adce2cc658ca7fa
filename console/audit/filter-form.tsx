import { useTexts } from '../texts/texts.ts';
import { FilterBar, FilterSelect, FilterText, FilterTime } from '../ui/filter-bar.tsx';
import { RESULTS } from './audit-filter.ts';
import { auditTexts } from './texts.ts';

/** The filter of an audit. */
export function FilterForm() {
  const text = useTexts(auditTexts);
  return (
    <FilterBar
      keys={['search', 'result', 'from', 'to', ...MORE]}
      resets={['after']}
      search={{ name: 'search', label: text('search') }}
      more={{
        keys: MORE,
        fields: MORE.map((key) => <FilterText key={key} name={key} label={text(key)} />),
      }}
    >
      <FilterSelect
        name="result"
        label={text('result')}
        any={text('any')}
        options={RESULTS.map((result) => [result, text(result)])}
      />
      <FilterTime />
    </FilterBar>
  );
}

const MORE = ['operation', 'actorName', 'targetId'] as const;
