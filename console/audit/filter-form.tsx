import { useLanguage, useTexts } from '../texts/texts.ts';
import { FilterBar, FilterSelect, FilterText, FilterTime } from '../ui/filter-bar.tsx';
import { CURSOR_KEYS } from '../ui/pager.tsx';
import { RESULTS, useAuditFilter } from './audit-filter.ts';
import { operationTexts } from './operation-texts.ts';
import { auditTexts } from './texts.ts';
import { useOperationName } from './what.tsx';

export function FilterForm() {
  const text = useTexts(auditTexts);
  const language = useLanguage();
  const operationName = useOperationName();
  const { filter } = useAuditFilter();
  // A refused read has the name of its field, which the address may contain.
  const names = new Set([...Object.keys(operationTexts.en), ...(filter.operation ? [filter.operation] : [])]);
  const operations = [...names]
    .map((name) => [name, operationName(name)] as const)
    .sort(([, a], [, b]) => a.localeCompare(b, language));
  return (
    <FilterBar
      keys={['search', 'operation', 'result', 'previews', 'from', 'to', ...MORE]}
      resets={CURSOR_KEYS}
      search={{ name: 'search', label: text('search') }}
      more={{
        keys: MORE,
        fields: MORE.map((key) => <FilterText key={key} name={key} label={text(key)} />),
      }}
    >
      <FilterSelect name="operation" label={text('operation')} any={text('any')} options={operations} />
      <FilterSelect
        name="result"
        label={text('result')}
        any={text('any')}
        options={RESULTS.map((result) => [result, text(result)])}
      />
      <FilterSelect name="previews" label={text('previews')} options={PREVIEWS.map((one) => [one, text(one)])} />
      <FilterTime />
    </FilterBar>
  );
}

const MORE = ['actorName', 'targetId'] as const;
const PREVIEWS = ['without', 'with'] as const;
