import { type FormEvent, useEffect, useState } from 'react';
import { askWithoutSession } from '../graph/ask.ts';
import { graphql } from '../graph/graphql.ts';
import { RefusedError } from '../graph/refused.ts';
import { useQuery } from '../graph/use-query.ts';
import { useTexts } from '../texts/texts.ts';
import { Logo } from '../ui/logo.tsx';
import { leaveForProvider, returnedCode } from './open-id.ts';
import { completeSignIn, signIn } from './session.ts';
import { sessionTexts } from './texts.ts';
import './style.css';
import { Field } from '../ui/field.tsx';
import { PageHeading } from '../ui/page-heading.tsx';

const OFFERS = graphql(`query SignInOffers { signInOffers { hasLocal hasLdap hasOpenIdConnect } }`);

interface SignInProps {
  /** Whether the page was in use when the session ended. */
  readonly hasEnded: boolean;
  readonly onSignedIn: () => void;
}

/** Signs a person in with a password, a second factor, or at the OpenID provider. */
export function SignIn({ hasEnded, onSignedIn }: SignInProps) {
  const text = useTexts(sessionTexts);
  const { data } = useQuery(OFFERS, {}, null, askWithoutSession);
  const [needsCode, setNeedsCode] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);

  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    try {
      await work();
      onSignedIn();
    } catch (error) {
      if (error instanceof RefusedError && error.code === 'SECOND_FACTOR_REQUIRED' && !needsCode) setNeedsCode(true);
      else setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    const returned = returnedCode();
    if (returned === null) return;
    const { code, verifier } = returned;
    // Without a verifier, another browser has begun the sign-in, perhaps that of an attacker.
    if (code === null || verifier === null) setProblem(text('signInFailed'));
    else void run(() => completeSignIn(code, verifier));
  }, []);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setProblem(null);
    const fields = new FormData(event.currentTarget);
    const code = String(fields.get('code') ?? '').trim();
    void run(() => signIn(String(fields.get('email')), String(fields.get('password')), code === '' ? null : code));
  };

  const hasPasswords = data === null || data.signInOffers.hasLocal || data.signInOffers.hasLdap;
  return (
    <main className="sign-in">
      <strong>
        <Logo /> Brokergraph
      </strong>
      <PageHeading>{text('signInTitle')}</PageHeading>
      {hasEnded && problem === null && (
        <p className="note" role="status">
          {text('sessionEnded')}
        </p>
      )}
      {problem !== null && <p role="alert">{problem}</p>}
      {hasPasswords && (
        <form onSubmit={submit}>
          <Field label={text('email')}>
            {/* biome-ignore lint/a11y/noAutofocus: the page has no other use */}
            <input name="email" autoComplete="username" required autoFocus={true} />
          </Field>
          <Field label={text('password')}>
            <input name="password" type="password" autoComplete="current-password" required />
          </Field>
          {needsCode && (
            <Field label={text('code')}>
              {/* biome-ignore lint/a11y/noAutofocus: the only field that is still empty */}
              <input name="code" autoComplete="one-time-code" required autoFocus={true} />
            </Field>
          )}
          <button type="submit" disabled={isBusy}>
            {text('signIn')}
          </button>
        </form>
      )}
      {data?.signInOffers.hasOpenIdConnect && (
        <button type="button" disabled={isBusy} onClick={() => void leaveForProvider()}>
          {text('signInOpenId')}
        </button>
      )}
    </main>
  );
}
