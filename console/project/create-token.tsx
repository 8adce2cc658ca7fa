import { useState } from 'react';
import { graphql } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Field } from '../ui/field.tsx';
import { timeOfInput } from '../ui/local-time.ts';
import { TimeField } from '../ui/time-field.tsx';
import { type Role, RoleSelect } from './role-select.tsx';
import { tokenTexts } from './token-texts.ts';
import { ViewerNote } from './viewer-note.tsx';

const CREATE = graphql(`mutation CreateToken($input: CreateTokenInput!) {
  createToken(input: $input) { secret }
}`);

interface CreateTokenProps {
  readonly projectId: string;
  readonly brokers: readonly { readonly id: string; readonly name: string }[];
  readonly onCreated: (name: string, secret: string) => void;
  readonly onClose: () => void;
}

/** A token for a program: its role, its brokers and its end. */
export function CreateToken({ projectId, brokers, onCreated, onClose }: CreateTokenProps) {
  const text = useTexts(tokenTexts);
  const { run, isBusy, error } = useMutation(CREATE);
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('VIEWER');
  const [isRestricted, setRestricted] = useState(false);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [until, setUntil] = useState('');
  const choose = (id: string, isChosen: boolean) =>
    setChosen(new Set(isChosen ? [...chosen, id] : [...chosen].filter((other) => other !== id)));
  const create = async () => {
    const created = await run({
      input: {
        projectId,
        name,
        role,
        ...(isRestricted && { type: 'RESTRICTED' as const, brokerIds: [...chosen] }),
        ...(until !== '' && { validUntil: timeOfInput(until) }),
      },
    });
    if (created !== null) onCreated(name, created.createToken.secret);
  };
  return (
    <Confirmation
      title={text('createToken')}
      action={text('createToken')}
      isBusy={isBusy}
      isReady={until === '' || timeOfInput(until) !== ''}
      error={error}
      onConfirm={() => void create()}
      onClose={onClose}
    >
      <div className="fields">
        <Field label={text('name')} hint={text('nameHint')}>
          <input
            // biome-ignore lint/a11y/noAutofocus: the first field of a dialog
            autoFocus={true}
            required={true}
            value={name}
            autoComplete="off"
            onInput={({ currentTarget: { value } }) => setName(value)}
          />
        </Field>
        <Field label={text('role')}>
          <RoleSelect value={role} onChange={setRole} />
        </Field>
        <ViewerNote role={role} />
        <label className="choice">
          <input
            type="checkbox"
            checked={isRestricted}
            onChange={({ currentTarget: { checked } }) => setRestricted(checked)}
          />
          <span>
            {text('restrict')} <small>{text('restrictHint')}</small>
          </span>
        </label>
        {isRestricted && (
          <fieldset>
            <legend>{text('scope')}</legend>
            {brokers.map((broker) => (
              <label key={broker.id} className="choice">
                <input
                  type="checkbox"
                  checked={chosen.has(broker.id)}
                  onChange={({ currentTarget: { checked } }) => choose(broker.id, checked)}
                />
                <span>{broker.name}</span>
              </label>
            ))}
          </fieldset>
        )}
        <TimeField label={text('validUntil')} hint={text('untilHint')} value={until} onValue={setUntil} />
      </div>
    </Confirmation>
  );
}
