import { SearchX } from 'lucide-react';
import { useTexts } from '../texts/texts.ts';
import { useAddressValues } from './address-values.ts';
import { Empty } from './empty.tsx';
import { filterTexts } from './filter-texts.ts';

interface NoMatchProps {
  readonly title: string;
  /** Names of the values of the address that select rows. */
  readonly keys: readonly string[];
}

/** Where a filter selects nothing of a list: shows the whole list again. */
export function NoMatch({ title, keys }: NoMatchProps) {
  const text = useTexts(filterTexts);
  const { set } = useAddressValues();
  return (
    <Empty icon={SearchX} title={title}>
      <button type="button" onClick={() => set(Object.fromEntries(keys.map((key) => [key, ''])), 'PUSH')}>
        {text('showAll')}
      </button>
    </Empty>
  );
}
