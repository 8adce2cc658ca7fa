import { type FormEvent, useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Field } from '../ui/field.tsx';
import { Logo } from '../ui/logo.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { acceptInvitation } from './session.ts';
import { sessionTexts } from './texts.ts';
import './style.css';

/** The secret of the link with which the page was opened. `null`: it is another page. */
export const secretInAddress = (): string | null => /^#\/invitation\/(\w+)$/.exec(location.hash)?.[1] ?? null;

/** An invited person sets the first password, and is signed in. */
export function AcceptInvitation({ secret, onAccepted }: { readonly secret: string; readonly onAccepted: () => void }) {
  const text = useTexts(sessionTexts);
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setBusy(true);
    try {
      await acceptInvitation(secret, String(new FormData(event.currentTarget).get('password')));
      // The secret was used. It does not stay in the history of the browser.
      history.replaceState(null, '', '#/');
      onAccepted();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <main className="sign-in">
      <strong>
        <Logo /> Brokergraph
      </strong>
      <PageHeading>{text('welcome')}</PageHeading>
      <p>{text('choosePassword')}</p>
      {problem !== null && <p role="alert">{problem}</p>}
      <form onSubmit={(event) => void submit(event)}>
        <Field label={text('password')} hint={text('passwordLength')}>
          <input name="password" type="password" autoComplete="new-password" minLength={8} required={true} />
        </Field>
        <button type="submit" disabled={isBusy}>
          {text('accept')}
        </button>
      </form>
    </main>
  );
}
