import { type FormEvent, useId, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Suggestions } from './suggestions.tsx';
import { accessTexts } from './texts.ts';

/** Adds one account to a group. */
export function AddMember({ onAdd }: { readonly onAdd: (username: string, priority: number) => void }) {
  const text = useTexts(accessTexts);
  const list = useId();
  const [name, setName] = useState('');
  const [priority, setPriority] = useState('-1');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onAdd(name, Number(priority));
  };
  return (
    <form className="bar" onSubmit={submit}>
      <input
        aria-label={text('account')}
        placeholder={text('account')}
        list={list}
        value={name}
        required
        onInput={({ currentTarget: { value } }) => setName(value)}
      />
      <Suggestions id={list} kind="accounts" typed={name} />
      <label>
        {text('priority')}{' '}
        <input
          type="number"
          value={priority}
          min={-100_000}
          max={100_000}
          required
          onInput={({ currentTarget: { value } }) => setPriority(value)}
        />
      </label>
      <button type="submit">{text('addAccount')}</button>
    </form>
  );
}
