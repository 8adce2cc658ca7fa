import { Search as SearchIcon } from 'lucide-react';
import { Suspense, useEffect, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { later, loaded } from '../ui/later.ts';
import type { Screens } from './places.ts';
import { searchTexts } from './texts.ts';
import './style.css';

const loadDialog = async () => (await import('./search-dialog.tsx')).SearchDialog;
const SearchDialog = later(loadDialog);

const NOTHING = { term: '', isOpening: false };

/** The button of the search, on all screens. Keys after Ctrl-K are not lost while the dialog is loaded. */
export function Search({ screens }: { readonly screens: Screens }) {
  const text = useTexts(searchTexts);
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState(NOTHING);
  useEffect(() => void loaded(loadDialog), []);
  const close = () => {
    setOpen(false);
    setTyped(NOTHING);
  };
  const waiting = (
    <Dialog title={text('search')} onClose={close}>
      <input
        className="search-term"
        aria-label={text('searchFor')}
        autoFocus={true}
        onInput={({ currentTarget: { value } }) => setTyped({ term: value, isOpening: false })}
        onKeyDown={({ key }) => key === 'Enter' && setTyped({ ...typed, isOpening: true })}
      />
    </Dialog>
  );
  return (
    <>
      <button type="button" className="search" aria-keyshortcuts="Control+K" onClick={() => setOpen(true)}>
        <SearchIcon aria-hidden="true" />
        <span>{text('search')}</span>
        <kbd>Ctrl K</kbd>
      </button>
      {isOpen && (
        <Suspense fallback={waiting}>
          <SearchDialog screens={screens} typed={typed} onClose={close} />
        </Suspense>
      )}
    </>
  );
}
