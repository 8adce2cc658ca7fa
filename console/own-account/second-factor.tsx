import { useState } from 'react';
import { useTexts } from '../texts/texts.ts';
import { RemoveSecondFactor } from './remove-second-factor.tsx';
import { SetUpSecondFactor } from './set-up-second-factor.tsx';
import { ownAccountTexts } from './texts.ts';

interface SecondFactorProps {
  readonly isActive: boolean;
  readonly recoveryCodesLeft: number;
  readonly onChanged: () => void;
}

/** The code of an app that a sign-in requires in addition to the password. */
export function SecondFactor({ isActive, recoveryCodesLeft, onChanged }: SecondFactorProps) {
  const text = useTexts(ownAccountTexts);
  const [isOpen, setOpen] = useState(false);
  const close = () => {
    setOpen(false);
    onChanged();
  };
  const Change = isActive ? RemoveSecondFactor : SetUpSecondFactor;
  return (
    <>
      <h2>{text('secondFactor')}</h2>
      <p>{isActive ? text('secondFactorOn', { count: recoveryCodesLeft }) : text('secondFactorOff')}</p>
      <p>
        <button type="button" className={isActive ? 'danger' : undefined} onClick={() => setOpen(true)}>
          {text(isActive ? 'removeSecondFactor' : 'setUpSecondFactor')}
        </button>
      </p>
      {isOpen && <Change onClose={close} />}
    </>
  );
}
