import type { ReactNode } from 'react';
import { reasonTexts } from '../advice/reason-texts.ts';
import { useTexts } from '../texts/texts.ts';
import { contains } from '../ui/contains.ts';
import { FilterBar, FilterSelect } from '../ui/filter-bar.tsx';
import type { Refusal } from './refusals-live.ts';
import { refusalTexts } from './texts.ts';

const KINDS = ['CONNECT', 'PACKET', 'TAKEOVER', 'PUBLISH', 'SUBSCRIBE', 'UNSUBSCRIBE'] as const;
const REASONS = Object.keys(reasonTexts.en) as (keyof typeof reasonTexts.en)[];
export const KEYS = ['text', 'kind', 'reason', 'from', 'to'] as const;

export const isFiltered = (values: URLSearchParams): boolean => KEYS.some((key) => values.has(key));

/** Whether a refusal matches the filter in the address. */
export function matches(values: URLSearchParams, refusal: Refusal): boolean {
  const { clientId, username, topic, address, kind, reason, firstAt, lastAt } = refusal;
  const [text, wantedKind, wantedReason, from, to] = KEYS.map((key) => values.get(key) ?? '');
  return (
    contains(text ?? '', [clientId, username, topic, address]) &&
    (!wantedKind || kind === wantedKind) &&
    (!wantedReason || reason === wantedReason) &&
    (!from || lastAt >= from) &&
    (!to || firstAt <= to)
  );
}

/** The filter of refusals, whose time is that of the chart. */
export function RefusalFilter({ actions }: { readonly actions: ReactNode }) {
  const text = useTexts(refusalTexts);
  const reasonText = useTexts(reasonTexts);
  return (
    <FilterBar keys={KEYS} search={{ name: 'text', label: text('search') }} actions={actions}>
      <FilterSelect
        name="kind"
        label={text('kind')}
        any={text('any')}
        options={KINDS.map((kind) => [kind, text(kind)])}
      />
      <FilterSelect
        name="reason"
        label={text('reason')}
        any={text('any')}
        options={REASONS.map((reason) => [reason, reasonText(reason)])}
      />
    </FilterBar>
  );
}
