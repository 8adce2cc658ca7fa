import { type FormEvent, useId, useState } from 'react';
import { Suggestions } from '../access/suggestions.tsx';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { ActionField } from './action-field.tsx';
import { ClientSuggestions } from './client-suggestions.tsx';
import { whyTexts } from './texts.ts';
import { TopicField } from './topic-field.tsx';
import { useWhy } from './use-why.ts';

/** Who, what and which topic. They are in the address once they are submitted. */
export function ExplainForm() {
  const text = useTexts(whyTexts);
  const { inputs, set } = useWhy();
  const [values, setValues] = useState(inputs);
  const [accounts, clients] = [useId(), useId()];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    set(values);
  };
  return (
    <form className="why-form" onSubmit={submit}>
      <Field label={text('account')}>
        <input
          list={accounts}
          value={values.account}
          disabled={values.isAnonymous}
          required={!values.isAnonymous && values.clientId === ''}
          onInput={({ currentTarget: { value } }) => setValues({ ...values, account: value })}
        />
      </Field>
      <Suggestions id={accounts} kind="accounts" typed={values.account} />
      <label>
        <input
          type="checkbox"
          checked={values.isAnonymous}
          onChange={({ currentTarget: { checked } }) => setValues({ ...values, isAnonymous: checked })}
        />{' '}
        {text('anonymous')}
      </label>
      <Field label={text('clientId')}>
        <input
          list={clients}
          value={values.clientId}
          onInput={({ currentTarget: { value } }) => setValues({ ...values, clientId: value })}
        />
      </Field>
      <ClientSuggestions id={clients} typed={values.clientId} />
      <ActionField value={values.action} onChange={(action) => setValues({ ...values, action })} />
      <TopicField value={values.topic} onChange={(topic) => setValues({ ...values, topic })} />
      <button type="submit">{text('why')}</button>
    </form>
  );
}
