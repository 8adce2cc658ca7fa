import { Suspense, useEffect, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { later } from '../ui/later.ts';
import { searchTexts } from './texts.ts';

const SearchDialog = later(async () => (await import('./search-dialog.tsx')).SearchDialog);
const KeysDialog = later(async () => (await import('./keys-dialog.tsx')).KeysDialog);

/** The button of the search, and the keys that work on all screens. */
export function Search() {
  const text = useTexts(searchTexts);
  const [open, setOpen] = useState<'search' | 'keys' | null>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isSearch = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k';
      const isKeys = event.key === '?' && !isTyping(event.target);
      if ((!isSearch && !isKeys) || document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      setOpen(isSearch ? 'search' : 'keys');
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, []);
  const close = () => setOpen(null);
  return (
    <>
      <button type="button" aria-keyshortcuts="Control+K" title="Ctrl K" onClick={() => setOpen('search')}>
        {text('search')}
      </button>
      <Suspense fallback={null}>
        {open === 'search' && <SearchDialog onClose={close} />}
        {open === 'keys' && <KeysDialog onClose={close} />}
      </Suspense>
    </>
  );
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable="true"]') !== null;
