import { type FormEvent, useId } from 'react';
import { useAccess } from '../access/access-context.ts';
import { FormButtons } from '../access/form-parts.tsx';
import { Suggestions } from '../access/suggestions.tsx';
import { accessTexts } from '../access/texts.ts';
import { TopicSuggestions } from '../access/topic-suggestions.tsx';
import type { RefusedError } from '../graph/refused.ts';
import type { Draft as FormDraft } from '../session/use-draft.ts';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { Refusal } from '../ui/problem.tsx';
import { Restored } from '../ui/restored.tsx';
import { type Draft, RIGHTS } from './draft.ts';
import { giveAccessTexts } from './texts.ts';

interface DeviceFormProps {
  readonly draft: FormDraft<Draft>;
  readonly error: RefusedError | null;
  readonly onSubmit: (draft: Draft) => void;
  readonly onClose: () => void;
}

/** How a device is called, and what it may do. */
export function DeviceForm({ draft: form, error, onSubmit, onClose }: DeviceFormProps) {
  const text = useTexts(giveAccessTexts);
  const accessText = useTexts(accessTexts);
  const { knowsSubstitution } = useAccess();
  const list = useId();
  const { value: draft, change: set } = form;
  // Where the broker fills in the name of the account, all devices share one role.
  const usual = `devices/${knowsSubstitution ? '%u' : draft.username}`;
  const prefix = draft.prefix === '' ? usual : draft.prefix;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit({ ...draft, prefix });
  };
  return (
    <Dialog title={accessText('giveAccess')} onClose={onClose}>
      <form onSubmit={submit} className="fields">
        <Restored draft={form} />
        <Field label={accessText('username')} hint={text('usernameHint')}>
          <input
            value={draft.username}
            autoComplete="off"
            required={true}
            autoFocus={true}
            onInput={({ currentTarget: { value } }) => set({ username: value })}
          />
        </Field>
        <Field label={accessText('onlyClientId')} hint={accessText('anyClientId')}>
          <input
            value={draft.clientId}
            autoComplete="off"
            onInput={({ currentTarget: { value } }) => set({ clientId: value })}
          />
        </Field>
        <fieldset className="fields">
          <legend>{text('rights')}</legend>
          {RIGHTS.map((rights) => (
            <label key={rights} className="choice">
              <input type="radio" name="rights" checked={draft.rights === rights} onChange={() => set({ rights })} />
              <span>{text(rights)}</span>
            </label>
          ))}
          {draft.rights === 'ROLE' ? (
            <Field label={accessText('role')}>
              <input
                list={list}
                required={true}
                value={draft.roleName}
                onInput={({ currentTarget: { value } }) => set({ roleName: value })}
              />
            </Field>
          ) : (
            <Field label={text('below')} hint={text(knowsSubstitution ? 'belowSubstitution' : 'belowHint')}>
              <input
                list={list}
                placeholder={usual}
                value={draft.prefix}
                onInput={({ currentTarget: { value } }) => set({ prefix: value })}
              />
            </Field>
          )}
        </fieldset>
        {draft.rights === 'ROLE' ? (
          <Suggestions id={list} kind="roles" typed={draft.roleName} />
        ) : (
          <TopicSuggestions id={list} typed={draft.prefix} />
        )}
        <Refusal error={error} />
        <FormButtons onClose={onClose} />
      </form>
    </Dialog>
  );
}
