import { type FormEvent, useId, useState } from 'react';
import { Suggestions } from '../access/suggestions.tsx';
import { useBroker } from '../broker/broker-context.ts';
import { graphql } from '../graph/graphql.ts';
import { useFresh } from '../graph/use-fresh.ts';
import { useTexts } from '../texts/texts.ts';
import { whyTexts } from './texts.ts';
import { useWhy } from './use-why.ts';

const HELD = graphql(`query HeldRoles($id: ID!, $username: String!, $isAnonymous: Boolean!) {
  broker(id: $id) {
    anonymousGroup @include(if: $isAnonymous) { roles { roleName } }
    account(username: $username) @skip(if: $isAnonymous) {
      roles { roleName }
      groups { group { roles { roleName } } }
    }
  }
}`);

/** What would be if the account held further roles, or lost some. Nothing is changed. */
export function Assumptions({ account, revision }: { readonly account: string | null; readonly revision: number }) {
  const text = useTexts(whyTexts);
  const { id } = useBroker();
  const { inputs, set } = useWhy();
  const { withRoles, withoutRoles } = inputs;
  const { data } = useFresh(HELD, { id, username: account ?? '', isAnonymous: account === null }, revision);
  const [name, setName] = useState('');
  const [priority, setPriority] = useState('-1');
  const list = useId();
  const found = data?.broker?.account;
  const held = new Set([
    ...(found?.roles ?? []).map(({ roleName }) => roleName),
    ...(found?.groups ?? []).flatMap(({ group }) => (group?.roles ?? []).map(({ roleName }) => roleName)),
    ...(data?.broker?.anonymousGroup?.roles ?? []).map(({ roleName }) => roleName),
    ...withoutRoles,
  ]);
  const add = (event: FormEvent) => {
    event.preventDefault();
    const others = withRoles.filter((role) => role.name !== name);
    set({ withRoles: [...others, { name, priority: Number(priority) }] });
    setName('');
  };
  return (
    <details open={withRoles.length > 0 || withoutRoles.length > 0}>
      <summary>{text('whatIf')}</summary>
      {held.size > 0 && (
        <fieldset className="why-roles">
          <legend>{text('heldRoles')}</legend>
          {[...held].map((role) => (
            <label key={role}>
              <input
                type="checkbox"
                checked={!withoutRoles.includes(role)}
                onChange={({ currentTarget: { checked } }) =>
                  set({
                    withoutRoles: checked ? withoutRoles.filter((lost) => lost !== role) : [...withoutRoles, role],
                  })
                }
              />{' '}
              {role}
            </label>
          ))}
        </fieldset>
      )}
      {withRoles.map((role) => (
        <p key={role.name}>
          {text('assumedRole', { name: role.name, priority: role.priority })}{' '}
          <button
            type="button"
            aria-label={text('removeAssumed', { name: role.name })}
            onClick={() => set({ withRoles: withRoles.filter((other) => other.name !== role.name) })}
          >
            {text('remove')}
          </button>
        </p>
      ))}
      <form className="why-add" onSubmit={add}>
        <input
          aria-label={text('roleToAssume')}
          placeholder={text('roleToAssume')}
          list={list}
          value={name}
          required
          onInput={({ currentTarget: { value } }) => setName(value)}
        />
        <Suggestions id={list} kind="roles" typed={name} />
        <input
          type="number"
          aria-label={text('priority')}
          min={-100_000}
          max={100_000}
          value={priority}
          required
          onInput={({ currentTarget: { value } }) => setPriority(value)}
        />
        <button type="submit">{text('assume')}</button>
      </form>
    </details>
  );
}
