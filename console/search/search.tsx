import { Search as SearchIcon } from 'lucide-react';
import { Suspense, useEffect, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { later } from '../ui/later.ts';
import { useKey } from '../ui/use-key.ts';
import { searchTexts } from './texts.ts';
import './style.css';

const load = async () => (await import('./search-dialog.tsx')).SearchDialog;
const SearchDialog = later(load);

/** The button of the search, and its key, which works on all screens. */
export function Search() {
  const text = useTexts(searchTexts);
  const [isOpen, setOpen] = useState(false);
  // Otherwise letters that are typed right after the first Ctrl-K would be lost.
  useEffect(() => void load().catch(() => undefined), []);
  useKey(isSearchKey, () => setOpen(true));
  return (
    <>
      <button type="button" className="search" aria-keyshortcuts="Control+K" onClick={() => setOpen(true)}>
        <SearchIcon aria-hidden="true" />
        <span>{text('search')}</span>
        <kbd>Ctrl K</kbd>
      </button>
      <Suspense fallback={null}>{isOpen && <SearchDialog onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}

const isSearchKey = ({ ctrlKey, metaKey, key }: KeyboardEvent): boolean =>
  (ctrlKey || metaKey) && key.toLowerCase() === 'k';
