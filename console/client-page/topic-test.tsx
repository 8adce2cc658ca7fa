import { type FormEvent, useId, useState } from 'react';
import { useAccessRevision } from '../access/access-context.ts';
import { Explanation } from '../explain/explanation.tsx';
import { ACTIONS, type Inputs } from '../explain/use-why.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { useAddressValues } from '../ui/address-values.ts';
import { Field } from '../ui/field.tsx';
import { ANONYMOUS } from './access-of-client.tsx';
import { ROLES } from './operations.ts';
import { clientTexts } from './texts.ts';

const actionOf = (name: string | null) => ACTIONS.find((known) => known === name) ?? 'PUBLISH';

interface TopicTestProps {
  readonly brokerId: string;
  readonly clientId: string;
  /** `null` if the client was never known; `undefined` until that is known. */
  readonly username: string | null | undefined;
}

/** Asks whether a client may do something with a topic. The test is in the address. */
export function TopicTest({ brokerId, clientId, username }: TopicTestProps) {
  const text = useTexts(clientTexts);
  const heading = useId();
  const list = useId();
  const { values, set } = useAddressValues();
  const { data } = useQuery(ROLES, { id: brokerId });
  const topic = values.get('testTopic') ?? '';
  const action = actionOf(values.get('testAction'));
  const [chosen, setChosen] = useState(action);
  const role = values.get('testRole') ?? '';
  const account = values.get('testAccount') ?? (username === ANONYMOUS ? '' : (username ?? ''));
  const inputs: Inputs = {
    account,
    isAnonymous: account === '',
    clientId,
    action,
    topic,
    withRoles: role === '' ? [] : [{ name: role, priority: -1 }],
    withoutRoles: [],
    day: '',
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const of = (name: string) => String(fields.get(name) ?? '');
    set({ testTopic: of('topic'), testAction: chosen, testRole: of('role'), testAccount: of('account') });
  };
  return (
    <section aria-labelledby={heading}>
      <h3 id={heading}>{text('testTopic')}</h3>
      <form className="client-test" onSubmit={submit}>
        <Field label={text('action')}>
          <select value={chosen} onChange={({ currentTarget }) => setChosen(actionOf(currentTarget.value))}>
            {ACTIONS.map((known) => (
              <option key={known} value={known}>
                {text(`action${known}`)}
              </option>
            ))}
          </select>
        </Field>
        <Field label={text('topicOrFilter')}>
          <input name="topic" defaultValue={topic} required autoComplete="off" spellCheck={false} />
        </Field>
        {username === null && (
          <Field label={text('account')} hint={text('emptyIsAnonymous')}>
            <input name="account" defaultValue={account} autoComplete="off" />
          </Field>
        )}
        <Field label={text('withRole')}>
          <input name="role" list={list} defaultValue={role} autoComplete="off" />
        </Field>
        <datalist id={list}>
          {(data?.broker?.accessRoles?.nodes ?? []).map(({ roleName }) => (
            <option key={roleName} value={roleName} />
          ))}
        </datalist>
        <button type="submit">{text('test')}</button>
      </form>
      {topic !== '' && <Decision brokerId={brokerId} inputs={inputs} />}
    </section>
  );
}

/** Access control may change at any time. */
function Decision({ brokerId, inputs }: { readonly brokerId: string; readonly inputs: Inputs }) {
  const { revision } = useAccessRevision(brokerId);
  return <Explanation revision={revision} account={inputs.isAnonymous ? null : inputs.account} inputs={inputs} />;
}
