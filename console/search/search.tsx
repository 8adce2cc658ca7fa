import { Search as SearchIcon } from 'lucide-react';
import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { useKey } from '../ui/use-key.ts';
import { SearchDialog } from './search-dialog.tsx';
import { searchTexts } from './texts.ts';
import './style.css';

/**
 * The button of the search, and its key, which works on all screens.
 *
 * The dialog is not loaded later: letters that are typed right after Ctrl-K would be lost meanwhile.
 */
export function Search() {
  const text = useTexts(searchTexts);
  const [isOpen, setOpen] = useState(false);
  useKey(isSearchKey, () => setOpen(true));
  return (
    <>
      <button type="button" className="search" aria-keyshortcuts="Control+K" onClick={() => setOpen(true)}>
        <SearchIcon aria-hidden="true" />
        <span>{text('search')}</span>
        <kbd>Ctrl K</kbd>
      </button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  );
}

const isSearchKey = ({ ctrlKey, metaKey, key }: KeyboardEvent): boolean =>
  (ctrlKey || metaKey) && key.toLowerCase() === 'k';
