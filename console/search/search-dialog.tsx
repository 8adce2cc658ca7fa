import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Refusal } from '../ui/problem.tsx';
import { MAX_OF_KIND } from './broker-search.ts';
import type { Found } from './found.ts';
import { searchTexts } from './texts.ts';
import { useSearch } from './use-search.ts';
import './style.css';

/** Finds everything that has a screen, and goes to it. */
export function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const text = useTexts(searchTexts);
  const [, navigate] = useLocation();
  const [term, setTerm] = useState('');
  const [chosen, setChosen] = useState(0);
  /** Enter was pressed before anything was found: the first result is opened as soon as there is one. */
  const [isOpening, setOpening] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const list = useId();
  const { found, lookUps, isBusy, error, numBrokers, numSearched, missing } = useSearch(term.trim());
  const options = [...found, ...lookUps];
  const current = Math.min(chosen, options.length - 1);
  useLayoutEffect(() => input.current?.focus(), []);
  useEffect(() => {
    document.getElementById(`${list}-${current}`)?.scrollIntoView({ block: 'nearest' });
  }, [current, list]);
  const go = ({ address }: Found) => {
    onClose();
    navigate(address);
  };
  const target = options[current];
  useEffect(() => {
    if (isOpening && target) go(target);
  });
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step !== 0) setChosen(Math.max(0, Math.min(options.length - 1, current + step)));
    else if (event.key === 'Enter') setOpening(target !== undefined || isBusy);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={text('search')} onClose={onClose}>
      <input
        ref={input}
        className="search-term"
        enterKeyHint="go"
        role="combobox"
        aria-expanded={options.length > 0}
        aria-controls={list}
        aria-activedescendant={current < 0 ? undefined : `${list}-${current}`}
        aria-label={text('searchFor')}
        placeholder={text('searchFor')}
        autoComplete="off"
        value={term}
        onInput={({ currentTarget: { value } }) => {
          setTerm(value);
          setChosen(0);
          setOpening(false);
        }}
        onKeyDown={press}
      />
      <div id={list} role="listbox" aria-label={text('results')} className="search-results">
        {options.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the keys
          <div
            key={`${one.kind} ${one.address} ${one.name}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === current}
            tabIndex={-1}
            onClick={() => go(one)}
          >
            <span className="quiet">{text(one.kind)}</span> <strong>{one.name}</strong>{' '}
            {one.of !== null && <span className="quiet">{one.of}</span>}
          </div>
        ))}
      </div>
      <Refusal error={error} />
      <p className="quiet" role="status">
        {isBusy ? text('searching') : found.length === 0 ? text('nothingFound') : ''}
      </p>
      <p className="quiet">
        {numSearched === null
          ? text('typeMore')
          : text('searchBound', { searched: numSearched, brokers: numBrokers, count: MAX_OF_KIND })}
      </p>
      {missing.length > 0 && <p className="note">{text('notReachable', { names: missing.join(', ') })}</p>}
    </Dialog>
  );
}
