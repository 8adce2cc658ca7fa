import { Suspense, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { later } from '../ui/later.ts';
import { useKey } from '../ui/use-key.ts';
import { searchTexts } from './texts.ts';

const SearchDialog = later(async () => (await import('./search-dialog.tsx')).SearchDialog);

/** The button of the search, and its key, which works on all screens. */
export function Search() {
  const text = useTexts(searchTexts);
  const [isOpen, setOpen] = useState(false);
  useKey(isSearchKey, () => setOpen(true));
  return (
    <>
      <button type="button" aria-keyshortcuts="Control+K" title="Ctrl K" onClick={() => setOpen(true)}>
        {text('search')}
      </button>
      <Suspense fallback={null}>{isOpen && <SearchDialog onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}

const isSearchKey = ({ ctrlKey, metaKey, key }: KeyboardEvent): boolean =>
  (ctrlKey || metaKey) && key.toLowerCase() === 'k';
