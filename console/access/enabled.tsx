import { useTexts } from '../texts/texts.ts';
import { accessTexts } from './texts.ts';

interface EnabledProps {
  readonly account: { readonly enabled: boolean; readonly isGateway: boolean };
}

/** Whether clients may connect with an account, and whether this service does. */
export function Enabled({ account: { enabled, isGateway } }: EnabledProps) {
  const text = useTexts(accessTexts);
  return (
    <>
      <span className={enabled ? 'state ACTIVE' : 'state'}>{text(enabled ? 'isEnabled' : 'isDisabled')}</span>
      {isGateway && <span className="quiet"> {text('ofThisService')}</span>}
    </>
  );
}
