import type { ReactNode } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import type { ConnectionInput } from './connection-input.ts';
import { connectionTexts } from './connection-texts.ts';

interface ConnectionFieldsProps {
  readonly input: ConnectionInput;
  readonly onChange: (input: ConnectionInput) => void;
  readonly isNew: boolean;
  readonly isEmbedded?: boolean;
  /** Whether the address and the credentials are the administrator's, not the service's own. */
  readonly hasConnection: boolean;
}

type TextKey = 'name' | 'description' | 'url' | 'username' | 'password' | 'caCert' | 'clientCert' | 'clientKey';
type ChoiceKey =
  | 'verifyCaCert'
  | 'allowsClientTakeover'
  | 'bindsSessionsToAccounts'
  | 'dropsPassword'
  | 'dropsCertificates';

const PEM_ROWS = 3;

/** The settings of the connection to a broker. */
export function ConnectionFields({ input, onChange, isNew, isEmbedded, hasConnection }: ConnectionFieldsProps) {
  const text = useTexts(connectionTexts);
  const line = (
    key: TextKey,
    more: { hint?: string; type?: string; isRequired?: boolean; hasFocus?: boolean } = {},
  ) => (
    <Field label={text(key)} hint={more.hint}>
      <input
        type={more.type ?? 'text'}
        value={input[key]}
        required={more.isRequired}
        // biome-ignore lint/a11y/noAutofocus: the first field of a dialog
        autoFocus={more.hasFocus}
        autoComplete={more.type === 'password' ? 'new-password' : 'off'}
        spellCheck={false}
        onInput={({ currentTarget: { value } }) => onChange({ ...input, [key]: value })}
      />
    </Field>
  );
  const pem = (key: TextKey, hint: string): ReactNode => (
    <Field label={text(key)} hint={hint}>
      <textarea
        rows={PEM_ROWS}
        value={input[key]}
        spellCheck={false}
        onInput={({ currentTarget: { value } }) => onChange({ ...input, [key]: value })}
      />
    </Field>
  );
  const choice = (key: ChoiceKey, hint?: string) => (
    <label className="choice">
      <input
        type="checkbox"
        checked={input[key]}
        onChange={({ currentTarget: { checked } }) => onChange({ ...input, [key]: checked })}
      />
      <span>
        {text(key)}
        {hint !== undefined && <small> {hint}</small>}
      </span>
    </label>
  );
  const unchanged = isNew ? undefined : text('emptyKeeps');
  return (
    <div className="fields">
      {line('name', { ...(isNew && { hint: text('nameHint') }), isRequired: !isNew, hasFocus: !isNew })}
      {hasConnection && (
        <>
          {line('url', { hint: text('urlHint'), isRequired: true, hasFocus: isNew })}
          {line('username')}
          {line('password', { type: 'password', ...(unchanged !== undefined && { hint: unchanged }) })}
          {!isNew && choice('dropsPassword')}
          <details>
            <summary>{text('tlsSettings')}</summary>
            <div className="fields">
              {choice('verifyCaCert', text('verifyHint'))}
              {pem('caCert', unchanged ?? text('caHint'))}
              {pem('clientCert', unchanged ?? text('clientCertHint'))}
              {pem('clientKey', text('keyHint'))}
              {!isNew && choice('dropsCertificates')}
            </div>
          </details>
          {choice('allowsClientTakeover', text('takeoverHint'))}
        </>
      )}
      {isEmbedded && choice('bindsSessionsToAccounts', text('bindsSessionsHint'))}
      {line('description')}
    </div>
  );
}
