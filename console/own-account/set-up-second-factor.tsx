import { type FormEvent, useState } from 'react';
import { graphql, type ResultOf } from '../graph/graphql.ts';
import { useMutation } from '../graph/use-mutation.ts';
import { useTexts } from '../texts/texts.ts';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { Refusal } from '../ui/problem.tsx';
import { QrCode } from './qr-code.tsx';
import { ownAccountTexts } from './texts.ts';
import './style.css';

const BEGIN = graphql(`mutation BeginSecondFactor($input: BeginSecondFactorInput!) {
  beginSecondFactor(input: $input) { secret url }
}`);
const CONFIRM = graphql(`mutation ConfirmSecondFactor($input: ConfirmSecondFactorInput!) {
  confirmSecondFactor(input: $input) { recoveryCodes }
}`);

type Begun = ResultOf<typeof BEGIN>['beginSecondFactor'];

/** Three steps: the password, the code of the app, and the recovery codes, which are shown only once. */
export function SetUpSecondFactor({ onClose }: { readonly onClose: () => void }) {
  const text = useTexts(ownAccountTexts);
  const begin = useMutation(BEGIN);
  const confirm = useMutation(CONFIRM);
  const [begun, setBegun] = useState<Begun | null>(null);
  const [recoveryCodes, setRecoveryCodes] = useState<readonly string[] | null>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const entered = String(new FormData(event.currentTarget).get('entered'));
    if (begun === null) {
      const data = await begin.run({ input: { currentPassword: entered } });
      if (data) setBegun(data.beginSecondFactor);
    } else {
      const data = await confirm.run({ input: { code: entered.trim() } });
      if (data) setRecoveryCodes(data.confirmSecondFactor.recoveryCodes);
    }
  };
  const isPassword = begun === null;
  return (
    <Dialog title={text('setUpSecondFactor')} onClose={onClose}>
      {recoveryCodes === null ? (
        <form className="fields" onSubmit={(event) => void submit(event)}>
          {begun && (
            <>
              <p>{text('scanCode')}</p>
              <QrCode value={begun.url} label={text('qrCode')} />
              <p>
                {text('orSecret')} <code className="secret">{begun.secret}</code>
              </p>
            </>
          )}
          <Field key={String(isPassword)} label={text(isPassword ? 'currentPassword' : 'codeOfApp')}>
            <input
              name="entered"
              type={isPassword ? 'password' : 'text'}
              autoComplete={isPassword ? 'current-password' : 'one-time-code'}
              inputMode={isPassword ? undefined : 'numeric'}
              required
            />
          </Field>
          {begun && <p>{text('secondFactorEndsSessions')}</p>}
          <Refusal error={isPassword ? begin.error : confirm.error} />
          <p className="buttons">
            <button type="button" onClick={onClose}>
              {text('cancel')}
            </button>
            <button type="submit" disabled={begin.isBusy || confirm.isBusy}>
              {text(isPassword ? 'next' : 'activate')}
            </button>
          </p>
        </form>
      ) : (
        <>
          <p>{text('saveRecoveryCodes')}</p>
          <ul className="codes" aria-label={text('recoveryCodes')}>
            {recoveryCodes.map((code) => (
              <li key={code}>{code}</li>
            ))}
          </ul>
          <p className="buttons">
            <button type="button" onClick={() => void navigator.clipboard.writeText(recoveryCodes.join('\n'))}>
              {text('copy')}
            </button>
            <button type="button" onClick={onClose}>
              {text('codesSaved')}
            </button>
          </p>
        </>
      )}
    </Dialog>
  );
}
