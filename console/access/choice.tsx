import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import type { Column } from '../ui/column.ts';
import { MoveAccounts } from './move-accounts.tsx';
import { moveTexts } from './move-texts.ts';

interface Choosable {
  readonly username: string;
  readonly isGateway: boolean;
}

/** The account of this service belongs to its broker, so it cannot be chosen. */
const namesIn = (accounts: readonly Choosable[]): readonly string[] =>
  accounts.filter(({ isGateway }) => !isGateway).map(({ username }) => username);

/** Accounts that are chosen, also those of other pages of the list, and what can be done with them. */
export function useChoice(accounts: readonly Choosable[]) {
  const text = useTexts(moveTexts);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [moving, setMoving] = useState<readonly string[] | null>(null);
  const choose = (usernames: readonly string[], isChosen: boolean) =>
    setChosen((before) => {
      const others = [...before].filter((username) => !usernames.includes(username));
      return new Set(isChosen ? [...others, ...usernames] : others);
    });
  const names = namesIn(accounts);
  const count = names.filter((name) => chosen.has(name)).length;
  const column: Column<Choosable> = {
    key: 'choose',
    title: text('choose'),
    isLeading: true,
    head: (
      <input
        // React has no property for it.
        ref={(box) => {
          if (box) box.indeterminate = count > 0 && count < names.length;
        }}
        type="checkbox"
        aria-label={text('choosePage')}
        title={text('choosePage')}
        checked={names.length > 0 && count === names.length}
        onChange={() => choose(names, count < names.length)}
      />
    ),
    cell: ({ username, isGateway }) =>
      !isGateway && (
        <input
          type="checkbox"
          aria-label={text('chooseOf', { name: username })}
          checked={chosen.has(username)}
          onChange={({ currentTarget: { checked } }) => choose([username], checked)}
        />
      ),
    value: ({ username }) => chosen.has(username),
  };
  const clear = () => setChosen(new Set());
  const bar = chosen.size > 0 && (
    <>
      <strong role="status">{text('chosen', { count: chosen.size })}</strong>
      <button type="button" onClick={() => setMoving([...chosen].sort())}>
        {text('move')} …
      </button>
      <button type="button" className="ghost" onClick={clear}>
        {text('chooseNone')}
      </button>
    </>
  );
  const done = () => {
    clear();
    setMoving(null);
  };
  // Not in the table, which is gone when its last account was deleted.
  const dialog = moving && <MoveAccounts usernames={moving} onDone={done} onClose={() => setMoving(null)} />;
  return { column, bar, dialog };
}
