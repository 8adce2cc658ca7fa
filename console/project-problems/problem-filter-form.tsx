import { SEVERITIES } from '../problems/open-problems.ts';
import { KINDS } from '../problems/project-kinds.ts';
import { useBrokers } from '../problems/scope-fields.tsx';
import { titleTexts } from '../problems/title-texts.ts';
import { useTexts } from '../texts/texts.ts';
import { FilterBar, FilterSelect, FilterTime } from '../ui/filter-bar.tsx';
import { CHOICES, KEYS, STATES } from './problem-filter.ts';
import { screenTexts } from './screen-texts.ts';

const MORE = ['kind', 'acknowledged', 'silenced'] as const;

/** The filter, which the address contains. */
export function ProblemFilterForm({ projectId }: { readonly projectId: string }) {
  const text = useTexts(screenTexts);
  const titleOf = useTexts(titleTexts);
  const brokers = useBrokers(projectId) ?? [];
  const select = (
    key: 'severity' | 'kind' | 'broker' | 'acknowledged' | 'silenced',
    options: readonly (readonly [value: string, title: string])[],
  ) => <FilterSelect name={key} label={text(key)} any={text('any')} options={options} />;
  return (
    <FilterBar
      keys={KEYS}
      resets={['page']}
      more={{
        keys: MORE,
        fields: (
          <>
            {select(
              'kind',
              KINDS.map((kind) => [kind, titleOf(kind)]),
            )}
            {select(
              'acknowledged',
              CHOICES.map((choice) => [choice, text(choice)]),
            )}
            {select(
              'silenced',
              CHOICES.map((choice) => [choice, text(choice)]),
            )}
          </>
        ),
      }}
    >
      <FilterSelect name="state" label={text('state')} options={STATES.map((state) => [state, text(state)])} />
      {select(
        'severity',
        SEVERITIES.map((one) => [one, text(one)]),
      )}
      {select(
        'broker',
        brokers.map(({ id, name }) => [id, name]),
      )}
      {/* What was open then may be over. */}
      <FilterTime also={{ state: 'all' }} />
    </FilterBar>
  );
}
