import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { Logo } from '../ui/logo.tsx';
import { PageHeading } from '../ui/page-heading.tsx';
import { SetUpSecondFactor } from './set-up-second-factor.tsx';
import { ownAccountTexts } from './texts.ts';

interface RequiredSecondFactorProps {
  readonly onClosed: () => void;
  readonly onSignOut: () => void;
}

/** All that a person sees whose account requires a second factor and has none. */
export function RequiredSecondFactor({ onClosed, onSignOut }: RequiredSecondFactorProps) {
  const text = useTexts(ownAccountTexts);
  const [isOpen, setOpen] = useState(false);
  const close = () => {
    setOpen(false);
    onClosed();
  };
  return (
    <main className="sign-in">
      <Logo />
      <PageHeading>{text('secondFactor')}</PageHeading>
      <p>{text('secondFactorRequired')}</p>
      <p className="buttons">
        <button type="button" className="primary" onClick={() => setOpen(true)}>
          {text('setUpSecondFactor')}
        </button>
        <button type="button" onClick={onSignOut}>
          {text('signOut')}
        </button>
      </p>
      {isOpen && <SetUpSecondFactor onClose={close} />}
    </main>
  );
}
